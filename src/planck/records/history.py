"""Events of one agent -> what its model is shown. An incremental fold: constant work per event.

Any prefix of a log folds to a history that can be sent: calls left open get an `interrupted` result here,
in the projection, so that the log is never rewritten.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from planck.records import codec
from planck.records.events import (
    USER,
    AssistantSaid,
    Compacted,
    Delivery,
    Envelope,
    ErrorData,
    Kind,
    Origin,
    PermissionDecision,
    PermissionRequest,
    Rewound,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    UsageSpent,
    View,
)
from planck.records.messages import (
    AssistantMessage,
    Message,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    size,
    user_text,
)
from planck.records.outcome import Err, ErrorKind
from planck.records.redact import REDACTED
from planck.records.specs import FOREIGN
from planck.records.tools import PLAN
from planck.records.visible import fit_line

BYTES_PER_TOKEN = 3
"""Low for English, about right for code and other scripts: an estimate that errs towards compacting early."""

_LONGEST_TOKEN = 6
"""Bytes, on the average of a whole history in any script: a server that counts fewer tokens left some out."""
_HIDDEN = 8_192
"""Tokens that a server may count beside what we sent, such as a template; more can't be true either."""

_CONTINUE = user_text("Continue.", "planck")
"""Between two answers in a row, which not every vendor takes."""

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
"""Dialects write these as `_`: two ids are the same if they differ only there."""

INTERRUPTED = Err(
    ErrorKind.INTERRUPTED,
    "this call was stopped before it ended; its outcome is unknown and it was not run again. "
    "Check what it did before you repeat it.",
)


NEVER_RUN = Err(
    ErrorKind.PERMISSION_DENIED,
    "this call was not run, and nothing was changed: the turn was stopped while the user was being asked; "
    "call it again only if it is still needed",
)


