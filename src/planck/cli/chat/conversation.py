"""`planck` on a terminal: finished blocks above, what goes on and the input below, questions in between."""

import argparse
import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Any

from planck.cli.ask.prompt import ApprovalPrompt
from planck.cli.chat.completers import make_completers
from planck.cli.chat.intent import keep_from_shell
from planck.cli.chat.pager import ChangeList, Page, Picker
from planck.cli.chat.rows import LiveRows, count_jobs
from planck.cli.chat.table import MEANINGS, MODES
from planck.cli.chat.talk import Talk
from planck.cli.screen.inputs import Closed, Input, Pressed, Submitted
from planck.cli.screen.key_map import ACTIONS, name_key, spell_key
from planck.cli.screen.screen import Screen
from planck.cli.screen.styled import paint
from planck.cli.tell.blocks import Answer, Block, Said, say
from planck.cli.tell.code import CodeRenderer
from planck.cli.tell.markdown import render_markdown, render_said
from planck.cli.tell.styled import INDENT, Line, cut, make_line, wrap_all, wrap_columns
from planck.cli.tell.team_rows import TeamRows
from planck.headless import Exit, Inbox, OpenSession, Planck, SessionEvent
from planck.records.visible import fit_line

_TICK = 0.5
"""Seconds from one look at the clock to the next, while somebody works: times are in whole seconds."""
_LOOK = 1.0
"""Seconds from one look at what a page shows to the next."""
_SHOWN_WHOLE = 20
"""Folded blocks that Ctrl+O shows, the newest first."""
_MODE_KEYS = tuple(mode for mode in MODES if mode != "full")
"""Shift+Tab goes through these: what asks nothing any more is a word to be typed."""


