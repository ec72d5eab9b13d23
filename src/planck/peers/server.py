"""An MCP server of the configuration is read and launched; its tools are ours as `mcp__<server>__<tool>`."""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from planck import __version__
from planck.http.address import read_network
from planck.mcp.instances import EXECUTOR_GRACE, Instances
from planck.mcp.listing import ListedTool
from planck.mcp.transport import Launch, Link, PeerError, open_process
from planck.peers.tokens import OwnClient, find_origin
from planck.records import codec
from planck.records.authority import Confinement
from planck.records.nearest import did_you_mean
from planck.records.outcome import ErrorKind
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.workspace.process.environment import allowed
from planck.workspace.sandbox.programs import list_parts

if TYPE_CHECKING:
    import httpx2

    from planck.mcp.elicitation import Person

_TIMEOUT_MS = 300_000


class SignIn(Protocol):
    def make_auth(self) -> "httpx2.Auth | None":
        """Returns what signs the requests to one address; None: nobody signed in there."""


class ServerSpec(msgspec.Struct, frozen=True):
    """An entry of `mcpServers`, as other programs write it too; keys that only they know are ignored."""

    type: str = ""
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    client_id: str = ""
    """As the server's authority knows us, where it registers nobody itself."""
    client_secret: str = ""
    issuer: str = ""
    """The authority that may hear the secret; "": the server's own origin."""
    timeout: int = 0
    """Milliseconds for a call; 0: the default."""
    disabled: bool = False
    description: str = ""

    @property
    def client(self) -> OwnClient | None:
        if not self.client_id:
            return None
        issuer = self.issuer or (find_origin(self.url) if self.client_secret else "")
        return OwnClient(self.client_id, self.client_secret, issuer)


def read_server(name: str, raw: Any, environment: Mapping[str, str]) -> ServerSpec:
    """Takes `${NAME}` and `${NAME:-default}` from the environment; a wrong entry raises `PeerError`."""
    if not re.fullmatch(r"[\w.@/:+-]([\w.@/:+ -]{0,38}[\w.@/:+-])?", name, re.ASCII):
        raise PeerError(
            ErrorKind.INVALID_ARGS,
            f"mcpServers: {name!r} is not a valid name. Use at most 40 characters: letters, digits, `_`, "
            "`.`, `@`, `/`, `:`, `+`, `-`, and spaces between them.",
        )
    try:
        spec = msgspec.convert(_translate(_expand(raw, environment)), ServerSpec)
    except msgspec.ValidationError as problem:
        raise PeerError(ErrorKind.INVALID_ARGS, f"mcpServers.{name}: {problem}") from None
    if bool(spec.command) == bool(spec.url):
        wrong = "set either `command` or `url`"
        if not spec.command and (near := [did_you_mean(key, _WAYS) for key in raw if key not in _WAYS]):
            wrong += "".join(near[:1])
    elif spec.url and not re.match(r"https?://", spec.url):
        wrong = f"`url` must start with http:// or https://, not {spec.url!r}"
    elif spec.type == "sse":
        wrong = (
            "the old SSE transport is not supported; set `url` to a streamable HTTP address and `type` "
            "to http"
        )
    elif not spec.client_id and (spec.client_secret or spec.issuer):
        wrong = "`client_secret` and `issuer` need a `client_id`"
    elif spec.issuer and not re.match(r"https?://", spec.issuer):
        wrong = f"`issuer` must start with http:// or https://, not {spec.issuer!r}"
    else:
        return spec
    raise PeerError(ErrorKind.INVALID_ARGS, f"mcpServers.{name}: {wrong}")


_WAYS = ("command", "url")


def _translate(entry: Any) -> Any:
    """What other programs call the same: `serverUrl`, `enabled`, a command that is a list, seconds."""
    if not isinstance(entry, dict):
        return entry
    found = dict(entry)
    for theirs, ours in (
        ("serverUrl", "url"),
        ("httpUrl", "url"),
        ("environment", "env"),
        ("transport", "type"),
    ):
        if theirs in found:
            found.setdefault(ours, found[theirs])
    if isinstance(found.get("command"), list):
        words = found["command"]
        found["command"], found["args"] = (words[0] if words else ""), [*words[1:], *found.get("args", ())]
    if "enabled" in found:
        found["disabled"] = bool(found.get("disabled")) or not found["enabled"]
    if isinstance(seconds := found.get("tool_timeout_sec"), int | float) and not found.get("timeout"):
        found["timeout"] = int(seconds * 1000)
    if isinstance(found.get("env"), dict):
        found["env"] = {name: _as_text(value) for name, value in found["env"].items() if value is not None}
    if found.get("type") in ("stdio", "local") and found.get("command"):
        found.pop("url", None)
    if not isinstance(found.get("description"), str):
        found.pop("description", None)
    return found


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


