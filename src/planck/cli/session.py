"""A session from a command line: which one, with what options, what is said to it, and its events."""

import argparse
import asyncio
import os
import re
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from planck.cli.errors import UsageError
from planck.cli.parser import PICK
from planck.cli.place import find_place
from planck.cli.streams import complain
from planck.headless import OpenSession, Planck, SessionEvent
from planck.records.messages import Text, UserMessage
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RunOptions
from planck.records.visible import make_plain

if TYPE_CHECKING:
    from planck.cli.ask.approver import TerminalApprover
    from planck.headless import AnswerSchema, Inbox, Trust

_COMMAND = r"/([A-Za-z0-9][\w.:-]*)(?:\s+(.*))?"


def open_planck(
    options: argparse.Namespace,
    approver: "TerminalApprover | Inbox | None" = None,
    trust: "Trust | None" = None,
) -> Planck:
    """`trust`: what the user said of the folder, where somebody has asked."""
    planck_ = Planck(
        workspace=find_place(options),
        trust=trust or options.trust,
        approver=approver,
        add_dirs=options.add_dir,
        flags=_read_flags(options),
    )
    asked = trust.state.notice if trust else ""  # the user has just read all that it names
    for notice in (*planck_.list_notices(options.permission_mode), *planck_.find_unkept(options.team)):
        if notice != asked:
            complain(make_plain(notice))
    if asked:
        complain("This folder's own files run nothing. /trust asks again.")
    return planck_


def _read_flags(options: argparse.Namespace) -> dict[str, Any]:
    """Returns what stands above every file of the configuration."""
    if not options.mcp_config:
        return {}
    from planck.headless import read_servers

    servers: dict[str, Any] = {}
    for text in options.mcp_config:
        servers |= read_servers(text)
    return {"mcpServers": servers}


def choose_session(planck_: Planck, options: argparse.Namespace) -> None:
    """Makes `-c`, and `-r` without a name, the id of the session that is meant."""
    if options.newest:
        options.resume = _find_newest(planck_)
    elif options.resume == PICK:
        from planck.cli.ask.pick import pick_session

        options.resume = pick_session(planck_.archive)


def _find_newest(planck_: Planck) -> str:
    try:
        return planck_.archive.newest_id()
    except PlanckError as failure:
        if failure.err.kind is not ErrorKind.NOT_FOUND:
            raise
        text = "There is no session in this workspace yet. Leave out -c to start one."
        raise UsageError(ErrorKind.NOT_FOUND, text) from None


async def open_session(planck_: Planck, options: argparse.Namespace) -> OpenSession:
    resumed = options.resume
    if resumed and getattr(options, "no_session", False):
        raise UsageError(
            ErrorKind.INVALID_ARGS,
            "--no-session cannot be used with -c or -r, because a resumed session is always saved. "
            "Remove one of the options.",
        )
    if options.fork and not resumed:
        raise UsageError(ErrorKind.INVALID_ARGS, "--fork needs a session to copy. Add -c or -r ID|NAME.")
    if resumed and (options.team or options.agent or (options.name and not options.fork)):
        raise UsageError(
            ErrorKind.INVALID_ARGS,
            "--team, --agent and --name apply to a new session only. Remove them, or remove -c or -r.",
        )
    if options.team and options.agent:
        raise UsageError(
            ErrorKind.INVALID_ARGS,
            "--team cannot be used with --agent, because a team has its own orchestrator. "
            "Remove one of the options.",
        )
    if options.fork:
        if options.model:
            await planck_.model(options.model)  # a mistake is told before there is a copy
        resumed = (await planck_.archive.fork(resumed, name=options.name or "")).id
    if resumed:
        session = await planck_.reopen(resumed, read_options(options))
        for folder in session.left_out:
            text = f"The last run of this session used --add-dir {folder}."
            complain(make_plain(f"{text} Pass the option again to keep using the folder."))
        return session
    stored = not getattr(options, "no_session", False)
    return await planck_.start(settings=read_options(options), stored=stored)


def read_options(options: argparse.Namespace) -> RunOptions:
    """Returns what the flags say of a session; each has the name of its option, but --permission-mode."""
    flags = {**vars(options), "mode": options.permission_mode}
    said = {name: flags.get(name) for name in RunOptions.__struct_fields__}
    schema: AnswerSchema | None = flags.get("schema")
    if schema:
        said["append_system_prompt"] = "\n\n".join(
            filter(None, (options.append_system_prompt, schema.instructions))
        )
    lists: dict[str, Any] = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return RunOptions(**{name: value for name, value in said.items() if value is not None} | lists)


