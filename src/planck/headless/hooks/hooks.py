"""Hooks: the user's own commands at events of a session, with the JSON and exit codes that people know.

Exit 0 goes on, exit 2 blocks and its stderr goes to the model, any other code is a warning. They come from
the user's configuration or a trusted project's, run contained, and can take rights away but never give any.
One whose program an agent's command could replace runs in the sandbox. Those written for Claude Code work as
they are: its names of tools, arguments and events stand beside ours, and a matcher means a tool by either.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from planck.config.project import Project
from planck.permissions.gate import AgentGate, Call
from planck.records import codec
from planck.records.authority import Confinement, Mode
from planck.records.outcome import Err
from planck.toolkit.permit import Trial
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.toolkit.truncate import truncate
from planck.tools import arguments
from planck.tools.executor import Executor, ReadCall, read_calls
from planck.tools.results import Finished

if TYPE_CHECKING:
    from planck.headless.embedding.hooks import ProgramHooks
    from planck.headless.hooks.reading import Hook
    from planck.headless.hooks.running import HookRunner


class HookReply(msgspec.Struct, frozen=True):
    blocked: bool = False
    reason: str = ""
    context: str = ""
    """What the hooks want the model to know."""
    asks: str = ""
    """Why the user is to be asked, whatever the rules allow."""
    updated: Mapping[str, Any] | None = None
    """The arguments that replace the call's own."""


