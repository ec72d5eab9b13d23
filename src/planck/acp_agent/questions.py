"""Questions of agents are put to the client, on the session that the user sees; no answer at all is no."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planck.acp.methods import (
    ElicitationCapabilities,
    ElicitationResponse,
    FormElicitation,
    PermissionOption,
    PermissionRequest,
    PermissionResponse,
    Selected,
    UrlElicitation,
)
from planck.acp.rpc import Peer
from planck.acp.schema import CallDetails, Content, Diff
from planck.acp_agent.calls import find_locations, make_absolute, make_diff, make_title, show_text
from planck.acp_agent.narrator import Narrator
from planck.headless import Project, WorkspaceFiles
from planck.records.approval import Answer, FormField, Question, Scope
from planck.records.outcome import Err, PlanckError
from planck.records.tools import find_row
from planck.records.visible import fit_line, spell_out

_MAX_RULE = 120
_MAX_TITLE = 2_200
"""Columns: an address is never cut."""
_NOT_OFFERED = "the client chose an answer that was not offered"
_SCOPES = {"once": Scope.ONCE, "session": Scope.SESSION, "rule": Scope.RULE}


class Asker:
    """The approver of one session. It waits for as long as the question may; who asks sets the deadline."""

    def __init__(self, peer: Peer, elicitation: ElicitationCapabilities | None = None) -> None:
        """`elicitation`: which questions that are no permissions the client can show."""
        self._peer = peer
        self._elicitation = elicitation
        self.narrator: Narrator | None = None
        self.files: WorkspaceFiles | None = None
        self.workspace: Path = Path()

    def follow(self, narrator: Narrator, project: Project) -> None:
        """Shows questions with what the session does from here on; it was opened with this asker."""
        self.narrator = narrator
        self.files = WorkspaceFiles(project)
        self.workspace = Path(project.workspace)

    async def decide(self, question: Question) -> Answer:
        if question.asks != "permission":
            return await self._elicit(question)
        request = PermissionRequest(
            session_id=question.session_id,
            tool_call=self._describe(question),
            options=list_options(question),
        )
        answer = await self._peer.ask("session/request_permission", request, PermissionResponse)
        if isinstance(answer, Err) or not isinstance(answer.outcome, Selected):
            silent = "the client closed the question without an answer"
            return Answer(question.id, question.digest, False, unanswered=silent)
        scope = _SCOPES.get(answer.outcome.option_id)
        if scope is None:
            unknown = "" if answer.outcome.option_id == "no" else _NOT_OFFERED
            return Answer(question.id, question.digest, False, unanswered=unknown)
        return Answer(question.id, question.digest, True, scope)

    async def _elicit(self, question: Question) -> Answer:
        """A page can also be agreed to by one of two options; a form needs a client that can show it."""
        known = self._elicitation
        where: dict[str, Any] = {"session_id": question.session_id, "tool_call_id": question.call_id or None}
        where["message"] = f"{question.agent} asks: {question.text}"
        request: FormElicitation | UrlElicitation | PermissionRequest
        if question.asks == "form" and known and known.form is not None:
            request = FormElicitation(**where, requested_schema=make_schema(question.fields))
        elif question.asks == "page" and known and known.url is not None:
            request = UrlElicitation(**where, elicitation_id=question.id, url=question.url)
        elif question.fields:
            return Answer(
                question.id, question.digest, False, unanswered="the client can't show forms of servers"
            )
        else:
            return await self._offer_two(question)
        answer = await self._peer.ask("elicitation/create", request, ElicitationResponse)
        if isinstance(answer, Err) or answer.action not in ("accept", "decline"):
            silent = "the client closed the question without an answer"
            return Answer(question.id, question.digest, False, unanswered=silent)
        agreed = answer.action == "accept"
        content = {k: v for k, v in (answer.content or {}).items() if v is not None} if agreed else {}
        return Answer(question.id, question.digest, agreed, content=content)

    async def _offer_two(self, question: Question) -> Answer:
        request = PermissionRequest(
            session_id=question.session_id,
            tool_call=CallDetails(
                tool_call_id=question.call_id or question.id,
                title=fit_line(f"{question.agent} asks: {question.url or question.text}", _MAX_TITLE),
                kind="other",
                status="pending",
                content=(show_text("\n".join(filter(None, (question.text, question.url, question.adds)))),),
            ),
            options=(
                PermissionOption("once", "I open the page" if question.url else "Yes", "allow_once"),
                PermissionOption("no", "Decline", "reject_once"),
            ),
        )
        answer = await self._peer.ask("session/request_permission", request, PermissionResponse)
        if isinstance(answer, Err) or not isinstance(answer.outcome, Selected):
            silent = "the client closed the question without an answer"
            return Answer(question.id, question.digest, False, unanswered=silent)
        return Answer(question.id, question.digest, answer.outcome.option_id == "once")

    def _describe(self, question: Question) -> CallDetails:
        narrator, workspace = self.narrator, str(self.workspace)
        found = narrator.find_call(question.call_id) if narrator else None
        tool, args = found or (question.tool, None)
        worker = narrator.name_worker(question.agent_id) if narrator else ""
        title = make_title(tool, args) if args is not None else fit_line(question.text, 200)
        content: list[Content | Diff] = []
        path = args.get("path") if isinstance(args, dict) else None
        if find_row(tool).shown == "diff" and isinstance(path, str):
            diff = make_diff(make_absolute(workspace, path), tool, args, self._read(path))
            content += [diff] if diff and _is_readable(diff) else []
        facts = [question.text, question.adds and f"Effect: {question.adds}", f"Why: {question.reason}"]
        content.append(show_text("\n".join(filter(None, facts))))
        if question.preview and not isinstance(content[0], Diff):
            content.append(show_text(question.preview))
            if question.hidden_lines:
                content.append(show_text(f"preview lines not shown: {question.hidden_lines:,}"))
        return CallDetails(
            tool_call_id=question.call_id or question.id,
            title=f"{worker}: {title}" if worker else title,
            name=tool,
            kind=find_row(tool).kind,
            status="pending",
            content=tuple(content),
            locations=find_locations(workspace, tool, args),
            raw_input=args,
            meta=narrator.describe(question.agent_id) if narrator else None,
        )

    def _read(self, path: str) -> str | None:
        """Returns what the file holds now; None: there is none, or nothing that could be shown."""
        if self.files is None:
            return None
        data, offset = b"", 0
        try:
            while True:
                part = self.files.read(path, offset)
                data += part.data
                if part.next is None or len(data) > 1 << 20:
                    return data.decode("utf-8", "surrogateescape")
                offset = part.next
        except PlanckError:
            return None


def make_schema(fields: Sequence[FormField]) -> dict[str, Any]:
    """Returns a form as the protocol has it: what a server wrote is not passed on as it is."""
    required = [field.name for field in fields if field.required]
    return {
        "type": "object",
        "properties": {field.name: _make_property(field) for field in fields},
        **({"required": required} if required else {}),
    }


def _make_property(field: FormField) -> dict[str, Any]:
    types = {"text": "string", "choice": "string", "choices": "array"}
    made: dict[str, Any] = {"type": types.get(field.kind, field.kind), "title": field.label}
    options = [{"const": choice.value, "title": choice.label} for choice in field.choices]
    if field.kind == "choice":
        made["oneOf"] = options
    elif field.kind == "choices":
        made["items"] = {"anyOf": options}
    ends = {"text": ("minLength", "maxLength"), "choices": ("minItems", "maxItems")}
    for key, bound in zip(
        ends.get(field.kind, ("minimum", "maximum")), (field.least, field.most), strict=True
    ):
        if bound is not None:
            made[key] = bound
    more = {"description": field.about, "format": field.format, "default": field.default}
    return made | {key: value for key, value in more.items() if value not in ("", None)}


def _is_readable(diff: Diff) -> bool:
    """Whether an editor shows it as it is.

    Each splits lines by rules of its own, and draws nothing for what is invisible: then ours is shown.
    """
    texts = [text for text in (diff.old_text, diff.new_text) if text]
    if all(0 < text.count("\n") == text.count("\r\n") for text in texts):
        texts = [text.replace("\r\n", "\n") for text in texts]
    return all(text == spell_out(text) for text in texts)


def list_options(question: Question) -> tuple[PermissionOption, ...]:
    """Offers once, this session, from now on, no; the middle two where there is a rule that they would be."""
    lasting: tuple[PermissionOption, ...] = ()
    if question.rule:
        rule = fit_line(question.rule, _MAX_RULE)
        lasting = (
            PermissionOption("session", f"Allow for this session: {rule}", "allow_always"),
            PermissionOption("rule", f"Always allow in this project: {rule}", "allow_always"),
        )
    once = PermissionOption("once", "Allow once", "allow_once")
    return (once, *lasting, PermissionOption("no", "Reject", "reject_once"))
