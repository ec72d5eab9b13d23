"""Questions of the agents to the person at the terminal; Enter alone is no answer, and no paste is one."""

import asyncio
import json
import os
from collections.abc import Callable

from planck.cli.ask.typed_line import PasteDetector, TypedLine, forget_typed, has_unread
from planck.cli.tell.terminal import Terminal
from planck.headless import revise_rule
from planck.records.approval import Answer, Question, Scope
from planck.records.outcome import Err

_ANSWERS = {
    "y": (True, Scope.ONCE),
    "yes": (True, Scope.ONCE),
    "s": (True, Scope.SESSION),
    "r": (True, Scope.RULE),
    "a": (True, Scope.RULE),
    "always": (True, Scope.RULE),
    "\x1b": (False, Scope.ONCE),  # Esc
    "n": (False, Scope.ONCE),
    "no": (False, Scope.ONCE),
}
_QUIET = 0.2
"""Seconds without a line after which a burst is over: a large paste comes in pieces."""


class TerminalApprover:
    """Shows a question and waits for a line; who owns the input hands lines to `take`, or it reads itself."""

    def __init__(self, *, reads: bool = True) -> None:
        self._reads = reads
        self._terminal: Terminal | None = None
        self._lines: asyncio.Queue[TypedLine | None] | None = None
        self._typed = b""
        self._pastes = PasteDetector()
        self._asked = 0
        self._turn = asyncio.Lock()
        self._mark: Callable[[bool], int] = self._flush_input
        self._approve: Callable[[str], None] = lambda call_id: None

    def attach(
        self,
        terminal: Terminal,
        mark: Callable[[bool], int] | None = None,
        approve: Callable[[str], None] | None = None,
    ) -> None:
        """`mark` is told when a question is on the screen: whoever reads forgets what was typed before.

        Its argument says that no paste is on its way any more; what it returns, lines of this question carry.
        `approve` is told of a call whose whole diff was on the screen for a yes.
        """
        self._terminal = terminal
        self._mark = mark or self._mark
        self._approve = approve or self._approve

    def is_for(self, line: TypedLine | None) -> bool:
        """Whether a line is for the question that waits, rather than begun before that was seen."""
        return self._lines is not None and (line is None or line.mark == self._asked)

    def take(self, line: TypedLine | None) -> None:
        """A line for the question that waits; None: the input is over, so the answer is no."""
        if self._lines is not None:
            self._lines.put_nowait(line)

    async def decide(self, question: Question) -> Answer:
        async with self._turn:  # one person reads one question at a time
            return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        terminal = self._terminal = self._terminal or Terminal()
        answer = self._answer if question.asks == "permission" else self._answer_server
        with terminal.still(), terminal.holding():
            terminal.line(_call_text(question), whole=True)
            terminal.line(_reasons(question), wrap=True)
            # The question is on the screen, its choices are not: what was typed until now answers nothing.
            self._lines = asyncio.Queue()  # holds what one person types at one question
            self._asked = self._mark(False)
            self._begin_reading(terminal)
            try:
                answered = await answer(question, terminal, self._lines)
            finally:
                self._end_reading(terminal)
                self._lines = None
            # Before what was held is told: the end of this call may be in it.
            if answered.allow and not question.hidden_lines:
                self._approve(question.call_id)
            return answered

    async def _answer(
        self, question: Question, terminal: Terminal, lines: "asyncio.Queue[TypedLine | None]"
    ) -> Answer:
        original = question
        while True:
            terminal.line(_choices(question), "bold", wrap=True)
            typed = await lines.get()
            if typed is None:
                closed = "the terminal was closed before anybody answered"
                return Answer(question.id, question.digest, False, unanswered=closed)
            if not typed.by_hand:
                await self._wait_for_quiet(lines)
                terminal.line(
                    "\n  Pasted text and multiple lines do not count as an answer. Type your answer."
                )
                continue
            line = typed.text.strip()
            word, _, rest = line.partition(" ")
            word, rest = word.lower().rstrip(",:"), rest.strip()
            if word in ("n", "no") or (word == "e" and rest):
                return Answer(question.id, question.digest, False, reason=rest)
            known = _ANSWERS.get(line.lower())
            if known is not None and (question.rule or known[1] is Scope.ONCE):
                allow, scope = known
                return Answer(question.id, question.digest, allow, scope, rule=question.rule)
            if word == "e":
                terminal.line("  Write what to change. Enter alone goes back.", wrap=True)
                if (said := await lines.get()) is None or (said.by_hand and said.text.strip()):
                    lines.put_nowait(said and said._replace(text=f"e {said.text}"))
            elif line.lower() == "o":
                terminal.line(_call_text(question), whole=True)
                terminal.line(_reasons(question), wrap=True)
            elif word == "w" and (original.wider or (rest and original.rule.startswith("bash "))):
                question = self._revise(original, question, rest, terminal)
            else:
                terminal.line(f"  {line!r} is not an answer." if line else "  Enter alone is not an answer.")

    async def _answer_server(
        self, question: Question, terminal: Terminal, lines: "asyncio.Queue[TypedLine | None]"
    ) -> Answer:
        """A page is opened by the person, or not; a form is filled in one line at a time."""
        from planck.cli.ask.form import FormFill  # few servers ask

        agreed = False
        fill = FormFill(question.fields)
        while True:
            if not agreed:
                yes = "the page is open, or will be" if question.url else "fill in"
                terminal.line(f"  y: {yes} · n: decline", "bold", wrap=True)
            elif fill.field is None:
                return Answer(question.id, question.digest, True, content=fill.content)
            else:
                terminal.line(f"  {fill.ask()}", "bold", wrap=True)
            typed = await lines.get()
            if typed is None:
                closed = "the terminal was closed before anybody answered"
                return Answer(question.id, question.digest, False, unanswered=closed)
            if not typed.by_hand and not agreed:  # values may be pasted, a yes may not
                await self._wait_for_quiet(lines)
                terminal.line("  Pasted text does not count as an answer. Type your answer.")
            elif agreed:
                if problem := fill.take(typed.text):
                    terminal.line(f"  {problem}", wrap=True)
            elif (word := typed.text.strip().lower()) in ("n", "no", "\x1b"):
                return Answer(question.id, question.digest, False)
            else:
                agreed = word in ("y", "yes")
                if agreed and not question.fields:
                    return Answer(question.id, question.digest, True)

    def _revise(self, original: Question, question: Question, text: str, terminal: Terminal) -> Question:
        """`w`: the question with the wider rule, or the first again; `w git commit *`: with that rule.

        It stays as it was where the rule can't be had.
        """
        if not text and question.rule != original.rule:
            return original
        text = text or _command(original.wider)
        revised = revise_rule(original, f"bash {text}")
        if isinstance(revised, Err):
            terminal.line(f"  {revised.message}", wrap=True)
            return question
        return revised

    async def _wait_for_quiet(self, lines: "asyncio.Queue[TypedLine | None]") -> None:
        try:
            while True:
                async with asyncio.timeout(_QUIET):
                    if (line := await lines.get()) is None:
                        lines.put_nowait(line)
                        return
        except TimeoutError:
            self._asked = self._mark(True)

    def _flush_input(self, quiet: bool) -> int:
        forget_typed()
        self._typed, self._pastes = b"", PasteDetector()
        return 0

    def _begin_reading(self, terminal: Terminal) -> None:
        if self._reads:
            terminal.announce_pastes(on=True)
            asyncio.get_running_loop().add_reader(0, self._read_typed)

    def _end_reading(self, terminal: Terminal) -> None:
        if self._reads:
            asyncio.get_running_loop().remove_reader(0)
            terminal.announce_pastes(on=False)

    def _read_typed(self) -> None:
        try:
            chunk = os.read(0, 4096)
        except OSError:
            chunk = b""
        if not chunk:
            asyncio.get_running_loop().remove_reader(0)
            self.take(None)
            return
        more = has_unread()
        *lines, self._typed = (self._typed + chunk).split(b"\n")
        for number, line in enumerate(lines, 1):
            text = line.decode(errors="replace")
            self.take(self._pastes.judge(text, more=more or number < len(lines) or bool(self._typed)))


