"""Everything that would go wrong with a team, before it is started: for `planck teams check` and its page."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from planck.config import teams
from planck.config.project import Project
from planck.headless.session_setup import Runtime
from planck.peers.peers import PeerReport
from planck.records.outcome import PlanckError
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS


async def find_problems(runtime: Runtime, alias_or_path: str, tools: Iterable[str]) -> list[str]:
    """Returns them in words; empty: the team can start. `tools`: those that a session has of its own."""
    project, peers = runtime.project, runtime.peers
    path = teams.find_team(alias_or_path, project.resources.team_dirs())
    lead, missing = None, list[str]()
    if teams.needs_default(path):
        try:
            lead = await runtime.providers.choose("")
        except PlanckError as failure:
            missing = [f"orchestrator: {failure.err.full_message}"]

    def problems(reports: list[PeerReport]) -> list[str]:
        offered = {name for report in reports for name in report.tools}
        return missing + teams.check_team(
            path,
            runtime.providers.resolve_member,
            lead=lead,
            tools={*tools, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS, *offered},
            skills=set(project.resources.skills().skills),
            compactors={name for report in reports for name in report.compactors},
            places=project.roots,
        )

    found = problems([])
    if found and peers.plan.select():
        peers.start()  # what is unknown so far may be one of theirs
        await peers.settle()
        found = problems(peers.report())
    return found + await _try_foreign(project, path)


def find_unkept(project: Project, team: str) -> list[str]:
    """Names what a team asks for and does not get; its start reports everything else."""
    with suppress(PlanckError):
        path = teams.find_team(team, project.resources.team_dirs())
        return [*teams.find_unbuilt(path), *teams.find_unrun(path, project.doubt(path))]
    return []


async def _try_foreign(project: Project, path: Path) -> list[str]:
    """Starts each member that is another program, and greets it."""
    if not (members := teams.find_foreign(path)):
        return []
    from planck.headless.members.external_check import try_member

    if doubt := project.doubt(path):
        return [f"{name}: not tested. Its program is set in {path}, but {doubt}" for name in members]
    tried = await asyncio.gather(*(try_member(project, foreign) for foreign in members.values()))
    return [f"{name}: {problem}" for name, problem in zip(members, tried, strict=True) if problem]
