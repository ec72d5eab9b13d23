"""`judge`, a pure function: from mode, effect and rules to allow, deny or ask, and the rights of the call."""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from planck.permissions.rules import Decision, Ruling, SourcedRule, apply_rules
from planck.records.authority import CHANGELESS, Authority, Confinement, Mode, Right
from planck.records.events import DeniedBy
from planck.records.tools import COMMAND_TOOLS, HOST_TOOLS
from planck.records.visible import fit_line
from planck.toolkit.tool import Effect
from planck.workspace.paths.paths import is_inside
from planck.workspace.sandbox.closed import find_closed, find_held_home

_UNRULED = Ruling(None)
_ALLOW, _ASK, _DENY = Decision
_FULL, _READ_ONLY = Mode.FULL, Mode.READ_ONLY
_COMMAND = Effect.COMMAND
"""To name a member of an enum by its class costs as much as a call."""
_MAX_REASON = 500
"""Characters of what an agent says for itself in a question."""


class PolicyContext(msgspec.Struct, frozen=True):
    """What holds for every call of a session: rules, hidden places, whether commands can be confined."""

    rules: tuple[SourcedRule, ...] = ()
    masked: tuple[str, ...] = ()
    no_sandbox: str = ""
    """Why a command can't be confined here, and what to do about it; empty: it can."""
    shown: tuple[str, ...] = ()
    """Below hidden places, and readable all the same."""
    hidden: tuple[str, ...] = ()
    """Homes, of which a command sees only what is shown."""
    homes: tuple[str, ...] = ()
    """The user's and Planck's own, canonical: a root that holds one is written by no sandbox."""
    closed: tuple[str, ...] = ()
    """Of the caller's roots, those that no sandbox may write: see `close_roots`."""
    why_closed: str = ""
    """Why this call is in one of them; empty: it is not."""

    @property
    def sandbox(self) -> bool:
        return not self.no_sandbox


class Verdict(msgspec.Struct, frozen=True, gc=False):
    decision: Decision
    confinement: Confinement
    """Under what the call runs once it is allowed."""
    why: str
    """The deciding rule and its source, or the mode."""
    by_rule: bool = False
    by: DeniedBy = "mode"
    """What decided, where it is denied."""


def judge(
    authority: Authority,
    around: PolicyContext,
    tool: str,
    effect: Effect,
    confinable: bool,
    args: Mapping[str, Any],
    *,
    is_command: bool = True,
    own: bool = False,
) -> Verdict:
    """Decides. Rules narrow every mode and answer what would be asked; none lifts what a mode denies.

    `is_command`: each call starts a process of its own, with rights of its own; a server is one that runs.
    `own`: it is a function of the program that embeds us, which passed it to be called without a question.
    """
    verdict = _judge(authority, around, tool, effect, confinable, args, is_command=is_command, own=own)
    reason = _read_escalation(tool, args) if "escalate" in args else ""
    return _escalate(verdict, authority, around, reason) if reason else verdict


def close_roots(
    authority: Authority, around: PolicyContext, effect: Effect, args: Mapping[str, Any]
) -> PolicyContext:
    """Adds which of the caller's roots no sandbox may write: there neither a command nor a file tool does.

    A command writes in all of them, a file tool in the one that its path leads to; a tool with such an
    effect that names no path may mean any.
    """
    if authority.mode in CHANGELESS or authority.mode is Mode.FULL:
        return around
    writes = authority.roots if authority.writes is None else authority.writes
    if effect is Effect.COMMAND:  # what else closes a root is found when its sandbox is made
        held = "" if around.no_sandbox else next(filter(None, _find_homes(writes, around)), "")
        return msgspec.structs.replace(around, no_sandbox=held) if held else around
    if effect is not Effect.FILES or authority.mode is not Mode.WORKSPACE:
        return around
    reasons = {root: why for root in writes if (why := find_closed(root, around.homes))}
    if not reasons:
        return around
    place = _find_place(authority, args)
    here = [why for root, why in reasons.items() if not place or is_inside(place, (root,))]
    return msgspec.structs.replace(around, closed=tuple(reasons), why_closed="; ".join(here))


def _find_homes(roots: Iterable[str], around: PolicyContext) -> Iterator[str]:
    return (find_held_home(root, around.homes) for root in roots)


def _find_place(authority: Authority, args: Mapping[str, Any]) -> str:
    """Returns where a file is that a call names; empty: nobody knows."""
    path = args.get("path")
    if not isinstance(path, str) or "\0" in path or not authority.roots:
        return ""
    folder, name = os.path.split(os.path.join(authority.roots[0], path))
    return os.path.join(os.path.realpath(folder), name)


