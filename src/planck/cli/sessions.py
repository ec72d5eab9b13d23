"""`planck sessions`: the stored sessions, to look at and to handle."""

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from planck.cli.errors import UsageError
from planck.cli.place import find_place
from planck.headless import Archive, Planck, SessionDetail, SessionInfo
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line, make_plain


def run(options: argparse.Namespace) -> int:
    if options.action == "replay":
        raise UsageError(ErrorKind.NOT_FOUND, "`planck sessions replay` is not built yet; try `show`")
    archive = Planck(workspace=find_place(options)).archive
    if options.action not in ("list", "tree") and not options.what:
        raise UsageError(
            ErrorKind.INVALID_ARGS, f"say which; example: planck sessions {options.action} calm-fox"
        )
    match options.action:
        case "list" | "tree":
            sessions = archive.sessions(everywhere=options.all)
            if not sessions and not options.json:
                print("No sessions of this workspace yet; `--all` shows those of others.")
            elif options.action == "list":
                _print(sessions, map(_row, sessions), options.json)
            else:
                children = _group_by_parent(sessions)
                _print(_nested(children, ""), _branch(children, "", ""), options.json)
        case "show" if options.why_blocked:
            lines = archive.why_blocked(options.what)
            _print(lines, map(make_plain, lines), options.json)
        case "show":
            detail = archive.detail(options.what)
            _print(detail, _describe(detail), options.json)
        case "export":
            _export(archive, options.what, options.format)
        case "import":
            _done("imported", asyncio.run(_import(archive, options.what)), options.json)
        case "fork":
            forked = asyncio.run(archive.fork(options.what, at=options.at, name=options.name))
            _done("forked", forked, options.json)
        case "delete":
            _done("deleted", archive.delete(options.what), options.json)
        case "search":
            return _search(archive, options)
    return 0


def _print(value: Any, lines: Iterable[str], as_json: bool) -> None:
    for line in [codec.encode_str(value)] if as_json else lines:
        print(line)


def _row(info: SessionInfo) -> str:
    problem = f"  ! {fit_line(info.problem, 100)}" if info.problem else ""
    updated = make_plain(info.updated)[:16]
    name = f"{fit_line(info.name, 30):<17}"
    return f"{make_plain(info.id)}  {name} {updated}  {info.state:<11} {info.events:>6} events{problem}"


def _group_by_parent(sessions: Sequence[SessionInfo]) -> dict[str, list[SessionInfo]]:
    """Forks below what they were forked from; a parent that is gone leaves its forks at the top."""
    known = {info.id for info in sessions}
    children: dict[str, list[SessionInfo]] = {}
    for info in sessions:
        children.setdefault(info.parent if info.parent in known else "", []).append(info)
    return children


def _nested(children: dict[str, list[SessionInfo]], parent: str) -> list[dict[str, Any]]:
    return [
        {"session": info, "forks": _nested(children, info.id)} for info in children.get(parent, []) if info.id
    ]


def _branch(children: dict[str, list[SessionInfo]], parent: str, indent: str) -> Iterator[str]:
    for info in children.get(parent, []):
        at = f" (at {info.forked_at})" if info.forked_at else ""
        yield f"{indent}{_row(info)}{at}"
        if info.id:
            yield from _branch(children, info.id, f"{indent}  ")


def _describe(detail: SessionDetail) -> Iterator[str]:
    info, usage = detail.info, detail.usage
    yield _row(info)
    yield make_plain(f"workspace {info.workspace}, created {info.created}")
    if info.parent:
        yield make_plain(f"forked from {info.parent} at event {info.forked_at}")
    for agent in detail.agents:
        state = fit_line(agent.state, 60)
        who = f"{fit_line(agent.id, 40)}  {fit_line(agent.name, 20):<20}  {fit_line(agent.model, 60)}"
        yield f"  {who}  {agent.turns} turns, {state}"
    cached = usage.cache_read_tokens
    yield f"tokens: {usage.input_tokens} in, {usage.output_tokens} out, {cached} from the cache"
    if detail.last_text:
        yield f"\n{make_plain(detail.last_text)}"


def _export(archive: Archive, what: str, format: str) -> None:
    out = sys.stdout.buffer
    if format == "markdown":
        for piece in archive.render_markdown(what):
            out.write(piece.encode(errors="replace"))
    else:
        for line in archive.events(what):
            out.write(line)
    out.flush()


async def _import(archive: Archive, what: str) -> SessionInfo:
    if what != "-":
        if not Path(what).is_file():
            raise UsageError(ErrorKind.NOT_FOUND, f"no file {what!r}; `-` reads an export from stdin")
        return await archive.import_session(Path(what))
    with tempfile.NamedTemporaryFile() as spooled:
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        spooled.flush()
        return await archive.import_session(Path(spooled.name))


def _done(what: str, info: SessionInfo, as_json: bool) -> None:
    _print(info, [f"{what} {info.id} {make_plain(info.name)} ({info.events} events)"], as_json)


def _search(archive: Archive, options: argparse.Namespace) -> int:
    hits = archive.search(options.what, everywhere=options.all, limit=options.limit)
    if options.json:
        _print(list(hits), (), as_json=True)
        return 0
    found = 0
    for hit in hits:
        found += 1
        where = f"{hit.session_id} {make_plain(hit.session_name)} #{hit.seq} {hit.type}"
        print(f"{where}: {fit_line(hit.excerpt, 160)}")
    return 0 if found else 1
