"""The teams of this process: a tool knows its team by id, and reaches no other."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from planck.records.outcome import Err, ErrorKind
from planck.team.mail import GONE

if TYPE_CHECKING:
    from planck.team.member import Member
    from planck.team.team import Team

_teams: "WeakValueDictionary[str, Team]" = WeakValueDictionary()


def register(team: "Team") -> None:
    _teams[team.id] = team


def forget(team: "Team") -> None:
    if _teams.get(team.id) is team:
        del _teams[team.id]


def team(team_id: str) -> "Team | None":
    return _teams.get(team_id)


def team_of(agent_id: str) -> "Team | None":
    return next((team for team in _teams.values() if team.member(agent_id)), None)


def find(team: "Team | None", args: Mapping[str, Any]) -> "Member | Err":
    """A live member by id, name or type; of several with one type, the first that started."""
    identifier, identifier_type = args.get("identifier"), args.get("identifier_type")
    if not identifier or identifier_type not in ("type", "name", "id"):
        return Err(
            ErrorKind.INVALID_ARGS,
            'Could not resolve target: provide identifier and identifier_type ("type", "name", or "id").',
        )
    for member in team.members if team else ():
        if getattr(member.spec, identifier_type) == identifier:
            return member
    return GONE