class Conversation:
    """The frontend of one talk: owns the screen, and the tasks that read it, tick and ask."""

    live = True

    def __init__(
        self, planck_: Planck, options: argparse.Namespace, session: OpenSession, inbox: Inbox, screen: Screen
    ) -> None:
        self._screen = screen
        self._colour = screen.color
        self._last: Block | None = None
        self._met = False
        """Whether a session was opened in it before."""
        self._code = CodeRenderer()
        self._lines: asyncio.Queue[Submitted] = asyncio.Queue()  # what one person enters
        self._acting: asyncio.Task[None] | None = None
        self._offering: asyncio.Task[None] | None = None
        """Waits for the key that accepts a plan."""
        self.talk: Talk = Talk(planck_, options, self, self)
        self._prompt = ApprovalPrompt(inbox, self, screen, self._stop, self._note_diff)
        self.talk.open(session)
        screen.completers += make_completers(self.talk)

    async def run(self, first: str) -> int:
        """Until the input ends, /exit, or Ctrl+C twice."""
        talk, loop = self.talk, asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, talk.leave, Exit.SIGTERM)
        tasks = {
            loop.create_task(work()) for work in (self._read, self._take_lines, self._tick, self._prompt.run)
        }
        talk.greet()
        tasks.add(loop.create_task(self._look_around()))
        leaving = loop.create_task(talk.leaving.wait())
        try:
            if talk.session.opened_at:
                await talk.show_past()
            if first:
                self._lines.put_nowait(Submitted(keep_from_shell(first)))
            await asyncio.wait({leaving, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            failed = [task for task in tasks if task.done() and not task.cancelled() and task.exception()]
            for task in failed:
                await task
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            ending: set[asyncio.Task[Any]] = {leaving, *tasks}
            ending |= {task for task in (self._acting, self._offering) if task}
            for one in ending:
                one.cancel()
            await asyncio.wait(ending)
            while not self._lines.empty():
                talk.queued.append((self._lines.get_nowait().text, ""))
            name, empty = talk.session.name, talk.is_empty
            await talk.aclose()
        if not empty:
            say(self, f"Session {name} saved. Resume with: planck -r {name}")
        return talk.code

    async def _look_around(self) -> None:
        """What is behind the first frame: a start waits for nothing."""
        await self._screen.shown()
        if not self.talk.session.opened_at:
            await self._hint_at_cut_off()
        await self.talk.list_prompts()
        await self.talk.leaving.wait()  # the others end the conversation when they end

    async def _hint_at_cut_off(self) -> None:
        found = await asyncio.to_thread(self.talk.planck.archive.find_cut_off)
        if found:
            about = f" ({fit_line(found.first_prompt, 40)})" if found.first_prompt else ""
            words = f"Session {found.name}{about} was interrupted. Resume it with /resume {found.name}."
            say(self, words, "yellow")

    # What a frontend does.

    @property
    def width(self) -> int:
        return self._screen.width

    def show(self, block: Block) -> None:
        lines = self._draw(block)
        # An answer stands by itself; tools stand below each other, and so do lines of one code block.
        apart = isinstance(block, Answer) or isinstance(self._last, Answer)
        if apart and not (isinstance(block, Answer) and block.follows) and lines[:1] != [""]:
            lines = ["", *lines]
        self._last = block
        self._screen.print(lines)
        self._prompt.pushed(len(lines))

    async def page(
        self,
        title: str,
        lines: "Sequence[Line] | Callable[[], Sequence[Line]]",
        *,
        at_end: bool = False,
        commands: bool = False,
        read: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`read`: what the lines come from, once no key goes to the input any more."""
        async with self._screen.overlay() as overlay:
            if read:
                await read()
            page, drawn_for = Page(title, (), commands=commands), 0
            while not page.left:
                width, rows = overlay.size
                if callable(lines) or width != drawn_for:
                    wrapped = [*wrap_all(lines() if callable(lines) else lines, width, INDENT)]
                    page.replace(wrapped, max(rows - 2, 1))
                if at_end and not drawn_for:
                    page.press("end", max(rows - 2, 1))
                drawn_for = width
                asked = len(self._prompt.open)  # it is answered below this page, where nobody looks
                approvals = f"▲ {asked} {'approval' if asked == 1 else 'approvals'} · " if asked else ""
                page.title = approvals + title
                overlay.show(page.view(width, rows))
                try:
                    async with asyncio.timeout(_LOOK):
                        page.press(await overlay.key(), max(rows - 2, 1))
                except TimeoutError:
                    continue
            if page.typed:
                overlay.give_back(page.typed)

    async def choose(self, title: str, rows: Sequence[str]) -> int | None:
        picker = Picker(title, rows)
        async with self._screen.overlay() as overlay:
            while not picker.left:
                width, height = overlay.size
                overlay.show(picker.view(width, height))
                picker.press(await overlay.key(), max(height - 3, 1))
        return picker.chosen

    async def confirm(self, offer: str, keys: Sequence[str]) -> str:
        return await self._prompt.confirm(offer, keys)

    async def read_hidden(self, prompt: str) -> str | None:
        from planck.cli.ask.typed_line import read_secret

        with self._screen.lent():
            return read_secret(prompt)

    async def browse(self, changes: ChangeList, act: Callable[[ChangeList], Awaitable[ChangeList]]) -> None:
        async with self._screen.overlay() as overlay:  # one for all of it: no key goes to the input meanwhile
            while not changes.left or changes.key:
                if changes.key:
                    changes = await act(changes)
                width, height = overlay.size
                overlay.show(changes.view(width, height))
                changes.press(await overlay.key(), height)

    def edit(self, text: str) -> None:
        self._screen.edit(text)

    def give_back(self, text: str) -> None:
        self._screen.edit("\n".join([text, self._screen.draft]).strip("\n"))

    def clear(self) -> None:
        self._screen.print([""] * 100)

    def colour(self, on: bool | None) -> None:
        self._screen.color = self._colour if on is None else on
        self._screen.touch()

    def copy(self, text: str) -> bool:
        """By the terminal itself, which also reaches over ssh; one that does not know how ignores it."""
        return self._screen.copy(text)

    # What happens.

    def _draw(self, block: Block) -> list[str]:
        width = self._screen.width
        if isinstance(block, Answer) and block.code is not None:
            return self._code.draw(block, width, color=self._screen.color)
        if isinstance(block, Answer):
            text = render_markdown(block.markdown, width, color=self._screen.color)
            return text.removesuffix("\n").split("\n")
        if isinstance(block, Said):
            head = paint(block.prefix, width, color=self._screen.color)
            return render_said(block, head, width, color=self._screen.color)
        cuts = (cut(line, width) for line in block.lines)
        lines = wrap_all(block.lines, width, INDENT) if block.wraps else cuts
        return [paint(line, width, color=self._screen.color) for line in lines]

    def follow(self, event: SessionEvent) -> None:
        if event.type == "mode_changed":
            mode = event.data["mode"]
            self._screen.hint(MEANINGS.get(mode, ""))  # the mode itself stands before it
        self._screen.touch()

    def opened(self, session: OpenSession) -> None:
        key_map = self._screen.key_map
        self._team = TeamRows(self.talk.live_board, name_key(key_map, "interrupt"), name_key(key_map, "keys"))
        folder, place = self.talk.planck.home / "drafts", str(self.talk.planck.workspace)
        if self._screen.keep_draft(folder, place, session.id, others=not (self._met or session.opened_at)):
            self._screen.hint("The message that you had not sent is in the input again")
        self._met = True
        self._screen.show(LiveRows(self.talk, self._prompt, self._team, key_map))

    def changed(self) -> None:
        busy = self.talk.busy
        if self._screen.busy and not busy and not self.talk.queued:
            self._screen.notify(f"planck: {self.talk.session.name} has finished")
        self._screen.busy = self._team.busy = busy
        self._screen.queued = self._team.queued = len(self.talk.queued)
        self._screen.touch()

    def planned(self) -> None:
        self._withdraw_plan()
        self._offering = asyncio.get_running_loop().create_task(self._offer_plan())

    def _withdraw_plan(self) -> None:
        if self._offering:
            self._offering.cancel()
            self._offering = None

    async def _offer_plan(self) -> None:
        """One key accepts it; what is written instead is a word against it, and goes the way of any other."""
        await self.talk.wait()
        self._screen.notify(f"planck: {self.talk.session.name} has a plan ready")
        key = await self._prompt.confirm(
            "Plan ready: press y to accept it, or write what to change", ("y", "n", "esc")
        )
        if key == "y":
            self._lines.put_nowait(Submitted("/plan accept"))
        elif key:
            self._screen.hint("Plan not accepted: write what to change")

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            if self.talk.busy or self._team.jobs != count_jobs(self.talk):
                self._screen.touch()

    async def _read(self) -> None:
        while True:
            happened: Input = await self._screen.next()
            match happened:
                case Submitted():
                    self._withdraw_plan()
                    if not self._prompt.take_reason(happened.text):
                        self._lines.put_nowait(happened)
                case Pressed():
                    await self._press(happened.action)
                case Closed():
                    self.talk.leave(Exit.SIGTERM)
                    return

    async def _take_lines(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            line = await self._lines.get()
            self._acting = loop.create_task(self.talk.take(line.text, queue=line.queue))
            await asyncio.wait({self._acting})
            if not self._acting.cancelled() and (failure := self._acting.exception()):
                raise failure
            self.changed()

    async def _press(self, action: str) -> None:
        talk = self.talk
        match action:
            case "interrupt" if self._prompt.open:
                self._prompt.refuse()  # typed before the question could take it
            case "interrupt" | "stop":
                self._stop()
            case "cleared" if talk.rewind_to:
                talk.rewind_to = None
                self._screen.hint("Rewind cancelled")
            case "exit" if unfinished := talk.list_unfinished():
                again = name_key(self._screen.key_map, "exit")
                self._screen.hint(f"Press {again} again to exit; it ends {', '.join(unfinished)}", again=True)
            case "exit" | "leave":
                talk.leave(talk.code)
            case "quit":
                talk.leave(Exit.SIGINT)
            case "rewind":
                self._lines.put_nowait(Submitted("/rewind"))
            case "queued" if talk.queued:
                text, agent = talk.queued.pop()
                self._screen.edit(f"@{agent} {text}" if agent else text)
                key_map = self._screen.key_map
                queue, clear = name_key(key_map, "queue"), name_key(key_map, "clear")
                self._screen.hint(f"No longer queued: {queue} queues it again, {clear} removes it")
                self.changed()
            case "mode":
                await self._next_mode()
            case "output" if not self._prompt.show_all():
                await self._show_folded()
            case "team":
                self._lines.put_nowait(Submitted("/team"))
            case "keys":
                await self._show_keys()

    def _stop(self) -> None:
        """Ends what goes on; a question that is open ends with the call that asks it."""
        if self._acting and not self._acting.done():
            self._acting.cancel()
        self.talk.interrupt()
        self._give_back_queued()
        self._screen.hint("Interrupted")

    def _note_diff(self, call_id: str) -> None:
        self.talk.teller.seen_diffs.add(call_id)

    def _give_back_queued(self) -> None:
        """What waited for the end of a turn that was stopped is the user's again."""
        waiting = [f"@{agent} {text}" if agent else text for text, agent in self.talk.queued]
        if waiting:
            self.talk.queued.clear()
            self.give_back("\n".join(waiting))
            self.changed()

    async def _show_keys(self) -> None:
        table: dict[str, list[str]] = {}
        for key, action in self._screen.key_map.keys.items():
            table.setdefault(action, []).append(spell_key(key))
        rows = [(", ".join(table.get(action, ["not set"])), about) for action, (_, about) in ACTIONS.items()]
        rows += [
            ("y s a n", "Approval: allow once, for this session, always; deny"),
            ("e o w", "Approval: say what to change, show all, widen the rule"),
        ]
        wide = max(len(keys) for keys, _ in rows)

        def draw() -> list[Line]:
            if wide + 4 > self.width // 2:  # each below its keys, rather than some
                pairs = ((f"  {keys}", f"{INDENT}{about}") for keys, about in rows)
                return [*wrap_all(map(make_line, chain.from_iterable(pairs)), self.width, INDENT)]
            lines = (make_line(f"  {keys:<{wide}}  {about}") for keys, about in rows)
            return [*wrap_columns(lines, self.width)]

        await self.page("Keys (/help lists the commands)", draw)

    async def _next_mode(self) -> None:
        at = _MODE_KEYS.index(self.talk.mode) if self.talk.mode in _MODE_KEYS else -1
        await self.talk.take(f"/mode {_MODE_KEYS[(at + 1) % len(_MODE_KEYS)]}")

    async def _show_folded(self) -> None:
        # A start waits for nothing that it does not need.
        from planck.cli.chat.jobs import draw_command, unfold

        watched = dict.fromkeys(self.talk.list_running())
        folded = list(self.talk.teller.folded)[::-1][:_SHOWN_WHOLE]
        if not watched and not folded:
            self._screen.hint("No folded output yet")
            return
        lines: list[Line] = []

        async def read() -> None:
            told = await unfold(self.talk, folded)
            lines.extend(chain.from_iterable(told[::-1] if watched else told))

        def draw() -> list[Line]:
            """What was folded, and at the end what commands have put out, also once they have ended."""
            watched.update(dict.fromkeys(self.talk.list_running()))
            return [*lines, *chain.from_iterable(map(draw_command, watched))]

        if watched:
            await self.page("Output, newest last", draw, at_end=True, read=read)
        else:
            await self.page("Output, newest first", lines, read=read)
