"""What a client may ask of Planck over the Agent Client Protocol, each method by its name."""

import asyncio
import base64
import logging
import os
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from planck import __version__
from planck.acp.methods import (
    AgentCapabilities,
    AuthenticateRequest,
    AuthMethod,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListedSession,
    ListSessionsRequest,
    ListSessionsResponse,
    McpCapabilities,
    McpServer,
    NewSessionRequest,
    NewSessionResponse,
    Nothing,
    OpenSessionRequest,
    PromptCapabilities,
    PromptRequest,
    PromptResponse,
    SessionCapabilities,
    SessionRequest,
    SessionSettings,
    SetConfigOptionRequest,
    SetConfigOptionResponse,
    SetModeRequest,
)
from planck.acp.rpc import Peer, UnknownMethod, read_params
from planck.acp_agent.beginning import Beginning
from planck.headless import Duplex
from planck.records.outcome import Err, ErrorKind, PlanckError

TYPE_CHECKING = False  # what follows is loaded with the first session: an editor waits for `initialize`
if TYPE_CHECKING:
    from planck.acp_agent.conversation import Conversation
    from planck.records.specs import RunOptions

log: logging.Logger = logging.getLogger(__name__)

_MAX_SESSIONS = 64
_PAGE = 100
_MAX_NAME = 40
_HOW = 'Run "planck setup" or "planck auth login PROVIDER" in a terminal, or set a provider\'s API key.'


class RequestRefused(PlanckError):
    """What a client asked for can't be done."""


