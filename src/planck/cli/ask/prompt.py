"""Questions of the agents to the person at the screen: each in a box, answered by one key, in any order."""

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from planck.cli.ask.box import Box, draw_box, draw_whole, list_keys, name_call
from planck.cli.screen.key_map import name_key
from planck.cli.screen.screen import Screen
from planck.cli.tell.blocks import Shows, Told, say, say_error
from planck.cli.tell.styled import Line, cut
from planck.headless import Inbox
from planck.records.approval import Question, Scope
from planck.records.visible import count_columns, fit_line

if TYPE_CHECKING:
    from planck.cli.ask.form import FormFill

_REFUSE = frozenset({"esc", "c-d"})
_STOP = "c-c"
_LEAST = 8
"""Columns for who asks, however narrow the terminal."""
_SCOPES = {"y": Scope.ONCE, "s": Scope.SESSION, "a": Scope.RULE}
_SAID = {"y": "Allowed once", "s": "Allowed for this session", "a": "Always allowed in this project"}


class ApprovalPrompt:
    """Shows what the inbox holds, one at a time; what is not seen on the screen is not answered."""

    def __init__(
        self,
        inbox: Inbox,
        view: Shows,
        screen: Screen,
        stop: Callable[[], None],
        approve: Callable[[str], None] = lambda call_id: None,
    ) -> None:
        """`stop` ends the turn; `approve` is told of a call whose whole diff was on the screen for a yes."""
        self._inbox = inbox
        self._view = view
        self._screen = screen
        self._stop = stop
        self._approve = approve
        self._at = 0
        self._count = 0
        """Of the questions when keys were asked for: the row says what they mean."""
        self._shown = ""
        """The question whose box is on the screen."""
        self._seen: set[str] = set()
        """Questions of which everything was on the screen that a yes needs."""
        self._shown_whole: set[str] = set()
        """Questions of which nothing was left out."""
        self._wider: set[str] = set()
        self._pushed = 0
        self._again = asyncio.Event()
        self._reason_of: Question | None = None
        self._fill: FormFill | None = None
        """The values that are written, where that question is a form."""
        self._several: set[str] = set()
        """Agents that asked while another did."""
        self._own = False
        self._one = asyncio.Lock()
        """Held while keys are asked for: one question at a time."""
        self._offer = ""

    @property
    def _reason_for(self) -> Question | None:
        """The question that the input line is for: what to change, or the values of a form."""
        return self._reason_of

    @_reason_for.setter
    def _reason_for(self, question: Question | None) -> None:
        before, self._reason_of = self._reason_of, question
        self._screen.private = question is not None
        if before is None and question is not None:
            self._screen.set_aside()
        elif before is not None and question is None:
            self._screen.bring_back()

    async def confirm(self, offer: str, keys: Collection[str]) -> str:
        """One of the keys, for something that no agent asks; what one asks meanwhile goes first."""
        self._offer = offer
        loop = asyncio.get_running_loop()
        try:
            while True:
                seen = self._inbox.changes
                waiting = {loop.create_task(self._inbox.wait_for_change(seen))}
                pressed = None if self.open else loop.create_task(self._ask_for(keys))
                try:
                    tasks = waiting | ({pressed} if pressed else set())
                    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.wait(tasks)
                if pressed and not pressed.cancelled():
                    return pressed.result()
        finally:
            self._offer = ""
            self._screen.touch()

    async def _ask_for(self, keys: Collection[str]) -> str:
        async with self._one:
            return await self._screen.ask(keys)

    @property
    def open(self) -> tuple[Question, ...]:
        return self._inbox.pending()

    async def run(self) -> None:
        seen = -1
        while True:
            seen = await self._inbox.wait_for_change(seen)
            while self.open and await self._ask():
                seen = self._inbox.changes
            self._forget_change()

    def pushed(self, lines: int) -> None:
        """Other output came: a box that it pushed away is shown again."""
        if self._own or not self._shown:
            return
        self._pushed += lines
        if self._is_away():
            self._again.set()

    def _is_away(self) -> bool:
        """Whether what came since has pushed the box off the screen, or nearly."""
        return self._pushed > max(self._screen.height - 16, 4)

    def show_all(self) -> bool:
        """Shows the whole call while its change is written, where every letter is text; False: none is."""
        if self._reason_for not in self.open or self._reason_for is None:
            return False
        self._show_whole(self._reason_for, len(self.open))
        return True

    def refuse(self) -> None:
        """A no to the question that is shown, or would be."""
        pending = self.open
        if pending:
            self._reason_for = self._fill = None
            self._answer(pending[min(self._at, len(pending) - 1)], allow=False)

    def draw_row(self, width: int) -> Line | None:
        """The line that says, below the conversation, that somebody waits."""
        pending = self.open
        if not pending:
            return ((f"▲ {self._offer}", "yellow bold"),) if self._offer and self._screen.asking else None
        if self._reason_for and self._fill:
            ask, keys = f"▲ {self._fill.ask()}", ": Enter sends, Esc declines"
            keys = keys if count_columns(ask + keys) <= width else ""
            return cut(((ask + keys, "yellow bold"),), width)
        if self._reason_for:
            who = fit_line(_name_agent(self._reason_for), 40)
            ask = f"▲ Tell {who} what to change"
            show = name_key(self._screen.key_map, "output")
            keys = f": Enter sends, Esc denies{f', {show} shows it all' if show else ''}"
            if count_columns(ask + keys) > width:
                keys = ": Enter sends, Esc denies"
            if count_columns(ask + keys) > width:
                ask = "▲ Change"
            return ((ask + keys, "yellow bold"),)
        at = min(self._at, len(pending) - 1)
        count = min(self._count, len(pending))
        number = f"[{at + 1}/{count}] " if count > 1 else ""
        keys = f" · {' '.join(list_keys(pending[at]))}" if self._screen.asking else ""
        more = " · Tab next" if keys and count > 1 else ""
        who, what = fit_line(pending[at].agent, 40), fit_line(name_call(pending[at]), 60)
        asks, room = f"▲ {number}{who} asks: {what}", width - count_columns(keys + more)
        if count_columns(asks) > room:  # for whom it works stands in the box
            asks = f"▲ {number}{_name_agent(pending[at])} asks: {what}"
        # The keys first: that they count now is seen nowhere else.
        return ((f"{fit_line(asks, max(room, _LEAST))}{keys}{more}", "yellow bold"),)

    def take_reason(self, text: str) -> bool:
        """Whether a line was what to change about a call, rather than something to say."""
        question, self._reason_for = self._reason_for, None
        if question is None:
            return False
        if self._fill is not None:
            self._take_value(question, self._fill, text)
            return True
        self._answer(question, allow=False, reason=text)
        self._again.set()
        return True

    def _take_value(self, question: Question, fill: "FormFill", text: str) -> None:
        if problem := fill.take(text):
            self._screen.hint(problem)
        elif fill.field is None:
            self._fill = None
            self._answer(question, allow=True, content=fill.content)
            self._again.set()
            return
        self._reason_for = question
        self._screen.edit(text if problem else fill.draft)

    def _begin_form(self, question: Question) -> None:
        from planck.cli.ask.form import FormFill  # few servers ask

        self._reason_for, self._fill = question, FormFill(question.fields)
        self._screen.edit(self._fill.draft)

    async def _ask(self) -> bool:
        """Shows one question and waits for a key, an answer from elsewhere, or output that pushed it away."""
        pending = self.open
        self._at = min(self._at, len(pending) - 1)
        question = pending[self._at]
        self._again.clear()
        changes = self._inbox.changes
        self._count = len(pending)
        if len(ids := {one.agent_id for one in pending}) > 1:
            self._several |= ids
        self._forget_change()
        if self._shown != question.id or self._is_away():
            self._show(question, len(pending))
        keys = [*list_keys(question), *_REFUSE, _STOP]
        if len(pending) > 1:
            keys += ["tab", *(str(number) for number in range(1, min(len(pending), 9) + 1))]
        loop = asyncio.get_running_loop()
        pressed = loop.create_task(self._ask_for(["esc", _STOP] if self._reason_for else keys))
        others = {
            loop.create_task(self._inbox.wait_for_change(changes)),
            loop.create_task(self._wait_for_push()),
        }
        try:
            await asyncio.wait({pressed, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (pressed, *others):
                task.cancel()
            await asyncio.wait({pressed, *others})
        key = None if pressed.cancelled() else pressed.result()
        if key == "":
            return False  # nobody is there any more
        if key is not None and question in self.open:
            self._press(key, question, len(pending))
        return True

    def _forget_change(self) -> None:
        """What to change about a call that is gone is not sent to whichever asks next."""
        if self._reason_for and self._reason_for not in self.open:
            self._reason_for = self._fill = None
            self._screen.hint("That call no longer waits. Enter sends your text as a message instead.")

    async def _wait_for_push(self) -> int:
        await self._again.wait()
        return 0

    def _press(self, key: str, question: Question, count: int) -> None:
        if key == _STOP:
            self._reason_for = self._fill = None
            self._stop()
        elif key in _REFUSE or key == "n":
            self._reason_for = self._fill = None
            self._answer(question, allow=False)
        elif key == "e":
            self._reason_for = question
            self._screen.touch()
        elif key == "o":
            self._show_whole(question, count)
        elif key == "w":
            self._wider ^= {question.id}
            self._shown = ""
        elif key == "tab":
            self._at, self._shown = (self._at + 1) % count, ""
        elif key.isdecimal():
            self._at, self._shown = int(key) - 1, ""
        elif question.id not in self._seen:
            self._show_whole(question, count)
            self._screen.hint(f"This is the whole call. Press {key} again to approve it.")
        elif question.fields:
            self._begin_form(question)
        else:
            self._answer(question, allow=True, key=key)

    def _answer(
        self,
        question: Question,
        *,
        allow: bool,
        key: str = "y",
        reason: str = "",
        content: dict[str, Any] | None = None,
    ) -> None:
        rule = question.wider if question.id in self._wider else ""
        scope = _SCOPES[key] if allow else Scope.ONCE
        failure = self._inbox.answer(
            question.id, question.digest, allow, scope, reason, rule=rule, content=content
        )
        self._shown, self._at = "", 0
        if failure:
            say_error(self._view, failure, "yellow")
            return
        if allow and question.id in self._shown_whole:
            self._approve(question.call_id)
        if question.asks != "permission":
            say(
                self._view,
                f"  {'Answered' if allow else 'Declined'}: {fit_line(_name_agent(question), 80)}",
                "dim",
            )
        elif allow or not question.call_id:  # of a call that is denied, its end says so
            said, what = _SAID[key] if allow else "Denied", name_call(question)
            if allow and question.folder:
                said, what = "Added to this session", question.folder
            elif allow and key != "y":  # more than this call
                what = rule or question.rule
            # Several agents ask by turns, and what each does then comes between their questions.
            whose = f" ({fit_line(_name_agent(question), 40)})" if question.agent_id in self._several else ""
            say(self._view, f"  {said}: {fit_line(what, 80)}{whose}", "dim")

    def _show(self, question: Question, count: int) -> None:
        box: Box = draw_box(self._with_rule(question), self._screen.width, self._at + 1, count)
        if box.whole:
            self._seen.add(question.id)
        if box.uncut:
            self._shown_whole.add(question.id)
        self._print(box.lines)
        if self._shown != question.id:
            what = f"to use {question.tool}" if question.asks == "permission" else "you something"
            self._screen.notify(f"planck: {fit_line(_name_agent(question), 40)} asks {what}")
        self._shown, self._pushed = question.id, 0

    def _show_whole(self, question: Question, count: int) -> None:
        self._print(draw_whole(self._with_rule(question), self._screen.width, self._at + 1, count))
        self._seen.add(question.id)
        self._shown_whole.add(question.id)
        self._shown, self._pushed = question.id, 0

    def _with_rule(self, question: Question) -> Question:
        import msgspec

        if question.id not in self._wider:
            return question
        return msgspec.structs.replace(question, rule=question.wider)

    def _print(self, lines: "tuple[Line, ...] | list[Line]") -> None:
        self._own = True
        try:
            self._view.show(Told(((), *lines)))
        finally:
            self._own = False


def _name_agent(question: Question) -> str:
    """Who asks, without for whom it works."""
    return question.agent.partition(" (works for ")[0]
