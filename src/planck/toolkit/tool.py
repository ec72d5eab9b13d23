"""What any tool needs: the contract, and nothing of what runs it."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from inspect import CO_VARARGS
from operator import attrgetter
from pathlib import Path
from types import FunctionType, MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

import msgspec

from planck.records import codec
from planck.records.authority import Confinement
from planck.records.events import View
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.ports import KnownKeys
from planck.records.specs import ToolSpec
from planck.toolkit.schema import OwnSchema

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps = TypeVar("Deps", default=Any)
else:
    from typing import TypeVar

    Deps = TypeVar("Deps")


class ToolError(PlanckError):
    """A tool's expected failure, raised from deep inside it; the executor makes it an `Err`."""


class ArgumentError(ToolError):
    """What the model sent can't be used: `invalid_args`."""

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(ErrorKind.INVALID_ARGS, message, details)


class Changed(ToolError):
    """The file is not the one in the question any more: nothing was changed, and the gate may ask again."""

    def __init__(self, path: str) -> None:
        super().__init__(
            ErrorKind.EDIT_CONFLICT,
            f"{path!r} changed while the user was being asked; "
            "read it again, and adjust your edit to the new content",
            {CHANGED: True},
        )


CHANGED = "changed_since_asked"
"""Key in the details of an error: that is why nothing was changed."""


class InvalidTool(ArgumentError, TypeError):
    """No tool can be made of this: a mistake of the program, which is told before a model or a vendor is."""


class Effect(StrEnum):
    """What a call can change; the permission modes are written in these words.

    Example:

        @tool(effect=Effect.FILES)
        def save(text: str, ctx: ToolContext) -> None:
            "Append a line to notes.md."
            with open(ctx.workspace / "notes.md", "a") as file:
                file.write(f"{text}\\n")
    """

    NONE = "none"
    TEAM = "team"
    FILES = "files"
    COMMAND = "command"
    """Anything: a shell command, a program, a peer, a Python function that says nothing of itself."""


EffectName = Literal["none", "team", "files", "command"]


def unheard(text: str) -> None:
    """Where nobody watches, progress goes nowhere."""


def unkept(details: dict[str, Any]) -> None:
    """Where nobody records, what a cancelled call leaves behind is lost."""


async def unrecorded(fact: View) -> None:
    """Where there is no log (`planck tools call`), a fact goes nowhere."""


class ToolContext(msgspec.Struct, Generic[Deps], frozen=True):
    """The context of a tool's call, and how the tool reports progress.

    `ToolContext[Database]` says what `deps` is. Each field is a key, too: `ctx["workspace"]`.

    Example:

        @tool
        def build(target: str, ctx: ToolContext[dict[str, str]]) -> str:
            "Build a target."
            ctx.progress("compiling\\n")
            return f"{ctx.deps['compiler']} built {target} in {ctx.workspace}"
    """

    session_id: str
    agent_id: str
    call_id: str
    workspace: Path
    dry_run: bool = False
    deadline: float | None = None
    """On the loop's clock; None where nobody waits."""
    progress: Callable[[str], None] = unheard
    record: Callable[[View], Awaitable[None]] = unrecorded
    """Returns once the fact is durable: a before-image is recorded before the change."""
    confinement: Confinement | None = None
    """What this call may touch; None: nobody decided, so nothing protected and no sandbox (`tools call`)."""
    keys: KnownKeys | None = None
    """What is never kept of a command's output; None: nothing is known."""
    cwd: str = "."
    """Where a command starts that names no folder: below the workspace, and no wider right."""
    keep_partial: Callable[[dict[str, Any]], None] = unkept
    """Takes the details of what a call had done when it was cancelled; its `output` is shown to the model."""
    deps: Deps = None  # type: ignore[assignment]  # as the program passed it
    """What the program passed to `start(deps=...)`."""

    def __getitem__(self, key: str) -> Any:
        if key in self.__struct_fields__:
            return getattr(self, key)
        raise KeyError(key)

    def get(self, key: str, default: Any = None) -> Any:
        return getattr(self, key) if key in self.__struct_fields__ else default


