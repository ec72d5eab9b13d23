"""Hooks of a program: before and after a tool, a model call and a run; they refuse or change."""

import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from copy import deepcopy
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from planck.headless.embedding.arguments import refuse
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.records.history import History
from planck.records.messages import AssistantMessage, Message, Part, Text, ToolCall
from planck.records.outcome import Err, ErrorKind
from planck.tools.results import Finished

T = TypeVar("T")


class Refuse(msgspec.Struct, frozen=True):
    """What a hook returns to stop something; the model, or the caller of `run`, reads the reason.

    Example:

        class NoPoems(Hooks):
            def after_run(self, text: str) -> Refuse | None:
                return Refuse("Do not write poems.") if "rose" in text else None
    """

    reason: str
    final: bool = False
    """Of `after_run`: the run fails at once, and the agent is not told to try again."""


class ToolUse(msgspec.Struct, frozen=True):
    """A call of a tool, with arguments that were validated.

    Example:

        class Log(Hooks):
            def before_tool(self, use: ToolUse) -> None:
                print(use.agent, use.tool, use.args)
    """

    agent: str
    """The name of the agent."""
    call_id: str
    tool: str
    args: dict[str, Any]


class ModelUse(msgspec.Struct, frozen=True):
    """A call of a model; what a hook changes here is sent and not recorded.

    A tool that a hook takes out of `tools` is not offered, and a call of it is refused.

    Example:

        class Brief(Hooks):
            def before_model(self, use: ModelUse) -> ModelUse:
                return msgspec.structs.replace(use, system=f"{use.system}\\nBe brief.")
    """

    agent: str
    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    params: dict[str, Any]


class Hooks:
    """Override what you need, as a plain method or an async one; None leaves things as they are.

    A hook can only take rights away: a call that it changes is still validated and asked about. What a hook
    raises stops what it looks at.

        class NoSecrets(Hooks):
            def before_tool(self, use):
                if ".env" in str(use.args):
                    return Refuse("Do not open .env files.")
    """

    def before_tool(self, use: ToolUse) -> Any:
        """Returns `Refuse`, a dict of other arguments, or None. Not called in a dry run."""

    def after_tool(self, use: ToolUse, output: str) -> Any:
        """Returns `Refuse`, another output for the model, or None."""

    def before_model(self, use: ModelUse) -> Any:
        """Returns `Refuse`, a changed `ModelUse`, or None."""

    def after_model(self, use: ModelUse, answer: AssistantMessage) -> Any:
        """Returns `Refuse`, another text for the answer, or None; what was streamed has been shown."""

    def before_prompt(self, text: str) -> Any:
        """Looks at a prompt of the user's. Returns `Refuse`, another text, or None."""

    def after_run(self, text: str) -> Any:
        """Looks at the final text of a run. Returns `Refuse`, with which the agent goes on, or None."""


def read_hooks(hooks: Any) -> "tuple[Hooks, ...]":
    """Raises for what is not a hook: a class, most often."""
    if isinstance(hooks, Hooks) or not isinstance(hooks, Sequence):
        raise refuse(f"hooks must be a list of Hooks objects, not {hooks!r}.")
    for hook in hooks:
        if not isinstance(hook, Hooks):
            raise refuse(f"{hook!r} is not a Hooks object. Derive a class from planck.Hooks, and make one.")
    return tuple(hooks)