class AcpAgent:
    """The handler of one client's messages; it owns the client's sessions until `aclose`."""

    def __init__(self, stream: Duplex, **options: str | None) -> None:
        """`options` are those of `RunOptions` that new sessions begin with."""
        self.peer: Peer = Peer(stream, self)
        self._given: dict[str, Any] = options
        self._client = InitializeRequest(protocol_version=1)
        self._open: dict[str, Conversation] = {}
        self._opening = asyncio.Lock()
        """One at a time opens or closes a session."""

    @property
    def _options(self) -> "RunOptions":
        from planck.records.specs import RunOptions  # the client is answered before anything is begun

        return RunOptions(**self._given)

    async def answer(self, method: str, params: Raw) -> Any:
        if method not in _METHODS:
            raise UnknownMethod(method)
        name, type_ = _METHODS[method]
        return await getattr(self, name)(read_params(params, type_))

    async def hear(self, method: str, params: Raw) -> None:
        if method != "session/cancel":
            raise UnknownMethod(method)
        id, _, agent = read_params(params, SessionRequest).session_id.partition(":")
        if conversation := self._open.get(id):
            conversation.cancel(agent)

    async def aclose(self) -> None:
        """Ends all work; every turn that was under way is recorded as interrupted."""
        conversations, self._open = list(self._open.values()), {}
        async with AsyncExitStack() as closing:  # one that fails to close leaves no other open
            for conversation in conversations:
                closing.push_async_callback(conversation.aclose)

    async def initialize(self, request: InitializeRequest) -> InitializeResponse:
        self._client = request
        return InitializeResponse(
            protocol_version=1,  # the only one we speak; a client that does not leaves
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True),
                session_capabilities=SessionCapabilities(
                    list={}, resume={}, close={}, delete={}, fork={}, additional_directories={}
                ),
            ),
            auth_methods=(AuthMethod(id="planck", name="Planck's API keys", description=_HOW),),
            agent_info=Implementation("planck", __version__, "Planck"),
        )

    async def authenticate(self, request: AuthenticateRequest) -> Nothing | Err:
        """There is nothing to do here: keys are where the user keeps them. It says whether there is one."""
        if request.method_id != "planck":
            why = f"Unknown authentication method: {request.method_id!r}. Use 'planck'."
            return Err(ErrorKind.INVALID_ARGS, why)
        from planck.headless import Planck

        async with Planck(workspace=os.getcwd()) as planck:
            try:
                await planck.model(self._options.model)
            except PlanckError as failure:
                return Err(ErrorKind.NOT_AUTHENTICATED, _add_how(failure.err.full_message))
        return Nothing()

    async def new_session(self, request: NewSessionRequest) -> NewSessionResponse:
        async with self._opening:
            key = _make_key()
            opened = await self._enter(request, Beginning(key, self._options))
            await opened.begin(replay=False)
        return self._introduce_new(opened)

    async def load_session(self, request: OpenSessionRequest) -> SessionSettings:
        return self._introduce(await self._resume(request, replay=True))

    async def resume_session(self, request: OpenSessionRequest) -> SessionSettings:
        return self._introduce(await self._resume(request, replay=False))

    async def fork_session(self, request: OpenSessionRequest) -> NewSessionResponse:
        _check_folder(request.cwd)
        from planck.headless import Planck

        archive = Planck(workspace=request.cwd).archive
        await asyncio.to_thread(archive.check_own, request.session_id)
        made = await archive.fork(request.session_id)
        copy = msgspec.structs.replace(request, session_id=made.id)
        opened = await self._resume(copy, replay=False)
        return self._introduce_new(opened)

    async def list_sessions(self, request: ListSessionsRequest) -> ListSessionsResponse:
        if request.cwd is not None:
            _check_folder(request.cwd)
        from planck.headless import Planck

        archive = Planck(workspace=request.cwd or os.getcwd()).archive
        found = await asyncio.to_thread(archive.sessions, everywhere=request.cwd is None)
        rows = sorted(((row.updated, row.id, row) for row in found if row.workspace), reverse=True)
        after = _read_cursor(request.cursor)
        rest = [row for row in rows if after is None or row[:2] < after]
        page = rest[:_PAGE]
        return ListSessionsResponse(
            sessions=tuple(
                ListedSession(
                    session_id=row.id,
                    cwd=row.workspace,
                    title=row.first_prompt or row.name,
                    updated_at=row.updated or None,
                )
                for _, _, row in page
            ),
            next_cursor=_make_cursor(*page[-1][:2]) if len(rest) > len(page) else None,
        )

    async def close_session(self, request: SessionRequest) -> Nothing:
        async with self._opening:
            conversation = self._find(request.session_id)
            del self._open[conversation.id]
            await conversation.aclose()
        return Nothing()

    async def delete_session(self, request: SessionRequest) -> Nothing:
        """Deletes what is there; one that is gone already is what was asked for."""
        from planck.headless import Planck

        async with self._opening:
            if conversation := self._open.pop(request.session_id, None):
                await conversation.aclose()
            archive = Planck(workspace=os.getcwd()).archive
            found = await asyncio.to_thread(archive.sessions, everywhere=True)
            if any(row.id == request.session_id for row in found):
                await asyncio.to_thread(archive.delete, request.session_id)
        return Nothing()

    async def prompt(self, request: PromptRequest) -> PromptResponse | Err:
        return await self._find(request.session_id).prompt(request.prompt)

    async def set_mode(self, request: SetModeRequest) -> Nothing:
        await self._find(request.session_id).change_mode(request.mode_id)
        return Nothing()

    async def set_config_option(self, request: SetConfigOptionRequest) -> SetConfigOptionResponse:
        conversation, value = self._find(request.session_id), request.value
        option = next((one for one in conversation.options if one.id == request.config_id), None)
        if option is None:
            known = ", ".join(one.id for one in conversation.options)
            why = f"Unknown option: {request.config_id!r}. Use one of: {known}."
            raise RequestRefused(ErrorKind.INVALID_ARGS, why)
        if not isinstance(value, str) or (
            # A model may be named that is not listed.
            option.id != "model" and value not in [choice.value for choice in option.options]
        ):
            known = ", ".join(choice.value for choice in option.options)
            why = f"Invalid {option.id}: {value!r}. Use one of: {known}."
            raise RequestRefused(ErrorKind.INVALID_ARGS, why)
        match option.id:
            case "mode":
                await conversation.change_mode(value)
            case "model":
                await conversation.change_model(value)
            case "effort":
                await conversation.change_effort(value)
            case "team" if value != option.current_value:
                await self._change_team(conversation, value)
        return SetConfigOptionResponse(config_options=conversation.options)

    async def _change_team(self, conversation: "Conversation", value: str) -> None:
        """Nobody has said anything yet: the session is made anew, with the same id."""
        from planck.acp_agent.settings import DEFAULT

        team = "" if value == DEFAULT else value
        async with self._opening:
            if conversation.begun or self._open.get(conversation.id) is not conversation:
                why = "The team cannot be changed after the first prompt. Start a new session."
                raise RequestRefused(ErrorKind.INVALID_ARGS, why)
            start, before = conversation.start, conversation.team
            assert start is not None  # one that was loaded has begun
            if problems := await conversation.planck.check_team(team) if team else []:
                raise RequestRefused(ErrorKind.INVALID_ARGS, "; ".join(problems))
            for wanted in (team, before):  # the one before, where the other can't start after all
                await conversation.end_session()
                await asyncio.to_thread(conversation.planck.archive.delete, conversation.id)
                try:
                    session = await start.begin(conversation.planck, wanted)
                except PlanckError:
                    if wanted == before:
                        raise
                    continue
                await conversation.replace(session)
                return

    def _find(self, id: str) -> "Conversation":
        if conversation := self._open.get(id):
            return conversation
        raise RequestRefused(ErrorKind.NOT_FOUND, f"Session {id!r} is not open here. Load it first.")

    async def _resume(self, request: OpenSessionRequest, *, replay: bool) -> "Conversation":
        async with self._opening:
            opened = self._open.get(request.session_id)
            if opened is not None and not os.path.samefile(
                opened.planck.workspace, _check_folder(request.cwd)
            ):
                folder = str(opened.planck.workspace)
                why = f"Session {opened.id!r} belongs to the folder {folder!r}. Use that folder as cwd."
                raise RequestRefused(ErrorKind.NOT_FOUND, why)
            if opened is None:
                opened = await self._enter(request, None)
            await opened.begin(replay=replay)
            return opened

    async def _enter(self, request: NewSessionRequest, start: Beginning | None) -> "Conversation":
        """Opens a `Planck` on the client's folder, and in it a new session or the one that is asked for."""
        if len(self._open) >= _MAX_SESSIONS:
            why = f"{_MAX_SESSIONS} sessions are open, which is the limit. Close one."
            raise RequestRefused(ErrorKind.LIMIT_EXCEEDED, why)
        _check_folder(request.cwd)
        from planck.acp_agent.conversation import Conversation
        from planck.acp_agent.narrator import Offers
        from planck.acp_agent.questions import Asker
        from planck.headless import Planck, Project

        capabilities = self._client.client_capabilities
        asker = Asker(self.peer, capabilities.elicitation if capabilities else None)
        flags: dict[str, Any] = {}
        if servers := _read_servers(request.mcp_servers):
            flags = {"mcpServers": {**Project(workspace=request.cwd).config.mcpServers, **servers}}
        more = request.additional_directories or ()
        planck = Planck(workspace=request.cwd, flags=flags, approver=asker, add_dirs=more)
        for notice in planck.notices:
            log.warning("%s", notice)
        try:
            if isinstance(request, OpenSessionRequest):
                await asyncio.to_thread(planck.archive.check_own, request.session_id)
                from planck.records.specs import RunOptions

                session = await planck.reopen(request.session_id, RunOptions(mode=self._options.mode))
            else:
                assert start is not None
                session = await start.begin(planck, start.options.team)
            offered = capabilities.session if capabilities else None
            offers = Offers(
                subagents=bool(capabilities and capabilities.subagents is not None),
                notices=bool(offered and offered.notices is not None),
                compaction=bool(offered and offered.compaction is not None),
            )
            conversation = Conversation(planck, session, self.peer, asker, offers, start)
        except BaseException as failure:
            await planck.__aexit__(None, None, None)
            if isinstance(failure, PlanckError) and failure.err.details.get("no_model"):
                why = _add_how(failure.err.message)
                raise RequestRefused(ErrorKind.NOT_AUTHENTICATED, why) from None
            raise
        self._open[conversation.id] = conversation
        return conversation

    def _introduce(self, opened: "Conversation") -> SessionSettings:
        """The answer; the commands follow it, since a client does not know the session before."""
        self.peer.after_answer(opened.introduce())
        return SessionSettings(modes=opened.modes, config_options=opened.options)

    def _introduce_new(self, opened: "Conversation") -> NewSessionResponse:
        shown = self._introduce(opened)
        return NewSessionResponse(
            session_id=opened.id, modes=shown.modes, config_options=shown.config_options
        )