class ServerLaunch(Launch):
    """A server's process knows the allowed names of our environment and what its own entry says."""

    def __init__(
        self,
        name: str,
        spec: ServerSpec,
        folder: Path,
        environment: Mapping[str, str],
        *,
        guarded: Confinement | None = None,
        elsewhere: Path | None = None,
        sign_in: SignIn | None = None,
    ) -> None:
        """`elsewhere`: a folder to run in that no command can write. `sign_in`: at its address."""
        self.name = name
        self.guarded = guarded
        self._elsewhere = elsewhere
        self.url: str = spec.url
        self.address: str = find_origin(spec.url) if spec.url else ""
        self._sign_in = sign_in
        self.prefix: str = tool_prefix(name)
        self.confinable: bool = not spec.url
        self._spec = spec
        self._cwd = folder / spec.cwd if spec.cwd else folder
        self._environment = {**allowed(environment), **spec.env}
        self._network = read_network(environment)
        self.digest: str = hashlib.sha256(codec.encode([__version__, spec, str(folder)])).hexdigest()

    def open(self) -> AbstractAsyncContextManager[Link]:
        if self._spec.url:
            from planck.mcp.address import open_address

            auth = self._sign_in.make_auth() if self._sign_in is not None else None
            return open_address(
                self._spec.url, self._spec.headers, auth, name=self.name, network=self._network
            )
        argv = (self._spec.command, *self._spec.args)
        cwd, confinement = self._cwd, self.confinement
        environment: Mapping[str, str] = self._environment
        if confinement is None and self.guarded is not None:
            self.hold()
            cwd, environment, _ = self._look()
            confinement = self.held
        return open_process(
            argv,
            cwd=cwd,
            environment=environment,
            confinement=confinement,
            made_of=list_parts(argv, environment["PATH"]) if confinement else (),
        )

    @property
    def replaceable(self) -> str:
        return self._look()[2] if self.guarded is not None and not self._spec.url else ""

    def _look(self) -> tuple[Path, Mapping[str, str], str]:
        """Returns where and with what it runs, and what of it a confined command could replace.

        One that is ordered by the folder it runs in, like `npx`, runs elsewhere, if it names nothing in it.
        """
        from planck.own_code import outside_path
        from planck.workspace.sandbox.programs import find_replaceable

        assert self.guarded is not None
        argv, cwd, roots = (self._spec.command, *self._spec.args), self._cwd, self.guarded.roots
        environment: Mapping[str, str] = self._environment
        found = find_replaceable(argv, os.path.realpath(cwd), environment, roots)
        movable = found and self._elsewhere and not self._spec.cwd
        relative = (word for word in argv if not os.path.isabs(word))
        if movable and not any(os.path.exists(os.path.join(cwd, word)) for word in relative):
            elsewhere = self._elsewhere if self._elsewhere and self._elsewhere.is_dir() else Path("/")
            if not find_replaceable(argv, os.path.realpath(elsewhere), environment, roots):
                cwd, found = elsewhere, ""
        if not found:
            environment = {**environment, "PATH": outside_path(environment["PATH"], roots)}
        return cwd, environment, found


def tool_prefix(server: str) -> str:
    return f"mcp__{re.sub(r'[^A-Za-z0-9_-]', '_', server)}__"


class ServerTool(Tool):
    def __init__(
        self,
        listed: ListedTool,
        instances: Instances,
        timeout_ms: int,
        find_person: "Callable[[ToolContext], Person | None]" = lambda _: None,
    ) -> None:
        """`find_person` returns who answers what the server asks during a call."""
        self._timeout = (timeout_ms or _TIMEOUT_MS) / 1000
        super().__init__(
            listed.spec.name,
            listed.spec.description,
            listed.spec.parameters,
            self._call,
            effect=Effect.COMMAND,
            timeout=self._timeout + EXECUTOR_GRACE,
            plain_schema=True,
            confinable=instances.confinable,
        )
        self._listed = listed
        self._instances = instances
        self._find_person = find_person

    @property
    def address(self) -> str:
        return self._instances.launch.address

    def find_rights(self, given: Confinement) -> Confinement:
        return self._instances.find_rights(given)

    async def _call(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        person = self._find_person(ctx)
        return await self._instances.call(self._listed, args, ctx, timeout=self._timeout, person=person)


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _expand(value: Any, environment: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: environment.get(found[1]) or found[2] or "", value)
        case list():
            return [_expand(item, environment) for item in value]
        case dict():
            return {key: _expand(item, environment) for key, item in value.items()}
    return value