def find_trial(
    authority: Authority, around: PolicyContext, verdict: Verdict, tool: str, args: Mapping[str, Any]
) -> Confinement | None:
    """The rights with which mode `ask` tries a command before it asks: nothing can be changed with them.

    `around` is what holds in mode `read-only`. Who says that it needs more, or what a rule asks about, is
    not tried; neither is what goes on in the background, for it has not failed yet.
    """
    asks = authority.mode is Mode.ASK and verdict.decision is Decision.ASK and not verdict.by_rule
    if not asks or not around.sandbox or (tool in COMMAND_TOOLS and args.get("background")):
        return None
    if _read_escalation(tool, args):
        return None
    return msgspec.structs.replace(_rights(authority, around), writable=())


def find_offer(
    authority: Authority,
    around: PolicyContext,
    verdict: Verdict,
    tool: str,
    args: Mapping[str, Any],
    *,
    missing: frozenset[Right] | None = None,
) -> Verdict:
    """Returns the verdict with the rights that a question names: the smallest that can do.

    `missing` is what a trial showed; None: there was none. A command that leaves the sandbox does so because
    the two other rights can't help, or because nothing here can confine it.
    """
    held = verdict.confinement
    asks = verdict.decision is Decision.ASK and held.mode in (Mode.ASK, Mode.WORKSPACE)
    if not asks or held.addresses:
        return verdict
    if missing is None:
        missing = _guess_missing(authority, tool, args, writes=bool(held.writable))
    if Right.OUTSIDE in missing or (Right.WRITE in missing and _is_closed(held, around)):
        return msgspec.structs.replace(verdict, confinement=_rights(authority, around, mode=Mode.FULL))
    rights = msgspec.structs.replace(
        held,
        writable=held.writable if Right.WRITE in missing else (),
        network=Right.NETWORK in missing,
    )
    return msgspec.structs.replace(verdict, confinement=rights)


def _is_closed(held: Confinement, around: PolicyContext) -> bool:
    """Whether no sandbox may write in a root of the call. It looks at the disk: ask only where it counts."""
    return not held.writable or any(find_closed(root, around.homes) for root in held.writable)


def _guess_missing(
    authority: Authority, tool: str, args: Mapping[str, Any], *, writes: bool
) -> frozenset[Right]:
    """What a command needs that was not tried: the sandbox that mode `workspace` has, and what is known of
    its programs."""
    needs = frozenset({Right.WRITE} if writes else ())
    command = args.get("command") if tool in COMMAND_TOOLS else None
    if not isinstance(command, str):
        return needs
    from planck.workspace.sandbox.needs import find_needs  # only for a question

    needs |= find_needs(command)
    if authority.mode is Mode.ASK and args.get("background"):
        # Most are servers: without the network, no other command could reach them.
        needs |= {Right.NETWORK}
    return needs if authority.network else needs - {Right.NETWORK}


def _judge(
    authority: Authority,
    around: PolicyContext,
    tool: str,
    effect: Effect,
    confinable: bool,
    args: Mapping[str, Any],
    *,
    is_command: bool,
    own: bool,
) -> Verdict:
    if authority.tools is not None and tool not in authority.tools:
        why = f"{tool!r} was not granted to this agent"
        return Verdict(_DENY, _rights(authority, around), why, by="grant")
    if tool in HOST_TOOLS and not authority.network:
        why = "this agent may not use the network"
        return Verdict(_DENY, _rights(authority, around), why, by="grant")
    base, why = _decide_by_mode(authority.mode, effect, confinable, around.no_sandbox)
    if own and base is _ASK:
        base, why = _ALLOW, f"mode {authority.mode.value!r} allows the tools of the embedding program"
    elif around.why_closed:
        base = _ASK
        why = (
            "changing files here requires approval, because the sandbox cannot make this folder writable: "
            f"{around.why_closed}"
        )
    if tool in HOST_TOOLS and base is _ASK:
        why = "a request to this host requires approval until a rule allows it"
    if base is _DENY:
        return Verdict(base, _rights(authority, around), why)
    folder = authority.roots[0] if authority.roots else ""
    ruling = apply_rules(around.rules, tool, args, folder) if around.rules else _UNRULED
    decision = ruling.decision or base
    why = str(ruling.by) if ruling.by else why
    if ruling.note:
        why += f"; {ruling.note}"
    elif ruling.unreadable and ruling.decision is not _DENY:
        why += "; no rule can allow it, because the command uses shell syntax beyond plain words"
    # A call to a server in mode `ask` goes to the process that runs already.
    held = confinable and (is_command or authority.mode is not Mode.ASK)
    rights = _confinement(authority, around, effect, decision, ruling, held=held)
    if around.closed and decision is _ALLOW and ruling.decision is None:
        # Wherever a link leads meanwhile: what nobody was asked about is not written.
        rights = msgspec.structs.replace(
            rights, writable=tuple(root for root in rights.writable if root not in around.closed)
        )
    return Verdict(decision, rights, why, ruling.by is not None, "rule" if ruling.by else "mode")


def _read_escalation(tool: str, args: Mapping[str, Any]) -> str:
    """Why a command needs more rights than its sandbox gives, on one line; empty: it says nothing of it."""
    reason = args.get("escalate") if tool in COMMAND_TOOLS else None
    return fit_line(reason, _MAX_REASON) if isinstance(reason, str) else ""


