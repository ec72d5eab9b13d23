"""`planck sessions`: the stored sessions, to look at and to handle."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planck import headless
from planck.cli.errors import UsageError, refuse_words
from planck.cli.parser import JSON, add_shared, amount, positive
from planck.cli.place import find_place
from planck.cli.streams import complain, fit_rows, report_error
from planck.cli.tell.costs import tabulate_costs
from planck.cli.tell.session_rows import STATES, format_cost, is_looked_at, is_read, make_rows
from planck.records import codec
from planck.records.amounts import say
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.visible import fit_line, make_plain

_ACTIONS = ("list", "show", "export", "verify", "import", "rename", "delete", "fork", "tree", "search")
EXAMPLE = "planck sessions export calm-fox > calm-fox.ndjson"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=_ACTIONS, metavar="|".join(_ACTIONS))
    parser.add_argument(
        "what", nargs="?", default="", metavar="ID|NAME|FILE|TEXT", help="Session, file or text"
    )
    parser.add_argument(
        "more", nargs="*", metavar="NEW|ID|NAME", help="rename: New name; delete: More sessions"
    )
    parser.add_argument("--all", action="store_true", help="Include sessions from other workspaces")
    parser.add_argument("--at", type=int, metavar="SEQ", help="fork: Event to fork after (default: the last)")
    parser.add_argument("--name", default="", help="fork: Name of the new session")
    parser.add_argument(
        "--format", choices=("ndjson", "md", "markdown", "html"), default="ndjson", help="export: File format"
    )
    parser.add_argument(
        "-o", "--output", default="", metavar="FILE", help="export: Write to this file (replaces it)"
    )
    parser.add_argument(
        "--redact",
        default="",
        metavar="L",
        help="export html: Comma-separated parts to hide: outputs,args,diffs,paths",
    )
    parser.add_argument(
        "--max-mb",
        type=amount,
        default=10.0,
        metavar="N",
        help="export html: Maximum size in MiB (default: 10)",
    )
    parser.add_argument(
        "--with-log",
        action="store_true",
        help="export html: Include the log, so that others can verify the page",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=50,
        metavar="N",
        help="Maximum number of results, newest first (default: 50)",
    )
    parser.add_argument("--cost", action="store_true", help="show: Usage and cost by agent and model")
    parser.add_argument("-y", "--yes", action="store_true", help="delete: Do not ask for confirmation")
    parser.add_argument(
        "--why-blocked", action="store_true", help="show: Explain who waits for whom, and since when"
    )
    add_shared(parser, json=JSON)


def run(options: argparse.Namespace) -> int:
    import asyncio

    planck = headless.Planck(workspace=find_place(options))
    archive = planck.archive
    if options.action not in ("list", "tree") and not options.what:
        example = {"rename": "calm-fox swift-fox", "import": "calm-fox.ndjson", "search": "discount"}
        which = example.get(options.action, "calm-fox")
        raise UsageError(
            ErrorKind.INVALID_ARGS, f'Missing argument. Example: "planck sessions {options.action} {which}".'
        )
    taken = {"rename": 1, "delete": len(options.more)}.get(options.action, 0)
    if options.action in ("list", "tree"):
        options.more = [word for word in (options.what, *options.more) if word]
    if len(options.more) > taken:
        how = {
            "search": "Put a text of several words in quotes.",
            "list": 'To search, run "planck sessions search TEXT".',
            "tree": "It shows all sessions.",
        }
        step = how.get(options.action, "Name one session at a time.")
        refuse_words(options.more[taken], step=step)
    match options.action:
        case "list" | "tree":
            _list(archive, options)
        case "show" if options.why_blocked:
            lines = archive.why_blocked(options.what)
            _print(lines, map(make_plain, lines), options.json)
        case "show" if options.cost:
            report = archive.costs(options.what)
            width = shutil.get_terminal_size().columns - 1 if sys.stdout.isatty() else None
            _print(report, tabulate_costs(report, width), options.json)
        case "show":
            detail = archive.detail(options.what)
            _print(detail, _tell(detail, archive.transcript(options.what)), options.json)
        case "export":
            return _export(planck, options)
        case "verify":
            _verify(planck, options)
        case "import":
            _done("Imported", asyncio.run(_import(archive, options.what)), options.json)
        case "fork":
            forked = asyncio.run(archive.fork(options.what, at=options.at, name=options.name))
            _done("Forked", forked, options.json)
            complain(f"Resume it with: planck -r {make_plain(forked.name)}")
        case "rename":
            _done("Renamed", asyncio.run(archive.rename(options.what, "".join(options.more))), options.json)
        case "delete":
            return _delete(archive, options)
        case "search":
            return _search(archive, options)
    return 0


def _list(archive: headless.Archive, options: argparse.Namespace) -> None:
    found = archive.sessions(everywhere=options.all, limit=options.limit + 1)
    sessions = found[: options.limit]
    if not sessions and not options.json:
        elsewhere = ' Run "planck sessions list --all" to include other workspaces.'
        print(
            "No sessions yet." if options.all else fit_rows(f"No sessions in this workspace.{elsewhere}", "")
        )
    elif options.action == "list":
        rows = make_rows(sessions, archive.now(), whole=not is_looked_at(), head=is_read())
        _print(sessions, rows, options.json)
    else:
        children = _group_by_parent(sessions)
        _print(_nested(children, ""), _branch(children, archive.now()), options.json)
    if len(found) > len(sessions):
        more = f"planck sessions {options.action}{' --all' * options.all} --limit {options.limit * 4}"
        shown = f"{len(sessions)} session{'s' * (len(sessions) != 1)}"
        complain(f"Showing the newest {shown}. For more, run: {more}")


def _print(value: Any, lines: Iterable[str], as_json: bool) -> None:
    for line in [codec.encode_str(value)] if as_json else lines:
        print(line)


def _group_by_parent(sessions: Sequence[headless.SessionInfo]) -> dict[str, list[headless.SessionInfo]]:
    """Forks below what they were forked from; a parent that is gone leaves its forks at the top."""
    known = {info.id for info in sessions}
    children: dict[str, list[headless.SessionInfo]] = {}
    for info in sessions:
        children.setdefault(info.parent if info.parent in known else "", []).append(info)
    return children


def _nested(children: dict[str, list[headless.SessionInfo]], parent: str) -> list[dict[str, Any]]:
    return [
        {"session": info, "forks": _nested(children, info.id)} for info in children.get(parent, []) if info.id
    ]


def _branch(children: dict[str, list[headless.SessionInfo]], now: str) -> Iterator[str]:
    """Rows in the order of the tree, each below what it was forked from."""
    waiting = [(info, 0) for info in reversed(children.get("", []))]
    whole = not is_looked_at()
    found: list[tuple[headless.SessionInfo, str]] = []
    while waiting:
        info, depth = waiting.pop()
        found.append((info, "  " * min(depth, 10)))
        waiting += [(fork, depth + 1) for fork in reversed(children.get(info.id, [])) if info.id]
    sessions = [info for info, _ in found]
    notes = [f"(at #{info.forked_at})" if info.forked_at else "" for info in sessions]
    indents = [indent for _, indent in found]
    yield from make_rows(sessions, now, whole=whole, indents=indents, notes=notes, head=is_read())


def _tell(detail: headless.SessionDetail, transcript: headless.Transcript) -> Iterator[str]:
    yield from _describe(detail)
    name = detail.info.name
    if transcript.earlier:
        whole = f"planck sessions export {name} --format md"
        hidden = (
            "1 earlier entry is" if transcript.earlier == 1 else f"{transcript.earlier} earlier entries are"
        )
        yield f"\n… {hidden} not shown. For the full transcript, run: {whole}"
    speaker = ""
    for entry in transcript.entries:
        if entry.who != speaker:
            speaker = entry.who
            yield f"\n{fit_line(speaker, 60)}  #{entry.seq} {make_plain(entry.ts)[:16]}"
        if entry.how == "said":
            yield from (f"  {line}".rstrip() for line in make_plain(entry.text).split("\n"))
        else:
            width = max(shutil.get_terminal_size().columns - 5, 20)
            yield f"  {'·' if entry.how == 'did' else '!'} {fit_line(entry.text, width)}"


def _describe(detail: headless.SessionDetail) -> Iterator[str]:
    info, usage = detail.info, detail.usage
    team = f"team {fit_line(info.team, 40)} · " if info.team else ""
    held = f" in process {info.holder.pid} on {info.holder.host}" if info.holder else ""
    yield f"{fit_line(info.name, 64)} ({fit_line(info.id, 64)}) · {STATES[info.state]}{make_plain(held)}"
    yield make_plain(
        f"{team}{info.workspace} · {info.created[:16]} to {info.updated[:16]} · {say('events', info.head)}"
    )
    if info.parent:
        yield make_plain(f"forked from {info.parent} at event {info.forked_at}")
    if info.problem:
        yield f"! {fit_line(info.problem)}"
    for agent in detail.agents:
        turns = f"{agent.turns} turn{'s' * (agent.turns != 1)}"
        parts = (fit_line(agent.name, 20), fit_line(agent.model, 60), turns, fit_line(agent.state, 60))
        yield f"  {' · '.join(parts)}"
    cached, cost = usage.cache_read_tokens, format_cost(info)
    yield f"  {usage.input_tokens} tokens in, {usage.output_tokens} out, {cached} from the cache · {cost}"
    from planck.cli.tell.figures import say_proof  # no help needs it

    for text, _ in say_proof(detail):
        yield f"  {text}"


def _export(planck: headless.Planck, options: argparse.Namespace) -> int:
    """Writes the export; returns exit code 1 if the log has lost events or blobs."""
    chosen = [one.strip() for one in options.redact.split(",") if one.strip()]
    if (chosen or options.with_log) and options.format != "html":
        raise UsageError(
            ErrorKind.INVALID_ARGS, "--redact and --with-log apply to HTML exports only. Add --format html."
        )
    losses: list[Err] = []
    pieces = _render(planck, options, chosen, losses)
    if options.output:
        content = b"".join(pieces)
        try:
            with closing(headless.OutputFile(options.output)) as target:
                target.check(planck.project.open_root())
                target.write(content)
        except PlanckError as failure:
            raise UsageError(failure.err.kind, f"-o: {failure.err.message}") from None
        complain(f"Saved to {make_plain(options.output)}")
    else:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    for loss in losses:
        report_error(loss.kind, f"The export is incomplete. {loss.message}")
    return headless.Exit.FAILURE if losses else headless.Exit.DONE


def _render(
    planck: headless.Planck, options: argparse.Namespace, chosen: Sequence[str], losses: list[Err]
) -> Iterator[bytes]:
    """Yields the export, and adds what is missing in it to `losses`."""
    if options.format == "html":
        yield planck.export_page(options.what, hide=chosen, max_mb=options.max_mb, with_log=options.with_log)
    elif options.format in ("md", "markdown"):
        yield from (piece.encode(errors="replace") for piece in planck.archive.render_markdown(options.what))
    else:
        yield from planck.archive.events(options.what, lost=losses.append)
        return
    if loss := planck.archive.find_loss(options.what):
        losses.append(loss)


def _verify(planck: headless.Planck, options: argparse.Namespace) -> None:
    file = Path(options.what)
    if file.is_file():
        with file.open("rb") as opened:
            is_log = opened.read(1) == b"{"
        if is_log:
            raise UsageError(
                ErrorKind.INVALID_ARGS,
                f"{options.what!r} is a log, not an HTML page. Importing a log verifies it. "
                f'Run "planck sessions import {shlex.quote(options.what)}".',
            )
        proof = planck.verify_page(file)
    else:
        try:
            proof = planck.archive.verify_session(options.what)
        except headless.SessionError as missing:
            if missing.err.kind is not ErrorKind.NOT_FOUND:
                raise
            raise UsageError(
                missing.err.kind,
                f"No session or file found: {options.what!r}. "
                'Run "planck sessions list --all", or export a page with --format html.',
            ) from None
    words = {
        "log": "matches its embedded log",
        "session": "matches the stored session",
        "chain": "hash chain intact",
    }
    by = ", ".join(words[one] for one in proof.by)
    said = f"{fit_line(proof.name, 64)}: verified, {say('events', proof.events)}, {by}"
    _print(proof, [f"{said}, hash {make_plain(proof.hash)}"], options.json)


async def _import(archive: headless.Archive, what: str) -> headless.SessionInfo:
    if what != "-":
        if not Path(what).is_file():
            raise UsageError(
                ErrorKind.NOT_FOUND,
                f"File not found: {what!r}. Pass an exported log, or - for standard input.",
            )
        return await archive.import_session(Path(what))
    with tempfile.NamedTemporaryFile() as spooled:
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        spooled.flush()
        return await archive.import_session(Path(spooled.name))


def _done(what: str, info: headless.SessionInfo, as_json: bool) -> None:
    _print(
        info, [f"{what} {make_plain(info.id)} {make_plain(info.name)} ({say('events', info.head)})"], as_json
    )


def _delete(archive: headless.Archive, options: argparse.Namespace) -> int:
    """Deletes all that are named, or nothing: each is looked up before the first one goes."""
    found = {info.id: info for info in map(archive.info, (options.what, *options.more))}
    for id in found:
        archive.check_free(id)
    if not options.yes:
        from planck.cli.ask.typed_line import ask

        for info in found.values():
            about = f": {fit_line(info.first_prompt, 50)}" if info.first_prompt else ""
            print(f"{make_plain(info.name)} ({make_plain(info.id)}), {say('events', info.head)}{about}")
        which = "this session" if len(found) == 1 else f"these {len(found)} sessions"
        answer = ask(
            f"Delete {which} permanently? [y/N] ",
            without_terminal="Deleting is permanent and must be confirmed in a terminal. "
            f'Without one, run "planck sessions delete {" ".join(found)} --yes".',
        )
        if answer.lower() not in ("y", "yes"):
            print("Nothing was deleted.")
            return 0
    for id in found:
        _done("Deleted", archive.delete(id), options.json)
    return 0


def _search(archive: headless.Archive, options: argparse.Namespace) -> int:
    def skip(info: headless.SessionInfo, why: str) -> None:
        complain(f"Session {make_plain(info.name)} was not searched completely: {fit_line(why, 300)}")

    hits = archive.search(options.what, everywhere=options.all, limit=options.limit, skipped=skip)
    if options.json:
        _print(list(hits), (), as_json=True)
        return 0
    found = 0
    for hit in hits:
        found += 1
        who = fit_line(hit.agent or hit.type, 20)
        print(f"{make_plain(hit.session_name)} #{hit.seq} {who}: {fit_line(hit.excerpt, 300)}")
    if not found:
        elsewhere = "" if options.all else " Pass --all to search all workspaces."
        complain(f"No matches for {fit_line(options.what, 60)!r}.{elsewhere}")
    return 0 if found else 1
