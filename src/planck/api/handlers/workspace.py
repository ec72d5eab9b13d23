"""The handlers of the place: files, models, teams, tools, skills, configuration, and words in sessions."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from planck.api import shapes
from planck.api.errors import ApiError
from planck.api.exchange import Call
from planck.api.rights import EVERYWHERE, check_role
from planck.headless import (
    Candidate,
    Planck,
    Pool,
    Setup,
    WorkspaceFiles,
    explain_config,
    list_teams,
    read_team,
    run_checks,
    show_config,
)
from planck.records.outcome import ErrorKind, PlanckError

T = TypeVar("T")

VENDORS = ("anthropic", "openai", "google")


class WorkspaceHandlers:
    def __init__(self, planck: Planck, pool: Pool | None = None) -> None:
        """`pool`: whose sessions are searched; those on the disk of its nodes are their users' own."""
        self._planck = planck
        self._searched = pool or planck
        self._files = WorkspaceFiles(planck.project)

    async def list_files(self, call: Call) -> shapes.FilePage:
        query: shapes.ListFiles = call.query
        found = await self._look(self._files.list, query.path)
        items = msgspec.convert(found, tuple[shapes.FileEntry, ...], from_attributes=True)
        return shapes.FilePage(path=query.path, items=items)

    async def read_content(self, call: Call) -> shapes.FileContent:
        query: shapes.ReadContent = call.query
        part = await self._look(self._files.read, query.path, query.offset)
        return shapes.FileContent(
            path=query.path,
            content=part.data.decode(errors="replace"),
            offset=part.offset,
            size=part.size,
            next=part.next,
        )

    async def _look(self, look: Callable[..., T], *given: Any) -> T:
        """What can't be read, because it is a folder or because of its rights, is no fault of the server."""
        try:
            return await asyncio.to_thread(look, *given)
        except PlanckError as failure:
            if failure.err.kind is not ErrorKind.READ_FAILED:
                raise
            raise ApiError(400, failure.err.kind, failure.err.message) from None

    async def list_models(self, call: Call) -> shapes.ModelPage:
        query: shapes.ListModels = call.query
        rows = await self._planck.list_models(everything=query.all)
        return shapes.ModelPage(items=tuple(rows), catalog_date=self._planck.catalog_date)

    async def test_model(self, call: Call) -> msgspec.Struct:
        body: shapes.TestModel = call.body
        return await self._planck.try_model(body.model)

    async def list_teams(self, call: Call) -> shapes.TeamPage:
        rows = await asyncio.to_thread(list_teams, self._planck.resources.team_dirs())
        return shapes.TeamPage(
            items=msgspec.convert(rows, tuple[shapes.TeamEntry, ...], from_attributes=True)
        )

    async def read_team(self, call: Call) -> dict[str, object]:
        return await asyncio.to_thread(read_team, await find_team(self._planck, call.path["team"]))

    async def check_team(self, call: Call) -> shapes.Checked:
        await find_team(self._planck, call.path["team"])
        problems = await self._planck.check_team(call.path["team"])
        return shapes.Checked(ok=not problems, problems=tuple(problems))

    async def list_tools(self, call: Call) -> shapes.AnyPage:
        inventory = await self._planck.list_tools()
        return shapes.AnyPage(items=tuple(entry.as_dict() for entry in inventory.entries))

    async def list_skills(self, call: Call) -> shapes.AnyPage:
        found = await asyncio.to_thread(self._planck.resources.skills)
        return shapes.AnyPage(items=tuple(found.describe()))

    async def search(self, call: Call) -> shapes.AnyPage:
        query: shapes.Search = call.query
        if query.all:
            check_role(call.role, EVERYWHERE)
        return shapes.AnyPage(items=await asyncio.to_thread(self._search, query))

    def _search(self, query: shapes.Search) -> tuple[dict[str, object], ...]:
        hits = self._searched.archive.search(query.q, everywhere=query.all, limit=query.limit)
        return tuple(msgspec.to_builtins(hit) for hit in hits)

    async def run_doctor(self, call: Call) -> shapes.Doctor:
        checks = await run_checks(self._planck.project)
        failed = any(check.state == "error" for check in checks)
        return shapes.Doctor(ok=not failed, checks=tuple(msgspec.to_builtins(check) for check in checks))

    async def read_config(self, call: Call) -> dict[str, object]:
        return show_config(self._planck.config)

    async def explain_config(self, call: Call) -> shapes.AnyPage:
        origins = explain_config(self._planck.resources.loaded)
        return shapes.AnyPage(items=tuple(msgspec.to_builtins(origin) for origin in origins))

    async def set_up(self, call: Call) -> shapes.SetUpResult:
        """Writes nothing untried. A vendor's name keeps its address: its other keys would follow."""
        body: shapes.SetUp = call.body
        vendor = body.provider in VENDORS
        if vendor == bool(body.base_url):
            raise ApiError(
                400,
                ErrorKind.INVALID_ARGS,
                f"Leave out base_url for {', '.join(VENDORS)}. Any other provider requires a base_url.",
            )
        project = self._planck.project
        async with Setup(project.home, project.environ) as setup:
            setup.check_home()
            model = body.model or (setup.default_model(body.provider) if vendor else "")
            if not model:
                raise ApiError(
                    400, ErrorKind.INVALID_ARGS, "This provider has no default model. Name a model."
                )
            candidate = Candidate(body.provider, model, body.base_url, body.key)
            tested = await setup.test(candidate)
            if tested.error is None:
                await asyncio.to_thread(lambda: [*setup.keep(candidate)])
                self._planck.resources.refresh()
        if not tested.error:
            return shapes.SetUpResult(ok=True, model=candidate.label)
        said = {name: tested.error[name] for name in ("kind", "message")}
        return shapes.SetUpResult(ok=False, model=candidate.label, error=shapes.Problem(**said, details={}))

    async def list_notices(self, call: Call) -> shapes.Notices:
        return shapes.Notices(items=self._planck.notices)


async def find_team(planck: Planck | Pool, alias: str) -> Path:
    """By alias alone: over HTTP no path leads to a file elsewhere."""
    for row in await asyncio.to_thread(list_teams, planck.resources.team_dirs()):
        if row.alias == alias:
            return Path(row.path)
    raise ApiError(404, ErrorKind.NOT_FOUND, "No team has this alias. List the teams to see their aliases.")
