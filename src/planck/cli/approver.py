"""Questions of the agents to the person at the terminal; Enter alone is no answer."""

import asyncio
import os

from planck.cli.terminal import Terminal
from planck.records.approval import Answer, Question, Scope

_ANSWERS = {
    "y": (True, Scope.ONCE),
    "yes": (True, Scope.ONCE),
    "s": (True, Scope.SESSION),
    "r": (True, Scope.RULE),
    "n": (False, Scope.ONCE),
    "no": (False, Scope.ONCE),
}


class TerminalApprover:
    """Shows a question and waits for a line; who owns the input hands lines to `take`, or it reads itself."""

    def __init__(self, *, reads: bool = True) -> None:
        self._reads = reads
        self._terminal: Terminal | None = None
        self._lines: asyncio.Queue[str | None] | None = None
        self._typed = b""

    @property
    def waiting(self) -> bool:
        return self._lines is not None

    def attach(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def take(self, line: str | None) -> None:
        """A line for the question that waits; None: the input is over, so the answer is no."""
        if self._lines is not None:
            self._lines.put_nowait(line)

    async def decide(self, question: Question) -> Answer:
        terminal = self._terminal = self._terminal or Terminal()
        self._lines = asyncio.Queue()  # holds what one person types at one question
        live, terminal.live = terminal.live, False
        self._begin_reading()
        try:
            terminal.line(_describe(question), wrap=True)
            while True:
                terminal.line(_prompt(question), "bold", wrap=True)
                line = await self._lines.get()
                if line is None:
                    return Answer(question.id, question.digest, False)
                known = _ANSWERS.get(line.strip().lower())
                if known is not None and (question.rule or known[1] is Scope.ONCE):
                    return Answer(question.id, question.digest, *known)
                terminal.line(
                    f"{line.strip()!r} is no answer" if line.strip() else "Enter alone is no answer"
                )
        finally:
            self._end_reading()
            self._lines = None
            terminal.live = live

    def _begin_reading(self) -> None:
        if not self._reads:
            return
        import termios

        try:
            termios.tcflush(0, termios.TCIFLUSH)  # what was typed before the question is no answer to it
        except termios.error:
            pass
        self._typed = b""
        asyncio.get_running_loop().add_reader(0, self._read_typed)

    def _end_reading(self) -> None:
        if self._reads:
            asyncio.get_running_loop().remove_reader(0)

    def _read_typed(self) -> None:
        try:
            chunk = os.read(0, 4096)
        except OSError:
            chunk = b""
        if not chunk:
            self._end_reading()
            self.take(None)
            return
        *lines, self._typed = (self._typed + chunk).split(b"\n")
        for line in lines:
            self.take(line.decode(errors="replace"))


def _describe(question: Question) -> str:
    call = "\n".join(f"    {line}" for line in question.text.split("\n"))
    return (
        f"{question.agent} asks for {question.tool}:\n{call}\n"
        f"  what it adds: {question.adds}\n  why it asks:  {question.reason}"
    )


def _prompt(question: Question) -> str:
    more = f" · s: in this session, {question.rule} · r: always, as a rule of yours" if question.rule else ""
    return f"  y: yes, once{more} · n: no"
