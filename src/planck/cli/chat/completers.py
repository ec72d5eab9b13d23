"""What can be completed in the input: commands and their arguments, files and members behind an `@`."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from planck.cli.chat.table import COMMANDS, Completes
from planck.cli.screen.completion import Completer, Files, Words
from planck.headless import walk

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk

Pairs = Iterable[tuple[str, str]]


def make_completers(talk: "Talk") -> list[Completer]:
    source = _Source(talk)
    found: list[Completer] = [Words("/", source.commands)]
    for command in COMMANDS.values():
        if words := source.find(command.completes):
            found.append(Words(f"/{command.name} ", words))
    return [*found, Files(talk.planck.project.here, walk, source.members)]


class _Source:
    def __init__(self, talk: "Talk") -> None:
        self._talk = talk

    def find(self, what: Completes | tuple[str, ...]) -> Callable[[], Pairs] | None:
        if not isinstance(what, str):
            return _Fixed(what)
        known: dict[str, Callable[[], Pairs]] = {
            "member": self.members,
            "model": self.models,
            "session": self.sessions,
            "team": self.teams,
            "command": self.commands,
        }
        return known.get(what)

    def commands(self) -> Pairs:
        for command in COMMANDS.values():
            yield command.name, command.help
        for name, one in self._talk.planck.resources.commands().items():
            yield name, one.description
        for prompt in self._talk.known_prompts:
            yield prompt.command, prompt.description

    def members(self) -> Pairs:
        for spec in self._talk.session.members:
            yield spec.name, spec.description or spec.type

    def models(self) -> Pairs:
        return [(name, "") for name in self._talk.known_models]

    def sessions(self) -> Pairs:
        for info in self._talk.planck.archive.sessions(limit=50):
            yield info.name, info.first_prompt

    def teams(self) -> Pairs:
        from planck.headless import list_teams

        for row in list_teams(self._talk.planck.resources.team_dirs()):
            yield row.alias, row.name


class _Fixed:
    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def __call__(self) -> Pairs:
        return [(word, "") for word in self._words]