def _call_text(question: Question) -> str:
    """The whole call: a change of a file as its diff; where lines are left out of that, the call below it."""
    from planck.cli.ask.box import count_hidden  # few are asked by lines
    from planck.cli.tell.diffs import draw_diff, find_diff
    from planck.cli.tell.styled import as_text

    if question.asks != "permission":
        from planck.cli.ask.form import list_rows

        rows = [question.text, *list_rows(question)]
        return "\n".join([f"{question.agent} asks you:", *(f"    {row}" for row in _split(rows))])
    shown = question.text
    if diff := find_diff(question.preview):
        rows = [as_text(line) for line in draw_diff(diff, len(diff), "")]
        shown = "\n".join([*diff.split("\n", 2)[:2], *rows])
    if diff and question.hidden_lines:
        shown = f"{shown}\n[{count_hidden(question.hidden_lines)}; the whole call:]\n{question.text}"
    if question.preview_failed:
        shown = f"{shown}\n{question.preview}"
    call = "\n".join(f"    {line}" for line in shown.split("\n"))
    return f"{question.agent} asks to use {question.tool}:\n{call}"


def _split(texts: list[str]) -> list[str]:
    return [row for text in texts for row in text.split("\n")]


def _reasons(question: Question) -> str:
    return f"  effect: {question.adds}\n  reason: {question.reason}"


def _choices(question: Question) -> str:
    yes = "add the folder" if question.folder else "allow once"
    lines = [f"  y: {yes} · n: deny · e TEXT: deny and say what to change · o: show all"]
    if question.rule:
        exactly = " exactly" if json.loads(question.written).get("exact") else ""
        lines += [
            f"  s: for this session and this agent, allow{exactly}: {question.rule}",
            f"  a: always allow{exactly} in this project: {question.rule} (saved in {question.place})",
        ]
        if question.wider and question.rule == question.wider:
            lines.append("  w: back to the exact command · w RULE: change the rule to RULE")
        elif question.wider:
            wider = _command(question.wider)
            lines.append(f"  w: widen the rule to {wider} before you answer · w RULE: change it to RULE")
    return "\n".join(lines)


def _command(rule: str) -> str:
    return rule.removeprefix("bash ")
