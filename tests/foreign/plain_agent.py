# mypy: ignore-errors
"""A small agent that speaks ACP by hand and does what the prompt says: each line that begins with `!` is a
word of its script. It runs as a process of its own, without anything of ours."""

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request

OUT = threading.Lock()
ANSWERS: dict[int, dict] = {}
ANSWERED = threading.Condition()
CANCELLED = threading.Event()
SERVERS: list[dict] = []
NEXT = [1000]
SCRIPT = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)


def send(message):
    with OUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def update(**fields):
    send({"method": "session/update", "params": {"sessionId": SESSION[0], "update": fields}})


def say(text):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def ask_client(method, params):
    with ANSWERED:
        NEXT[0] += 1
        id = NEXT[0]
    send({"id": id, "method": method, "params": params})
    with ANSWERED:
        ANSWERED.wait_for(lambda: id in ANSWERS)
        return ANSWERS.pop(id)


class Mcp:
    """A client of one MCP server over its standard input and output."""

    def __init__(self, server):
        env = {**os.environ, **{one["name"]: one["value"] for one in server["env"]}}
        argv = [server["command"], *server["args"]]
        self.process = subprocess.Popen(argv, stdin=-1, stdout=-1, env=env)
        self.id = 0
        start = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.ask("initialize", start)
        self.write({"method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.write({"id": self.id, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.stderr.write("the MCP server is gone\n")
                sys.stderr.flush()
                os._exit(1)
            message = json.loads(line)
            if message.get("id") == self.id:
                return message["result"]

    def call(self, name, arguments):
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        return "".join(part.get("text", "") for part in result["content"])


MCP: list[Mcp] = []
SESSION = ["s1"]
KEYS: list[str] = []


def team(name, arguments):
    if not MCP:
        MCP.append(Mcp(SERVERS[0]))
    return MCP[0].call(name, arguments)


def call(id, kind, title, **more):
    update(sessionUpdate="tool_call", toolCallId=id, title=title, kind=kind, status="pending", **more)


def end(id, status="completed", **more):
    update(sessionUpdate="tool_call_update", toolCallId=id, status=status, **more)


def change(id, path, new, *, old=None, permit=False, beside=()):
    path = os.path.abspath(path)
    had = None
    if os.path.exists(path):
        with open(path) as file:
            had = file.read()
    diff = {"type": "diff", "path": path, "oldText": had if old is None else old, "newText": new}
    locations = [{"path": one} for one in (path, *map(os.path.abspath, beside))]
    call(id, "edit", f"edit {os.path.basename(path)}", content=[diff], locations=locations)
    if permit:
        options = [
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "once", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        asked = {
            "sessionId": SESSION[0],
            "toolCall": {"toolCallId": id, "content": [diff]},
            "options": options,
        }
        outcome = ask_client("session/request_permission", asked)["result"]["outcome"]
        say(f"permission: {outcome.get('optionId', outcome['outcome'])}. ")
        if outcome.get("optionId") != "once":
            return end(
                id, "failed", content=[{"type": "content", "content": {"type": "text", "text": "denied"}}]
            )
    try:
        with open(path, "w") as file:
            file.write(new)
    except OSError as problem:
        say(f"can't write: {problem.strerror}. ")
        return end(id, "failed")
    say("written. ")
    return end(id, content=[diff])


def call_later(path):
    while not os.path.exists(path):
        CANCELLED.wait(0.02)
    with open(f"{path}.said", "w") as file:
        file.write(team("list_team", {}))
    os.rename(f"{path}.said", f"{path}.done")


def perform(line):
    word, _, rest = line[1:].partition(" ")
    match word:
        case "say":
            say(rest)
        case "think":
            update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": rest})
        case "ask":
            name, _, question = rest.partition(" ")
            arguments = {"identifier": name, "identifier_type": "name", "question": question}
            say(f"{name} said: {team('ask_agent', arguments)}")
        case "team":
            say(team("list_team", {}))
        case "tools":
            team("list_team", {})
            say(" ".join(tool["name"] for tool in MCP[0].ask("tools/list", {})["tools"]))
        case "clients":  # so many, one after another
            names = [Mcp(SERVERS[0]).ask("tools/list", {})["tools"][0]["name"] for _ in range(int(rest))]
            say(" ".join(names))
        case "later":  # after its turn, once the file is there
            threading.Thread(target=call_later, args=(rest,), daemon=True).start()
        case "write":
            path, _, text = rest.partition(" ")
            change(f"w{path}", path, text)
        case "permit":
            path, _, text = rest.partition(" ")
            change(f"p{path}", path, text, permit=True)
        case "permit-among-many":
            path, _, text = rest.partition(" ")
            change(f"p{path}", path, text, permit=True, beside=[f"a{number:04}" for number in range(150)])
        case "lie":
            path, _, text = rest.partition(" ")
            change(f"l{path}", path, text, old="what was never there")
        case "touch":
            try:
                open(rest, "w").close()
                say(f"touched {rest}. ")
            except OSError as problem:
                say(f"{rest}: {problem.strerror}. ")
        case "run":
            call("r1", "execute", rest, rawInput={"command": rest})
            done = subprocess.run(["/bin/sh", "-c", rest], capture_output=True, text=True)
            text = done.stdout + done.stderr
            end("r1", content=[{"type": "content", "content": {"type": "text", "text": text}}])
        case "may":
            call("m1", "execute", rest, rawInput={"command": rest})
            options = [{"optionId": "once", "name": "Once", "kind": "allow_once"}]
            asked = {"sessionId": SESSION[0], "toolCall": {"toolCallId": "m1"}, "options": options}
            outcome = ask_client("session/request_permission", asked)["result"]["outcome"]
            say(f"permission: {outcome.get('optionId', outcome['outcome'])}. ")
            end("m1")
        case "slow":
            call("s1", "execute", "bash", rawInput={"cwd": "/"})
            update(
                sessionUpdate="tool_call_update",
                toolCallId="s1",
                status="in_progress",
                title=rest,
                rawInput={"command": rest, "cwd": "/"},
            )
            end("s1")
        case "two":
            call("a", "read", "one", rawInput={"n": 1})
            say("between ")
            call("b", "read", "two", rawInput={"n": 2})
            end("b")
            end("a")
        case "open":
            call("o", "execute", "left open", rawInput={"command": "sleep"})
        case "plan":
            entries = [{"content": rest, "priority": "high", "status": "in_progress"}]
            update(sessionUpdate="plan", entries=entries)
        case "env":
            say(json.dumps({name: os.environ.get(name) for name in rest.split()}))
        case "names":
            say(" ".join(sorted(os.environ)))
        case "keys":
            say(" ".join(KEYS))
        case "pid":
            say(str(os.getpid()))
        case "get":
            with urllib.request.urlopen(rest, timeout=20) as answer:
                say(answer.read().decode())
        case "connect":
            try:
                socket.create_connection(("127.0.0.1", int(rest)), 5).close()
                say("connected")
            except OSError as problem:
                say(f"no network: {problem}")
        case "unknown":
            answer = ask_client(rest, {"sessionId": SESSION[0], "path": "/etc/passwd"})
            say(f"{rest}: {answer['error']['code']}. ")
        case "cost":
            cost = {"amount": float(rest), "currency": "USD"}
            update(sessionUpdate="usage_update", used=10, size=1000, cost=cost)
        case "flag":
            open(rest, "w").close()
        case "wait":
            CANCELLED.wait()
            say("late words")
        case "hang":
            threading.Event().wait()
        case "die":
            os.kill(os.getpid(), 9)
        case "exit":
            sys.stderr.write("no more of this\n")
            sys.stderr.flush()
            os._exit(int(rest or 3))
        case "garbage":
            with OUT:
                sys.stdout.write(f"{rest}\n")
                sys.stdout.flush()
        case "flood":
            with OUT:
                for _ in range(int(rest)):
                    sys.stdout.write("x" * (1 << 20))
                sys.stdout.write("\n")
                sys.stdout.flush()
        case "strange":
            update(sessionUpdate="from_the_future", what=[1, 2])
            send({"method": "session/update", "params": {"sessionId": "another", "update": {}}})
            send({"method": "no/such", "params": {}})
            send({"id": 4711, "result": "nobody asked"})


def prompt(id, params):
    SESSION[0] = params["sessionId"]
    CANCELLED.clear()
    texts = [block["text"] for block in params["prompt"] if block["type"] == "text"]
    if "log" in SCRIPT:
        with open(SCRIPT["log"] + ".log", "a") as file:
            file.write(json.dumps(texts) + "\n")
    told = [text for text in texts if not text.startswith(("# You", "[planck: your process"))]
    for line in "\n".join(told).splitlines():
        if line.startswith("!"):
            perform(line)
    stop = "cancelled" if CANCELLED.is_set() else SCRIPT.get("stop", "end_turn")
    usage = {"usage": {"totalTokens": 17, "inputTokens": 12, "outputTokens": 5}} if "usage" in SCRIPT else {}
    send({"id": id, "result": {"stopReason": stop, **usage}})


def answer(message):
    id, method, params = message["id"], message["method"], message.get("params", {})
    if method == "initialize":
        version = int(SCRIPT.get("version", "1"))
        able = {"loadSession": "load" in SCRIPT}
        ways = [{"id": name, "name": name} for name in ("browser", *SCRIPT.get("login", "").split())]
        send(
            {"id": id, "result": {"protocolVersion": version, "agentCapabilities": able, "authMethods": ways}}
        )
    elif method == "authenticate":
        KEYS.append(params["methodId"])
        send({"id": id, "result": {}})
    elif method == "session/new" and "login" in SCRIPT and not KEYS:
        send({"id": id, "error": {"code": -32000, "message": "Authentication required"}})
    elif method == "session/new":
        SERVERS[:] = params["mcpServers"]
        send({"id": id, "result": {"sessionId": f"s{os.getpid()}"}})
    elif method == "session/load":
        SERVERS[:] = params["mcpServers"]
        SESSION[0] = params["sessionId"]
        say("what was said before")
        send({"id": id, "result": {}})
    elif method == "session/prompt":
        threading.Thread(target=prompt, args=(id, params), daemon=True).start()
    else:
        send({"id": id, "error": {"code": -32601, "message": "Method not found"}})


def main():
    if "first" in SCRIPT:
        perform("!" + SCRIPT["first"])
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            with ANSWERED:
                ANSWERS[message["id"]] = message
                ANSWERED.notify_all()
        elif "id" in message:
            answer(message)
        elif message["method"] == "session/cancel" and "deaf" not in SCRIPT:
            CANCELLED.set()


main()