def _escalate(verdict: Verdict, authority: Authority, around: PolicyContext, reason: str) -> Verdict:
    """Makes a question of a call that would run confined; what is denied stays so, and what asks says why."""
    if authority.mode in CHANGELESS:
        why = f"mode {authority.mode.value!r} does not allow more permissions for commands"
        return Verdict(Decision.DENY, verdict.confinement, why)
    free = verdict.decision is Decision.ALLOW and verdict.confinement.mode is Mode.FULL
    if verdict.decision is Decision.DENY or free:
        return verdict
    why = f'the agent asks for more permissions than the sandbox gives: "{reason}"'
    rights = _rights(authority, around, mode=Mode.FULL)
    if verdict.decision is Decision.ASK and verdict.by_rule:
        return msgspec.structs.replace(verdict, why=f"{verdict.why}; {why}", confinement=rights)
    return Verdict(Decision.ASK, rights, why)


def ask_about_address(verdict: Verdict, address: str) -> Verdict:
    """Makes a question of a call that names an address of nobody's: no mode and no rule answers that."""
    if not address:
        return verdict
    rights = msgspec.structs.replace(verdict.confinement, addresses=(address,))
    why = f"{address!r} is not the address of a configured provider or of a running local server"
    return Verdict(Decision.ASK, rights, why)


@lru_cache(maxsize=64)
def _decide_by_mode(mode: Mode, effect: Effect, confinable: bool, no_sandbox: str) -> tuple[Decision, str]:
    """Decides without rules, and says why."""
    decision = _decide(mode, effect, sandboxed=confinable and not no_sandbox)
    return decision, _explain_mode(mode, effect, confinable, no_sandbox)


def _decide(mode: Mode, effect: Effect, *, sandboxed: bool) -> Decision:
    """`sandboxed`: the call can't get past what the mode allows."""
    if effect in (Effect.NONE, Effect.TEAM) or mode is Mode.FULL:
        return Decision.ALLOW
    contained = effect is Effect.COMMAND and sandboxed
    if mode in CHANGELESS:
        return Decision.ALLOW if contained else Decision.DENY
    if mode is Mode.WORKSPACE and (contained or effect is Effect.FILES):
        return Decision.ALLOW
    return Decision.ASK


def _confinement(
    authority: Authority,
    around: PolicyContext,
    effect: Effect,
    decision: Decision,
    ruling: Ruling,
    *,
    held: bool,
) -> Confinement:
    """A command runs as the user's own where nothing can confine it; else an allowed one gets what its rule
    says, or what the mode does, and one that is asked about what its question names: see `find_offer`."""
    if effect is not _COMMAND or authority.mode in CHANGELESS:
        return _rights(authority, around)
    free = not around.sandbox or (not held if decision is _ASK else ruling.unconfined)
    if free and decision is not _DENY:
        return _rights(authority, around, mode=_FULL)
    rights = _rights(authority, around, network=ruling.network and authority.network)
    if decision is _ALLOW and not ruling.write and authority.mode is Mode.ASK:
        return msgspec.structs.replace(rights, writable=())
    return rights


def _rights(
    authority: Authority, around: PolicyContext, *, mode: Mode | None = None, network: bool = False
) -> Confinement:
    mode = mode or authority.mode
    mode = _READ_ONLY if mode in CHANGELESS else mode
    writes = authority.roots if authority.writes is None else authority.writes
    writable = () if mode is _READ_ONLY else writes
    return Confinement(
        mode,
        authority.roots,
        writable,
        masked=around.masked,
        shown=around.shown,
        hidden=around.hidden,
        network=network or mode is _FULL,
    )


def find_file_rights(authority: Authority, around: PolicyContext) -> Confinement:
    """Returns where an agent may write files, for what lands from its own view."""
    return _rights(authority, around)


def _explain_mode(mode: Mode, effect: Effect, confinable: bool, no_sandbox: str) -> str:
    contained = confinable and not no_sandbox
    no_sandbox = f", and no suitable sandbox works here: {no_sandbox}" if confinable and no_sandbox else ""
    match mode, effect:
        case (Mode.FULL, _) | (_, Effect.NONE | Effect.TEAM):
            return f"mode {mode.value!r} allows it"
        case (Mode.READ_ONLY | Mode.PLAN | Mode.WORKSPACE, Effect.COMMAND) if contained:
            return f"mode {mode.value!r} runs it in the sandbox"
        case ((Mode.READ_ONLY | Mode.PLAN), _):
            return f"mode {mode.value!r} allows no changes{no_sandbox}"
        case Mode.WORKSPACE, Effect.FILES:
            return "mode 'workspace' allows changing files in the workspace"
        case Mode.WORKSPACE, _:
            return f"mode 'workspace' requires approval for what cannot run in the sandbox{no_sandbox}"
        case _:
            return "mode 'ask' requires approval"
