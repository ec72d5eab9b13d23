"""What a reader of the five seeds would write first: `python mission.py FOLDER` prints what came of it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import planck
from planck import Err, Ok, Planck, Tool, ToolContext, error, load_all
from planck.testing import Say, ScriptedProvider

SIDECAR = """
from planck import Tool
from planck.sidecar import Sidecar


class MySidecar(Sidecar):
    def tools(self):
        return [Tool("run_tests", "Run them.", {"type": "object"}, lambda agent, call, args: "42 passed")]
"""
CHECK = {
    "name": "check_complexity",
    "description": "Check a file.",
    "command": "printf 'low: %s\\n' {{path}}",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
WORKER = {
    "type": "builder",
    "name": "Bob",
    "description": "builds",
    "system_prompt": "You build.",
    "provider": "offline",
    "model_id": "m",
    "base_url": "",
    "tools": ["greet", "check_complexity", "lookup", "nope"],
}
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def greet(agent_id: str, call_id: str, args: Any = None, *, word: str = "Hello") -> tuple[str, str]:
    return "ok", f"{word}, {args['path']}"


def lookup(args: dict[str, Any], ctx: ToolContext | None = None) -> dict[str, Any]:
    return error("not_found", f"no such thing: {args['path']}", {"path": args["path"]}).envelope()


def brain(request: Any) -> Say | str:
    """The orchestrator spawns a worker and asks it; the worker calls what it was granted."""
    said = sum(type(message).__name__ == "AssistantMessage" for message in request.history.messages)
    ask = {"identifier": "builder", "identifier_type": "type", "question": "Build it."}
    lead: list[Any] = [
        [("spawn_agent", WORKER)],
        [("ask_agent", ask)],
        [("run_tests", {"timeout_ms": 60_000})],
    ]
    names = ("greet", "check_complexity", "lookup")
    mine = lead if "You build." not in request.system else [[(name, {"path": "a.py"}) for name in names]]
    return Say(calls=mine[said]) if said < len(mine) else "done"


async def main(folder: Path) -> None:
    work = folder / "work"
    (work / "part").mkdir(parents=True)
    (work / "part" / "AGENTS.md").write_text("Tests first.")
    (work / ".planck" / "sidecar").mkdir(parents=True)
    (work / ".planck" / "sidecar" / "sidecar.py").write_text(SIDECAR)
    (folder / "tools" / "check_complexity").mkdir(parents=True)
    (folder / "tools" / "check_complexity" / "TOOL.json").write_text(json.dumps(CHECK))
    print("prompt:", planck.prepend_agents_md("You build.", str(work / "part")).replace("\n", "|"))

    own = [Tool("greet", "Greet.", PATH, greet), Tool("lookup", "Look it up.", PATH, lookup)]
    found = load_all([folder / "tools"])
    model = ScriptedProvider(brain)
    flags = {"default_model": "offline/m", "peers_wait_ms": 60_000}
    async with Planck(folder / "home", work, flags=flags, trust=True, providers={"offline": model}) as app:
        session = await app.start(tools=[*own, *found], mode="full")
        print("orchestrator holds:", [name for name in session.tools if name in ("greet", "lookup")])
        result = await session.run("Go.")
        print("first request lists run_tests:", "run_tests" in model.asked[0].tools)
        ends = {}
        async for event in session.events():
            if event.type == "tool_end":
                ends[event.data["name"]] = event.data
            if event.seq == session.head:
                break
        spawned = json.loads(ends["spawn_agent"]["output"])
        print("granted:", spawned["tools"][4:], "ignored:", spawned["ignored"])
        for name in ("greet", "check_complexity", "lookup", "run_tests"):
            print(f"{name}: ok={ends[name]['ok']} {ends[name]['output'].strip()!r}")
        print("result:", result.status, result.text, result.exit_code)

        tools = planck.orchestrator_tools(
            session.id, session.id, [session.orchestrator.model], grantable_tools=own, cwd=str(work / "part")
        )
        ctx = ToolContext(session.id, session.orchestrator.id, "call", work)
        made = await call(tools[0], {**WORKER, "type": "second", "name": "Eve"}, ctx)
        print("by factory:", json.loads(made.value["output"])["tools"][4:] if isinstance(made, Ok) else made)
        print("Eve starts in:", session.members[-1].cwd)
        team = await call(planck.list_team(session.id), {}, ctx)
        print("team:", [row["name"] for row in json.loads(team.value["output"])])
    try:
        Tool("no name", "", {}, greet)
    except Exception as refused:
        print("refused:", refused)
    try:
        await session.run("again")
    except Exception as refused:
        print("closed:", str(refused).partition(". ")[0].replace(session.name, "NAME"))


async def call(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Any:
    outcome = tool.execute(args, ctx)
    return outcome if isinstance(outcome, Ok | Err) else await outcome


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