Outcome = Ok[dict[str, Any]] | Err
Execute = Callable[[dict[str, Any], ToolContext], Outcome | Awaitable[Outcome]]
FindUnknownAddress = Callable[[dict[str, Any]], Awaitable[str]]
"""Arguments -> the address in them that the user did not configure; empty: there is none."""
FindBasis = Callable[[dict[str, Any], ToolContext], Awaitable[str]]
"""Arguments -> one name for what the call would change, as it is now: another name where that is another."""
Native = Callable[[dict[str, Any], ToolContext], Any]
"""`(args, ctx)`; what it may return is told by `outcome_of`."""
Closure = Callable[[str, str, dict[str, Any]], Any]
"""`(agent_id, call_id, args)`; what it may return is told by `closure`."""


def _alias(name: str) -> Any:
    """An attribute under its earlier name."""

    def write(tool: object, value: Any) -> None:
        setattr(tool, name, value)

    return property(attrgetter(name), write)


class Tool:
    """Name, description, parameters (JSON Schema) and two functions of `(args, ctx)`.

    A function that has three parameters instead is the closure form: see `closure`. `outcome_of` says what
    either may return. A subclass may define `dry_run(args, ctx)` as a method. Raises `InvalidTool` for what
    no vendor or executor could take.

    Example:

        numbers = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
        add = Tool("add", "Add numbers.", numbers, lambda args, ctx: str(args["a"] + args["b"]))
        planck.run("Say hello.", tools=[add])
    """

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        execute: Native | Closure,
        dry_run: Native | Closure | None = None,
        *,
        effect: Effect | EffectName = Effect.COMMAND,
        timeout: float = 300.0,
        max_arguments: int = 1 << 20,
        extra_arguments: Iterable[str] | Mapping[str, Mapping[str, Any]] = (),
        plain_schema: bool = False,
        confinable: bool = False,
        probe_in_sandbox: bool = False,
        find_unknown_address: FindUnknownAddress | None = None,
        basis: FindBasis | None = None,
        always: Iterable[str] | Mapping[str, Mapping[str, Any]] = (),
        tried: bool = False,
        stranger: FindUnknownAddress | None = None,
    ) -> None:
        """`always`, `tried` and `stranger` are the earlier names of `extra_arguments`, `probe_in_sandbox` and
        `find_unknown_address`."""
        ours = type(parameters) is OwnSchema
        if not ours:
            _check_spec(name, description, parameters)
        self.name = name
        self.description = description
        shared: Any = parameters  # one for all sessions, and so is what is made of it
        self.parameters: dict[str, Any] = (
            shared if ours else {**({} if "type" in parameters else {"type": "object"}), **parameters}
        )
        self.effect: Effect = effect if type(effect) is Effect else _read_effect(name, effect)
        self.execute: Execute = _as_execute(name, execute, ours=ours)
        if dry_run is None:
            dry_run = getattr(self, "dry_run", None)  # this class has none: it is a method of a subclass
        self.dry_run: Execute = self._plan if dry_run is None else _as_execute(name, dry_run, ours=ours)
        self.has_preview: bool = self.effect in (Effect.FILES, Effect.COMMAND) and dry_run not in (
            None,
            execute,
        )
        """Its dry run says more than its arguments, and does nothing; of a team tool it would be the call."""
        self.timeout: float = timeout if ours else _check_timeout(name, timeout)
        self.max_arguments = max_arguments
        """Bytes of argument text the executor will parse."""
        extra = extra_arguments or always
        self.extra_arguments: Mapping[str, Mapping[str, Any]] = _read_extra(extra) if extra else _NO_KEYS
        """Keys that pass beside the schema, each with its own: `cwd`, `timeout` (TOOL.json), `timeout_ms`."""
        self.plain_schema = plain_schema
        """Keys outside `properties` pass, as plain JSON Schema has it (MCP)."""
        self.confinable = confinable
        """Its effects happen under `ctx.confinement`, or in a sandbox already."""
        self.probe_in_sandbox: bool = probe_in_sandbox or tried
        """It is a command that can be run once where nothing can be changed, before anybody is asked."""
        self.find_unknown_address: FindUnknownAddress | None = find_unknown_address or stranger
        """What it finds only the user can agree to, in every mode; then it is in `ctx.confinement`."""
        self.basis = basis
        """What a question about it is bound to: the tool refuses to change anything but that, `Changed`."""

    always: Mapping[str, Mapping[str, Any]] = _alias("extra_arguments")
    tried: bool = _alias("probe_in_sandbox")
    stranger: FindUnknownAddress | None = _alias("find_unknown_address")
    plans: bool = _alias("has_preview")

    @property
    def shown_parameters(self) -> dict[str, Any]:
        """The schema that a model is shown; the executor validates against `parameters`."""
        return self.parameters.shown if type(self.parameters) is OwnSchema else self.parameters

    @property
    def address(self) -> str:
        """The origin that its calls are sent to; empty: they happen on this machine."""
        return ""

    def find_rights(self, given: Confinement) -> Confinement:
        """Returns the rights that a call then has which is given these: a process may have fewer."""
        return given

    def to_ai_tool(self) -> ToolSpec:
        """What a model is shown: the spec without the functions."""
        return ToolSpec(self.name, self.description, self.shown_parameters)

    def _plan(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return describe_plan(self.name, args, f"Would call {self.name} with {codec.encode_str(args)}.")

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


_NO_KEYS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


def _read_extra(given: Iterable[str] | Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    return dict(given) if isinstance(given, Mapping) else {key: {} for key in given}


def describe_plan(tool: str, args: dict[str, Any], text: str) -> Outcome:
    """Returns the result of a dry run."""
    return Ok({"output": text, "dry_run": True, "tool": tool, "args": args})


def closure(function: Closure) -> Execute:
    """A function of `(agent_id, call_id, args)` as one of `(args, ctx)`.

    A coroutine function stays one; any other is left for the executor to run in a thread.
    """

    def call(args: dict[str, Any], ctx: ToolContext) -> Outcome | Awaitable[Outcome]:
        value = function(ctx.agent_id, ctx.call_id, args)
        return _await_result(value) if inspect.isawaitable(value) else _read_result(value)

    async def call_async(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return _read_result(await function(ctx.agent_id, ctx.call_id, args))

    return call_async if is_async(function) else call


def _native(function: Native) -> Execute:
    def call(args: dict[str, Any], ctx: ToolContext) -> Outcome | Awaitable[Outcome]:
        value = function(args, ctx)
        return _await_result(value) if inspect.isawaitable(value) else _read_result(value)

    async def call_async(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return _read_result(await function(args, ctx))

    return call_async if is_async(function) else call


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine; every other function runs in a thread."""
    if type(function) is FunctionType and function.__code__.co_flags & inspect.CO_COROUTINE:
        return True  # nearly all are so, and each call asks
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  the method itself is wanted, not whether it is callable
    )


def outcome_of(value: Any) -> Outcome:
    """What a function returned, as a result: an error that is returned is one, in whichever of its forms.

    Text is the output, also as bytes; `Ok`, `Err`, a map with "output", the error envelope as a map and
    `("ok"|"error", value)` are what they say; any other value becomes JSON.
    """
    if type(value) is Ok:
        value = value.value
    if type(value) is dict and type(value.get("output")) is str and "error" not in value:  # nearly all are so
        return Ok({key: inner for key, inner in value.items() if type(key) is str})
    match value:
        case Err():
            return value
        case Ok():
            return outcome_of(value.value)
        case str() | bytes():
            return Ok({"output": _as_text(value)})
        case ("ok", ok) if isinstance(value, tuple):  # a list is a value, whatever it begins with
            return outcome_of(ok)
        case ("error", reason) if isinstance(value, tuple):
            return _read_reason(reason)
        case {"ok": False, "error": reason}:
            return _read_reason(reason)
        case {"output": output}:
            kept = {key: inner for key, inner in value.items() if type(key) is str}
            return Ok({**kept, "output": _as_text(output)})
        case _:
            return Ok({"output": codec.encode_str(value)})


def _read_reason(reason: Any) -> Err:
    """A text has the kind `command_failed`, and so has an envelope of a kind that there is not."""
    match reason:
        case Err():
            return reason
        case {"ok": False, "error": inner}:
            return _read_reason(inner)
        case {"message": str(message)}:
            kind, details = reason.get("kind"), reason.get("details")
            kept = dict(details) if isinstance(details, Mapping) else {}
            if kind in _KINDS:
                return Err(ErrorKind(kind), message, kept)
            return Err(ErrorKind.COMMAND_FAILED, message, {**kept, "kind": str(kind)} if kind else kept)
    return Err(ErrorKind.COMMAND_FAILED, _as_text(reason))


_KINDS = frozenset(map(str, ErrorKind))
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else codec.encode_str(value)


@lru_cache(512)
def _is_name(text: str) -> bool:
    """What every vendor takes as a tool's name: one that is refused makes the whole request fail."""
    return _NAME.fullmatch(text) is not None


def _read_effect(name: str, effect: str) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        raise InvalidTool(
            f"the effect of {name!r} must be one of {', '.join(Effect)}, not {effect!r}"
        ) from None


def _check_timeout(name: str, timeout: Any) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidTool(f"the timeout of {name!r} must be a number of seconds above 0, not {timeout!r}")
    return timeout


def _check_spec(name: Any, description: Any, parameters: Any) -> None:
    if not isinstance(name, str) or not _is_name(name):
        shown = name[:100] if isinstance(name, str) else name
        raise InvalidTool(f"the name {shown!r} must have 1 to 64 characters: letters, digits, '_' and '-'")
    if not isinstance(description, str):
        raise InvalidTool(f"the description of {name!r} must be a string, not {description!r}")
    if problem := find_schema_problem(parameters):
        raise InvalidTool(f"the parameters of {name!r} are {problem}; correct the schema")


def find_schema_problem(parameters: Any) -> str:
    """What foreign parameters are instead of the schema of a tool's arguments; empty: they are one."""
    if not isinstance(parameters, Mapping):
        return "not a JSON Schema object"
    if parameters.get("type", "object") != "object":
        return f"of type {parameters['type']!r}, not 'object'"
    try:
        make_validator(dict(parameters))
    except (ValueError, TypeError) as problem:
        return f"not a valid JSON Schema: {(str(problem).splitlines() or [''])[0]}"
    return ""


def make_validator(schema: dict[str, Any]) -> Any:
    """Raises `ValueError` or `TypeError` for what is not a JSON Schema."""
    import jsonschema_rs  # 8 ms, and a run without a tool call needs none of it

    # The linear engine first: a pattern is foreign text. Look-around needs the other one, on a leash.
    try:
        linear = jsonschema_rs.RegexOptions()
        return jsonschema_rs.validator_for(schema, pattern_options=linear, offline=True)
    except (ValueError, TypeError):
        leashed = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
        return jsonschema_rs.validator_for(schema, pattern_options=leashed, offline=True)


def _as_execute(name: str, function: Native | Closure, *, ours: bool) -> Execute:
    """Returns it as a function that gives results; our own tools give nothing else."""
    kind = (getattr(function, "__code__", None), type(function))
    if ours and kind in _OWN:
        own: Any = function
        known: Execute = own  # not by `cast`, which is called: this is each session's, for each tool
        return known
    count = _count_parameters(function)
    if count == 2:
        if ours and kind[0]:
            _OWN.add(kind)
        return cast(Execute, function) if ours else _native(cast(Native, function))
    if count == 3:
        return closure(cast(Closure, function))
    raise InvalidTool(
        f"the function for {name!r}, {function!r}, must take (args, ctx) or (agent_id, call_id, args), "
        "and no other positional parameters, even with defaults; bind the others with "
        "functools.partial, or make them keyword-only"
    )


_OWN: set[tuple[object, type]] = set()
"""What our own tools are made of, once it was looked at: each session makes them anew."""


def _count_parameters(function: Callable[..., Any]) -> int | None:
    """Returns how many arguments it takes by position, defaults included; None: no certain number.

    Reads the code object of a plain function: 60 signatures a start cost more than making the tools.
    """
    method = type(function) is MethodType
    plain = function.__func__ if type(function) is MethodType else function
    if type(plain) is FunctionType and not plain.__dict__:  # attributes may stand for another signature
        code = plain.__code__
        needed = code.co_kwonlyargcount != len(plain.__kwdefaults__ or ())
        return None if needed or code.co_flags & CO_VARARGS else code.co_argcount - method
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # no function, or one in C that does not tell
        return None
    kinds = [parameter.kind for parameter in parameters]
    needed = any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    if needed or inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return sum(kind in _BY_POSITION for kind in kinds)


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


async def _await_result(value: Awaitable[Any]) -> Outcome:
    return _read_result(await value)


def _read_result(value: Any) -> Outcome:
    """Also reads `(bool, value)`, which in a typed function made by `@tool` is data.

    An `Ok` of a map stays unchanged, so that the executor can name a key that is not a string.
    """
    if type(value) is Ok and type(value.value) is dict and "error" not in value.value:
        return cast(Outcome, value)
    match value:
        case (bool(ok), result) if isinstance(value, tuple):
            return outcome_of(("ok" if ok else "error", result))
    return outcome_of(value)