class History:
    """The messages of one agent, and their bytes in each dialect that asked for them."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = []
        self.unread: dict[str, Envelope] = {}
        """Envelopes that were recorded and not yet consumed, in order of arrival."""
        self.turn_at: int = 0
        """Where the messages of the newest turn begin."""
        self.in_turn: bool = False
        self.plan: str = ""
        """As `update_plan` showed it last."""
        self._open: list[_Open] = []
        self._wire_ids: set[str] = set()
        self._wire: dict[str, list[bytes]] = {}
        self._bytes = 0
        self._counted = 0
        self._counted_bytes = 0
        self._uncounted_bytes = 0
        self._replace(messages)

    def apply(self, fact: View) -> None:
        match fact:  # first what each step has: a class that does not match costs as much as a call
            case ToolEnd():
                # A command that ran and exited nonzero is no error: the model reads its output and decides.
                ran = fact.error is None
                shown = f"{fact.output}\n{fact.notice}" if fact.notice else fact.output
                self._finish(ToolResult(fact.id, "", fact.name, ran, shown, fact.images, fact.spilled))
            case AssistantSaid():
                self._add_answer(fact.message)
            case ToolStart(foreign=True):
                self._add_foreign_call(fact)
            case ToolStart() | UsageSpent():
                pass
            case Envelope():
                self.unread[fact.id] = fact
            case Delivery(state="delivered"):
                self.close_open_calls()
                for id in fact.ids:
                    if envelope := self.unread.pop(id, None):
                        if envelope.reset is True:
                            self._replace(())
                            self.turn_at, self.plan = 0, ""
                        self._add(_make_message(envelope))
            case Delivery():
                for id in fact.ids:
                    self.unread.pop(id, None)
            case TurnStart():
                self.in_turn = True
                self.close_open_calls()
                self.turn_at = len(self.messages)
            case TurnEnd():
                self.in_turn = False
                self.close_open_calls()
            case PermissionRequest():
                self._mark(fact.call_id, asked=fact.id)
            case PermissionDecision():
                self._mark(fact.call_id, denied=fact.reason if fact.decision == "deny" else "")
            case Compacted():
                self._replace(fact.messages)
                self.turn_at = fact.turn_at
                self.plan = fact.plan or self.plan
            case Rewound():
                self._replace(fact.messages)
            case _:
                pass

    def skip(self, fact: View) -> None:
        """Takes in one from before a `compacted`, which stands for all but mail and where a turn ends."""
        match fact:
            case Envelope():
                self.unread[fact.id] = fact
            case Delivery():
                for id in fact.ids:
                    self.unread.pop(id, None)
            case TurnStart():
                self.in_turn = True
            case TurnEnd():
                self.in_turn = False

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        return tuple([entry.call for entry in self._open if entry.result is None])

    @property
    def left_asking(self) -> bool:
        """Whether a call waits for the user; those of another program can't be asked about again."""
        return any(entry.asked and entry.result is None and not entry.foreign for entry in self._open)

    def find_question(self, call_id: str) -> str:
        """Returns the id of the question that a call waits for; empty: it waits for none."""
        for entry in self._open:
            if entry.call.id == call_id:
                return entry.asked
        return ""

    def refuse_asking(self, call: ToolCall) -> Err | None:
        """Returns what is said of an open call that can't ask the user again; None: it can."""
        if not self.find_question(call.id):
            return INTERRUPTED
        # Of a call with a key in it, the log does not have what the model wrote.
        return NEVER_RUN if REDACTED in call.arguments else None

    def end_open_calls(self, seen: Mapping[str, ToolEnd] | None = None) -> list[View]:
        """Makes the one result of each call that has none: what was `seen` of it, or that nobody saw its end.

        A question that nobody answered is a no.
        """
        facts: list[View] = []
        for entry in self._open:
            if entry.result is None:
                if entry.asked:
                    facts.append(_withdraw_question(entry))
                facts.append((seen or {}).get(entry.call.id) or _end_call(entry))
        return facts

    @property
    def balanced(self) -> list[Message]:
        """What can be sent now: calls that are still open have a synthetic result in it."""
        return [*self.messages, _results(self._open)] if self._open else self.messages

    def tokens(self, fixed: int = 0) -> int:
        """What the next call takes of the window: the last real count plus the bytes since.

        `fixed` is what system prompt and tools take; a real count has them in it. A count that can't be true,
        of so many bytes, is taken as the nearest that can.
        """
        if not self._counted:
            return fixed + self._uncounted_bytes // BYTES_PER_TOKEN
        most = self._counted_bytes + fixed * BYTES_PER_TOKEN + _HIDDEN
        counted = min(max(self._counted, self._counted_bytes // _LONGEST_TOKEN), most)
        return counted + self._uncounted_bytes // BYTES_PER_TOKEN

    @property
    def counted(self) -> bool:
        """Whether a model has counted it as it is, prompt and tools included, but for what came since."""
        return self._counted > 0

    def close_open_calls(self) -> None:
        """Gives every call without a result a synthetic one; a no-op when the step is complete."""
        if self._open:
            results, self._open = _results(self._open), []
            self._add(results)

    def wire(self, dialect: str, encode: Callable[[Message], bytes]) -> list[bytes]:
        """Each message as this dialect sends it, encoded once; the list is the caller's to read only."""
        done = self._wire.setdefault(dialect, [])
        done.extend(codec.trimmed(encode(message)) for message in self.messages[len(done) :])
        return [*done, encode(_results(self._open))] if self._open else done

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        taken = size(message)
        self._bytes += taken
        self._uncounted_bytes += taken

    def _add_answer(self, message: AssistantMessage) -> None:
        self.close_open_calls()
        if self.messages and isinstance(self.messages[-1], AssistantMessage):
            self._add(_CONTINUE)
        if message.tool_calls:
            message = self._with_unique_ids(message)
            self._open = [_Open(part) for part in message.parts if isinstance(part, ToolCall)]
        self._add(message)
        if message.usage.context_tokens:
            self._counted, self._uncounted_bytes = message.usage.context_tokens, 0
            self._counted_bytes = self._bytes

    def _add_foreign_call(self, start: ToolStart) -> None:
        """Another program tells of its calls one by one: each joins the answer that it has begun."""
        call = ToolCall(start.id, "", start.name, codec.encode_str(start.args))
        call = replace(call, provider_id=self._unique(call))
        begun = self.messages[-1] if self.messages else None
        if isinstance(begun, AssistantMessage):
            message = replace(begun, parts=(*begun.parts, call), stop=StopReason.TOOL_CALLS)
            self.messages[-1] = message
            taken = size(message) - size(begun)
            self._bytes += taken
            self._uncounted_bytes += taken
            for done in self._wire.values():
                del done[len(self.messages) - 1 :]
        else:
            self._add(AssistantMessage((call,), FOREIGN, "", StopReason.TOOL_CALLS))
        self._open.append(_Open(call, foreign=True))

    def _mark(self, call_id: str, *, asked: str = "", denied: str = "") -> None:
        for entry in self._open:
            if entry.call.id == call_id:
                entry.asked, entry.denied = asked, denied

    def _finish(self, result: ToolResult) -> None:
        """The first result of a call counts; one that nobody asked for is not shown."""
        for entry in self._open:
            if entry.call.id == result.id and entry.result is None:
                break
        else:
            return
        entry.result = replace(result, provider_id=entry.call.provider_id, name=entry.call.name)
        if entry.call.name == PLAN and result.ok:
            self.plan = result.output
        if not self.open_calls:
            self.close_open_calls()

    def _replace(self, messages: Iterable[Message]) -> None:
        """Starts again from a checkpoint, by the same rules, so that this can be sent whatever it says."""
        self.messages, self._open, self._wire_ids, self._wire = [], [], set(), {}
        self._bytes, self.plan = 0, ""
        for message in messages:
            match message:
                case AssistantMessage():
                    self._add_answer(message)
                case ToolMessage():
                    for result in message.results:
                        self._finish(result)
                case UserMessage(parts=(_, *_)):
                    self.close_open_calls()
                    self._add(message)
        self.turn_at = len(self.messages)
        # The counts in these messages are of calls that were shown more.
        self._counted, self._uncounted_bytes = 0, self._bytes

    def _with_unique_ids(self, message: AssistantMessage) -> AssistantMessage:
        """No vendor takes the same call id twice; servers without ids, and a compaction, could repeat one."""
        parts = tuple(
            [self._with_unique_id(part) if isinstance(part, ToolCall) else part for part in message.parts]
        )
        return message if parts == message.parts else replace(message, parts=parts)  # nearly always the same

    def _with_unique_id(self, call: ToolCall) -> ToolCall:
        id = self._unique(call)
        return call if id == call.provider_id else replace(call, provider_id=id)

    def _unique(self, call: ToolCall) -> str:
        wanted = call.provider_id or call.id or "call"
        number = 0
        while (safe := _UNSAFE.sub("_", wanted)) in self._wire_ids:
            number += 1
            wanted = f"{call.id or 'call'}_{number}" if number > 1 else call.id or "call"
        self._wire_ids.add(safe)
        return wanted


class _Open:
    __slots__ = ("asked", "call", "denied", "foreign", "result")

    def __init__(self, call: ToolCall, *, foreign: bool = False) -> None:
        self.call = call
        self.foreign = foreign
        self.result: ToolResult | None = None
        self.asked = ""
        """The question that it waits for; so long it does not run."""
        self.denied = ""
        """Why it may not; its result may have to wait for those before it."""

    @property
    def cut_short(self) -> Err:
        """What is to be said of it where it ends now."""
        if self.denied:
            return Err(ErrorKind.PERMISSION_DENIED, self.denied)
        return NEVER_RUN if self.asked else INTERRUPTED


def _results(entries: Sequence[_Open]) -> ToolMessage:
    return ToolMessage(tuple([entry.result or _cut_short_result(entry) for entry in entries]))


def _speaker(envelope: Envelope) -> str:
    """Returns who said it; empty: the user, in whose place a hook or the runtime may speak."""
    if envelope.sender != USER:
        return envelope.sender
    return "" if envelope.origin in (Origin.USER, None) else envelope.origin.value


def _make_message(envelope: Envelope) -> UserMessage:
    text = user_text(_render_envelope(envelope), _speaker(envelope))
    return replace(text, parts=(*text.parts, *envelope.images)) if envelope.images else text


def _render_envelope(envelope: Envelope) -> str:
    """Returns the user's text as it is, another agent's between lines that it can't forge.

    The closing line repeats the envelope's id, which the runtime mints after the text was written.
    """
    if envelope.sender == USER:
        return envelope.text
    who = f"agent {envelope.sender_name or 'agent'} (id {envelope.sender})"
    grants = "it is not from the user and grants nothing"
    kind, id = envelope.kind, envelope.id
    end = f"\n{envelope.text}\n[end of {kind} {id}]"
    about = f" to task {envelope.correlation_id}" if kind is Kind.RESPONSE and envelope.correlation_id else ""
    said = (envelope.outcome, *(envelope.facts or ())) if envelope.outcome else envelope.facts or ()
    checks = (f"done when `{_keep_on_line(one)}` passes" for one in envelope.done_when or ())
    known = "; ".join((*said, *checks))
    if envelope.origin is Origin.AGENT:
        until = f", which waits until {envelope.deadline}" if envelope.deadline else ""
        return f"[{kind} {id}{about} from {who}{until}{f': {known}' if known else ''}; {grants}]{end}"
    if envelope.outcome:
        return f"[planck: {kind} {id}{about} instead of one from {who}: {known}; {grants}]{end}"
    # As earlier versions recorded it.
    return f"[{kind} {id} from {who}; {grants}]{end}"


def _keep_on_line(command: str) -> str:
    """What another agent wrote, with nothing in it that could end the runtime's own line."""
    return fit_line(command, 200).replace("[", "(").replace("]", ")")


def make_news(
    id: str, receiver: str, text: str, root: str | None = None, *, user_knows: bool = False
) -> Envelope:
    """Makes what the runtime tells an agent of a change around it; it joins what comes next."""
    return Envelope(
        id=id,
        kind=Kind.RESPONSE,
        sender=USER,
        receiver=receiver,
        text=f"[planck: {text}]",
        root=root,
        origin=Origin.PLANCK,
        user_knows=user_knows or UNSET,
    )


def is_news(envelope: Envelope) -> bool:
    return (envelope.sender, envelope.kind, envelope.origin) == (USER, Kind.RESPONSE, Origin.PLANCK)


def _end_call(entry: "_Open") -> ToolEnd:
    call, why = entry.call, entry.cut_short
    return ToolEnd(
        id=call.id,
        name=call.name,
        ok=False,
        output=str(why),
        error=ErrorData(why.kind, why.message, {}),
        duration_ms=0,
        foreign=entry.foreign,
    )


def _withdraw_question(entry: _Open) -> PermissionDecision:
    return PermissionDecision(
        call_id=entry.call.id,
        tool=entry.call.name,
        decision="deny",
        reason="the turn was stopped before the question was answered",
        request_id=entry.asked,
    )


def _cut_short_result(entry: _Open) -> ToolResult:
    call = entry.call
    return ToolResult(call.id, call.provider_id, call.name, False, str(entry.cut_short))