_METHODS: dict[str, tuple[str, type[Any]]] = {
    "initialize": ("initialize", InitializeRequest),
    "authenticate": ("authenticate", AuthenticateRequest),
    "session/new": ("new_session", NewSessionRequest),
    "session/load": ("load_session", OpenSessionRequest),
    "session/resume": ("resume_session", OpenSessionRequest),
    "session/fork": ("fork_session", OpenSessionRequest),
    "session/list": ("list_sessions", ListSessionsRequest),
    "session/close": ("close_session", SessionRequest),
    "session/delete": ("delete_session", SessionRequest),
    "session/prompt": ("prompt", PromptRequest),
    "session/set_mode": ("set_mode", SetModeRequest),
    "session/set_config_option": ("set_config_option", SetConfigOptionRequest),
}


def _add_how(message: str) -> str:
    return f"{message.removesuffix('.')}. {_HOW}"


def _check_folder(cwd: str) -> str:
    if not os.path.isabs(cwd) or "\0" in cwd or not os.path.isdir(cwd):
        raise RequestRefused(
            ErrorKind.INVALID_ARGS,
            f"Invalid cwd: {cwd[:200]!r}. Use the absolute path of an existing folder.",
        )
    return cwd


def _read_servers(servers: tuple[McpServer, ...] | UnsetType) -> Mapping[str, dict[str, Any]]:
    """Returns the client's servers in the words of the user's own configuration."""
    found: dict[str, dict[str, Any]] = {}
    for server in servers if not isinstance(servers, UnsetType) else ():
        name = _name_server(server.name, found)
        if server.type == "sse" or (server.type not in (None, "stdio", "http")):
            why = (
                f"MCP server {server.name!r} uses the transport {server.type!r}, which is not supported. "
                "Use 'http' or 'stdio'."
            )
            raise RequestRefused(ErrorKind.INVALID_ARGS, why)
        if server.type == "http":
            headers = server.headers if not isinstance(server.headers, UnsetType) else ()
            found[name] = {
                "url": server.url or "",
                "headers": {header.name: header.value for header in headers},
            }
        else:
            args = server.args if not isinstance(server.args, UnsetType) else ()
            env = server.env if not isinstance(server.env, UnsetType) else ()
            found[name] = {
                "command": server.command or "",
                "args": [*args],
                "env": {variable.name: variable.value for variable in env},
            }
    return found


def _name_server(name: str, taken: Mapping[str, object]) -> str:
    """Returns a name that our configuration takes: the editor's need not be one."""
    fitting = re.sub(r"[^A-Za-z0-9_.@/:+ -]", "_", name)[:_MAX_NAME].strip() or "server"
    number, found = 1, fitting
    while found in taken:
        number += 1
        found = f"{fitting[: _MAX_NAME - 4]}-{number}"
    return found


def _make_key() -> str:
    return f"acp-{os.urandom(16).hex()}"


def _make_cursor(updated: str, id: str) -> str:
    return base64.urlsafe_b64encode(f"{updated}\n{id}".encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[str, str] | None:
    if not cursor:
        return None
    try:
        updated, id = base64.urlsafe_b64decode(cursor.encode()).decode().split("\n")
    except ValueError:
        raise RequestRefused(
            ErrorKind.INVALID_ARGS, "Invalid cursor. Start again without a cursor."
        ) from None
    return updated, id