class ProgramHooks:
    """The hooks of one session, asked in their order; the first `Refuse` counts."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self._hooks = tuple(hooks)
        self._hidden: dict[str, set[str]] = {}
        """By agent: the tools that its last request to a model would have had without the hooks."""

    def __bool__(self) -> bool:
        return bool(self._hooks)

    async def before_tool(
        self, agent: str, call_id: str, tool: str, args: dict[str, Any]
    ) -> Refuse | dict[str, Any]:
        """Returns the arguments that the call has in the end."""
        if tool in self._hidden.get(agent, ()):  # a model may know it from earlier steps, or guess it
            return Refuse("it was not offered in this step")
        for hook in self._hooks:
            use = ToolUse(agent, call_id, tool, deepcopy(args))  # what it changes in place is not a wish
            found = await _wait(hook.before_tool(use))
            if isinstance(found, Refuse):
                return found
            args = _expect(found, dict, args, "before_tool", "Refuse, a dict of arguments or None")
        return args

    async def after_tool(self, agent: str, done: Finished, args: Any) -> Finished:
        use = ToolUse(agent, done.call.id, done.call.name, args if isinstance(args, dict) else {})
        for hook in self._hooks:
            found = await _wait(hook.after_tool(use, done.output))
            if isinstance(found, Refuse):
                return _withhold(
                    done, ErrorKind.PERMISSION_DENIED, f"the result was withheld: {found.reason}"
                )
            output = _expect(found, str, done.output, "after_tool", "Refuse, a text or None")
            done = done if output == done.output else replace(done, output=output)
        return done

    @property
    def looks_at_results(self) -> bool:
        return any(getattr(hook.after_tool, "__func__", None) is not Hooks.after_tool for hook in self._hooks)

    def withhold(self, done: Finished) -> Finished:
        """Returns a result that no hook could look at, without what it says."""
        why = "the call ended, but the turn was stopped before the program's hooks had looked at the result"
        return _withhold(done, ErrorKind.INTERRUPTED, why)

    async def before_prompt(self, text: str) -> Refuse | str:
        for hook in self._hooks:
            found = await _wait(hook.before_prompt(text))
            if isinstance(found, Refuse):
                return found
            text = _expect(found, str, text, "before_prompt", "Refuse, a text or None")
        return text

    async def after_run(self, text: str) -> Refuse | None:
        for hook in self._hooks:
            found = await _wait(hook.after_run(text))
            if isinstance(found, Refuse):
                return found
            _expect(found, type(None), None, "after_run", "Refuse or None")
        return None

    def watch(self, provider: Provider, model: str, name_agent: Callable[[str], str]) -> Provider:
        """Returns a provider that asks the hooks about each request and each answer."""
        return _Watched(provider, self._hooks, model, name_agent, self._hide) if self._hooks else provider

    def _hide(self, agent: str, tools: set[str]) -> None:
        self._hidden[agent] = tools


class _Watched:
    def __init__(
        self,
        provider: Provider,
        hooks: Sequence[Hooks],
        model: str,
        name_agent: Callable[[str], str],
        hide: Callable[[str, set[str]], None],
    ) -> None:
        """`hide` is told which tools of an agent its model is not offered."""
        self._hide = hide
        self._provider = provider
        self._hooks = hooks
        self._model = model
        self._name_agent = name_agent

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        use = ModelUse(
            self._name_agent(request.agent_id),
            self._model,
            request.system,
            tuple(request.history.balanced),
            tuple(tool.name for tool in request.tools),
            dict(request.params),
        )
        before = use
        for hook in self._hooks:
            found = await _wait(hook.before_model(use))
            if isinstance(found, Refuse):
                raise _refuse_call(found)
            use = _expect(found, ModelUse, use, "before_model", "Refuse, a ModelUse or None")
        self._hide(before.agent, set(before.tools).difference(use.tools))
        async with aclosing(self._provider.stream(_change(request, before, use))) as items:
            async for item in items:
                yield await self._look_at(use, item) if isinstance(item, AssistantMessage) else item

    async def _look_at(self, use: ModelUse, answer: AssistantMessage) -> AssistantMessage:
        for hook in self._hooks:
            found = await _wait(hook.after_model(use, answer))
            if isinstance(found, Refuse):
                raise _refuse_call(found)
            text = _expect(found, str, answer.text, "after_model", "Refuse, a text or None")
            if text != answer.text:
                answer = replace(answer, parts=_change_text(answer.parts, text))
        return answer


def _change(request: Request, before: ModelUse, use: ModelUse) -> Request:
    if use is before:
        return request
    tools = [tool for tool in request.tools if tool.name in use.tools]
    changed = replace(request, system=use.system, params=use.params, tools=tools)
    return changed if use.messages is before.messages else replace(changed, history=History(use.messages))


def _change_text(parts: Sequence[Part], text: str) -> tuple[Part, ...]:
    """Returns the parts with one text, where the first was: a vendor wants thoughts before it."""
    first = next((i for i, part in enumerate(parts) if isinstance(part, Text | ToolCall)), len(parts))
    head, tail = (
        [part for part in some if not isinstance(part, Text)] for some in (parts[:first], parts[first:])
    )
    return (*head, Text(text), *tail)


def _withhold(done: Finished, kind: ErrorKind, why: str) -> Finished:
    refused = Err(kind, why)
    return replace(done, outcome=refused, output=str(refused), images=(), spilled=False, whole="")


def _refuse_call(refused: Refuse) -> ProviderError:
    message = f"A hook of the program stopped the model call: {refused.reason}"
    return ProviderError(ErrorKind.PERMISSION_DENIED, message, {"permanent": True})


async def _wait(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def _expect(found: Any, kind: type[Any], unchanged: T, hook: str, wanted: str) -> T:
    """Raises `TypeError` for a value that means nothing, such as False: a hook must not be misread."""
    if found is None:
        return unchanged
    if not isinstance(found, kind):
        raise TypeError(f"{hook} must return {wanted}, not {found!r}")
    changed: T = found
    return changed