async def make_input(planck_: Planck, options: argparse.Namespace, prompt: str) -> str | UserMessage:
    """Returns what is said: a command of a file expanded, files and images that it names attached."""
    said = options.prompt or ""
    within = None
    if found := said.startswith("/") and re.fullmatch(_COMMAND, said.rstrip(), re.DOTALL):
        command = planck_.resources.commands_by_call().get(found[1])
        if command is not None:
            within = planck_.workspace if command.scope == "project" else None
            expanded = command.expand((found[2] or "").strip())
            if "!`" in command.text:
                complain(f"{said.split()[0]} contains !`...`, which is sent as text and not run.")
            prompt = prompt.replace(said, expanded, 1)
            said = expanded
        elif _is_servers(planck_, found[1]):
            expanded = await planck_.say_prompt(found[1], (found[2] or "").strip())
            return prompt.replace(said, expanded, 1)  # foreign text: it names no file of ours
        elif not os.path.lexists(said.split()[0]):
            raise UsageError(
                ErrorKind.NOT_FOUND,
                f"Command not found: {said.split()[0]!r}. Create .planck/commands/{found[1]}.md, "
                "or start the prompt with a space to send it as text.",
            )
    if not options.image and "@" not in said and not _names_image(said):
        return prompt
    from planck.headless import attach

    try:
        project = planck_.project
        project.root.check()
        attached = attach(said, project.here, within=within, roots=project.roots, images=options.image)
    except PlanckError as failure:
        raise UsageError(failure.err.kind, failure.err.message) from None
    for note in attached.notes:
        complain(make_plain(note))
    text = prompt.replace(said, attached.text, 1) if said else prompt
    return UserMessage((Text(text), *attached.images), typed=prompt if attached.typed else "")


def _is_servers(planck_: Planck, name: str) -> bool:
    server, colon, _ = name.partition(":")
    return bool(colon) and bool(planck_.peers.plan.select("mcp", server))


def _names_image(text: str) -> bool:
    return any(ending in text.lower() for ending in (".png", ".jpg", ".jpeg", ".gif", ".webp"))


class Watch:
    """Hands a session's events on while it runs, up to the last recorded one; owns its tasks."""

    def __init__(
        self,
        session: OpenSession,
        show: Callable[[SessionEvent], None],
        *,
        also: Callable[[], Any] | None = None,
        words: bool = True,
        flush: Callable[[], None] | None = None,
    ) -> None:
        """`words`: shows an answer while it is written. `flush` is called after each batch."""
        self._session = session
        self._show = show
        self._words = words
        self._flush = flush
        self._seen = session.opened_at
        self._progress = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] = loop.create_task(self._run())
        self._tasks = {self._task} | ({loop.create_task(also())} if also else set())

    async def catch_up(self) -> None:
        """Returns once everything that is recorded by now was shown."""
        head = self._session.head
        while self._seen < head and not self._task.done():
            self._progress.clear()
            await self._progress.wait()

    async def finish(self) -> None:
        await self.catch_up()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        for task in self._tasks:
            if not task.cancelled() and (failure := task.exception()):
                raise failure

    async def _run(self) -> None:
        try:
            async with aclosing(self._session.follow(self._seen, words=self._words)) as batches:
                async for events in batches:
                    for event in events:
                        self._show(event)
                        self._seen = event.seq or self._seen
                    if self._flush:
                        self._flush()
                    self._progress.set()
        finally:
            self._progress.set()


WAYS_TO_A_MODEL = """\
Ways to get a model:
  guided  planck setup asks a few questions, tests the model and saves it
  cloud   export ANTHROPIC_API_KEY=...  (or OPENAI_API_KEY, GEMINI_API_KEY)
          "planck models list" lists the models
  local   start Ollama or llama.cpp: Planck finds it on its default port
          for another server, add to ~/.planck/config.json:
            {"providers": {"local": {"type": "openai",
              "base_url": "http://localhost:8000"}}}
          then run: planck run -m local/NAME "..."
  none    planck demo shows a team at work, offline, in a few seconds"""