class Hooks:
    """The hooks of one session; the configuration is read at every event, so that a change is seen."""

    def __init__(
        self,
        project: Project,
        session_id: str,
        scribe: Scribe,
        *,
        mode: Mode,
        off: bool,
        program: "ProgramHooks | None" = None,
    ) -> None:
        """`scribe` is the session's own: what a hook does wrong is told to the session's watchers.

        `program`: those of the program that embeds us, which are asked before the user's.
        """
        self._project = project
        self.program = program
        self.mode = mode
        self._runner: HookRunner | None = None
        self._session_id = session_id
        self._scribe = scribe
        self._off = off
        self.changed: dict[str, str] = {}
        """By call that is under way: the arguments as JSON that a hook gave it in place of its own."""

    def has(self, *events: str) -> bool:
        """Returns whether there is one for any of them, by one look at the files."""
        settings = self._settings()
        if not settings:
            return False
        from planck.headless.hooks.reading import has_any  # only where there is a hook

        return has_any(settings, events)

    def _settings(self) -> Mapping[str, Any]:
        return {} if self._off else self._project.resources.now.hooks

    async def before_tool(self, agent: str, call_id: str, tool: str, args: Mapping[str, Any]) -> HookReply:
        """Runs the hooks in order. If one rewrites the arguments, earlier hooks run again on the new ones; a
        second rewrite blocks the call."""
        hooks = self._find("PreToolUse", tool)
        if not hooks:
            return HookReply()
        told = self._describe_call(agent, call_id, tool, args)
        asks, context, updated = "", [], None
        again: list[Hook] = []
        for number, hook in enumerate([*hooks, *hooks]):
            if number >= len(hooks) and hook not in again:
                continue
            verdict = await self._run("PreToolUse", hook, {**told, "tool_name": hook.name(tool)})
            if verdict.blocked:
                return verdict
            asks = asks or verdict.asks
            context += [verdict.context] if verdict.context else []
            if verdict.updated is None:
                continue
            if updated is not None:
                why = "changed arguments that another hook had already changed; let only one hook change them"
                return HookReply(True, f"{hook.command!r} {why}")
            from planck.headless.hooks.claude_names import take_keys

            updated = take_keys(tool, told["tool_input"], verdict.updated)
            told, again = self._describe_call(agent, call_id, tool, updated), hooks[:number]
        return HookReply(context="\n\n".join(context), asks=asks, updated=updated)

    def _describe_call(self, agent: str, call_id: str, tool: str, args: Any) -> dict[str, Any]:
        from planck.headless.hooks.claude_names import add_keys, name_for_hooks

        given = add_keys(tool, args, str(self._project.workspace))
        call = {"tool_name": name_for_hooks(tool), "tool": tool, "tool_input": given, "tool_use_id": call_id}
        return {**call, "agent": agent}

    async def after_tool(self, agent: str, done: Finished, args: Any) -> HookReply:
        facts = self._describe_call(agent, done.call.id, done.call.name, args)
        response = {"ok": done.ok, "output": done.output, "exit_code": done.exit_code}
        facts["tool_response"] = {**response, "success": done.ok, "stdout": done.output}
        verdict = await self.fire("PostToolUse", done.call.name, facts)
        if done.ok or verdict.blocked:
            return verdict
        failed = await self.fire("PostToolUseFailure", done.call.name, {**facts, "error": done.output})
        if failed.blocked:
            return failed
        return HookReply(context="\n\n".join(text for text in (verdict.context, failed.context) if text))

    async def object(self, agent: str, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> str:
        """Why a user need not be asked about a call: a hook says no; empty: none does."""
        if not self.has("PermissionRequest"):
            return ""
        facts = self._describe_call(agent, ctx.call_id, tool.name, args)
        verdict = await self.fire("PermissionRequest", tool.name, facts)
        return f"a PermissionRequest hook denied it: {verdict.reason}" if verdict.blocked else ""

    async def prompt(self, text: str) -> HookReply:
        return await self.fire("UserPromptSubmit", "", {"prompt": text})

    async def session_start(self, source: str) -> HookReply:
        return await self.fire("SessionStart", source, {"source": source})

    async def session_end(self, reason: str) -> None:
        """What it says changes nothing any more."""
        await self.fire("SessionEnd", reason, {"reason": reason})

    async def stop(self, text: str, *, active: bool) -> HookReply:
        return await self.fire("Stop", "", {"stop_hook_active": active, "last_assistant_message": text})

    async def fire(self, event: str, subject: str, facts: dict[str, Any]) -> HookReply:
        told: list[str] = []
        for hook in self._find(event, subject):
            named = {"tool_name": hook.name(subject)} if "tool_name" in facts else {}
            verdict = await self._run(event, hook, facts | named)
            if verdict.blocked:
                return verdict
            told += [verdict.context] if verdict.context else []
        return HookReply(context="\n\n".join(told))

    def _find(self, event: str, subject: str) -> "list[Hook]":
        if not self.has(event):
            return []
        from planck.headless.hooks.reading import read_hooks

        return [hook for hook in read_hooks(self._settings())[0].get(event, ()) if hook.wants(subject)]

    async def _run(self, event: str, hook: "Hook", facts: dict[str, Any]) -> HookReply:
        if self._runner is None:
            from planck.headless.hooks.running import HookRunner  # only where there is a hook

            self._runner = HookRunner(self._project, self._session_id, self._scribe)
        blocked, said = await self._runner.run(event, hook, facts, self.mode)
        return HookReply(True, said) if blocked else _spoken(event, said)


class HookObjection:
    """Says what the PermissionRequest hooks have against a call that the user would be asked about."""

    def __init__(self, hooks: Hooks, agent: str) -> None:
        self._hooks = hooks
        self._agent = agent

    async def object(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> str:
        if not self._hooks.has("PermissionRequest"):
            return ""
        return await self._hooks.object(self._agent, tool, args, ctx)


class HookedPermit:
    """A permit that asks the PreToolUse hooks first; one that blocks is a denial like any other."""

    def __init__(self, gate: AgentGate, hooks: Hooks, agent: str) -> None:
        self._gate = gate
        self._hooks = hooks
        self._agent = agent

    async def decide(
        self, tool: Tool, args: dict[str, Any], ctx: ToolContext
    ) -> Err | Confinement | Trial | None:
        if self._hooks.program:
            found = await self._hooks.program.before_tool(self._agent, ctx.call_id, tool.name, args)
            if not isinstance(found, dict):
                why = f"a hook of the program refused it: {found.reason}"
                return await self._gate.deny(Call(tool, args, ctx), "hook", why)
            if found != args:
                self._change(tool, args, found, ctx)
        if not self._hooks.has("PreToolUse"):
            return await self._gate.decide(tool, args, ctx)
        verdict = await self._hooks.before_tool(self._agent, ctx.call_id, tool.name, args)
        if not verdict.blocked:
            if verdict.updated is not None:
                self._change(tool, args, verdict.updated, ctx)
            if verdict.asks:
                why = f"a PreToolUse hook requires approval: {verdict.asks}"
                return await self._gate.insist(tool, args, ctx, why)
            return await self._gate.decide(tool, args, ctx)
        why = f"a PreToolUse hook blocked it: {verdict.reason}"
        return await self._gate.deny(Call(tool, args, ctx), "hook", why)

    def _change(self, tool: Tool, args: dict[str, Any], updated: Mapping[str, Any], ctx: ToolContext) -> None:
        """Replaces the arguments of the call, in the very map that the tool is given."""
        changed = dict(updated)
        arguments.validate(tool, changed)
        args.clear()
        args.update(changed)
        self._hooks.changed[ctx.call_id] = codec.encode_str(changed)


class Hooked:
    """Runs calls and passes their results by the PostToolUse hooks; what they object to, the model reads."""

    def __init__(self, executor: Executor, hooks: Hooks, agent: str, tools: ToolSet) -> None:
        self._executor = executor
        self._hooks = hooks
        self._agent = agent
        self._tools = tools

    async def run(self, calls: Sequence[ReadCall]) -> AsyncGenerator[Finished, None]:
        async with aclosing(self._executor.run(calls)) as results:
            async for done in results:
                changed = self._hooks.changed.pop(done.call.id, "")
                yield await self._past_hooks(_tell_change(done, changed), changed)

    def take_unread(self) -> list[Finished]:
        """Past no hook: nothing may wait where a turn was stopped."""
        program, changed = self._hooks.program, self._hooks.changed
        unread = self._executor.take_unread()
        if program and program.looks_at_results:
            unread = [program.withhold(done) for done in unread]
        return [_tell_change(done, changed.pop(done.call.id, "")) for done in unread]

    async def _past_hooks(self, done: Finished, changed: str) -> Finished:
        program, files = self._hooks.program, self._hooks.has("PostToolUse", "PostToolUseFailure")
        if not program and not files:
            return done
        # Read anew in any case: a tool may have changed the map that it was given.
        args = codec.decode(changed) if changed else read_calls(self._tools, [done.call])[0].shown
        if program:
            done = await program.after_tool(self._agent, done, args)
        verdict = await self._hooks.after_tool(self._agent, done, args) if files else HookReply()
        objection = verdict.reason or verdict.context
        if not objection:
            return done
        return msgspec.structs.replace(done, output=f"{done.output}\n\nHook: {truncate(objection)}")


def _tell_change(done: Finished, changed: str) -> Finished:
    if not changed:
        return done
    text = f"Hook: a hook changed the arguments to {truncate(changed, 2_000)}"
    return msgspec.structs.replace(done, output=f"{done.output}\n\n{text}")


def _spoken(event: str, said: str) -> HookReply:
    """What a hook that exited 0 wrote: a decision as JSON, or text for the model where an event takes it."""
    if said.startswith("{"):
        try:
            answer = codec.decode(said)
        except codec.DecodeError:
            return HookReply()
        more = answer.get("hookSpecificOutput")
        more = more if isinstance(more, dict) else {}
        inner = more.get("decision")
        inner = inner if isinstance(inner, dict) else {}
        decided = {
            str(one).casefold()
            for one in (answer.get("decision"), more.get("permissionDecision"), inner.get("behavior"))
        }
        if decided & {"block", "deny"} or answer.get("continue") is False:
            reasons = (
                *(answer.get("reason"), more.get("permissionDecisionReason")),
                *(inner.get("message"), answer.get("stopReason")),
            )
            return HookReply(True, truncate(next((str(r) for r in reasons if r), "the hook gave no reason")))
        reason = truncate(str(more.get("permissionDecisionReason") or "the hook gave no reason"))
        updated = more.get("updatedInput")
        return HookReply(
            context=str(more.get("additionalContext") or ""),
            asks=reason if "ask" in decided else "",
            updated=updated if isinstance(updated, dict) and event == "PreToolUse" else None,
        )
    return HookReply(context=truncate(said)) if event in ("UserPromptSubmit", "SessionStart") else HookReply()
