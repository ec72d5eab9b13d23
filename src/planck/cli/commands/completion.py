"""`planck completion SHELL`: completes commands and options, made of the same table as `--help`."""

import argparse
from dataclasses import dataclass, field
from importlib import import_module

from planck.cli.commands import COMMANDS


@dataclass(frozen=True)
class _Option:
    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Entry:
    summary: str
    words: tuple[str, ...] = ()
    options: tuple[_Option, ...] = field(default=())


EXAMPLE = "planck completion bash >> ~/.bashrc"


def add_options(parser: argparse.ArgumentParser) -> None:
    shells = ("bash", "zsh", "fish")
    parser.add_argument("shell", choices=shells, metavar="SHELL", help=", ".join(shells))


def run(options: argparse.Namespace) -> int:
    write = {"bash": _write_bash, "zsh": _write_zsh, "fish": _write_fish}[options.shell]
    print(write({name: _read(name) for name in COMMANDS}))
    return 0


def _read(name: str) -> _Entry:
    parser = argparse.ArgumentParser(add_help=False)
    import_module(f"planck.cli.commands.{name}").add_options(parser)
    words: list[str] = []
    options: dict[tuple[str, ...], _Option] = {}
    todo = [parser]
    while todo:
        for action in todo.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                words += action.choices
                todo += action.choices.values()
            elif action.help != argparse.SUPPRESS and action.option_strings:
                choices = tuple(map(str, action.choices or ()))
                names = tuple(action.option_strings)
                options[names] = _Option(names, (action.help or "").replace("%%", "%"), choices)
            elif action.choices and not action.option_strings:
                words += map(str, action.choices)
    return _Entry(COMMANDS[name], tuple(dict.fromkeys(words)), tuple(options.values()))


def _list_words(entry: _Entry) -> str:
    return " ".join([*entry.words, *(name for option in entry.options for name in option.names)])


def _write_bash(entries: dict[str, _Entry]) -> str:
    cases = "\n".join(f"    {name}) words={_quote(_list_words(entry))} ;;" for name, entry in entries.items())
    values = _list_values(entries)
    choices = "\n".join(f"    {name}) words={_quote(words)} ;;" for name, words in values.items())
    return f"""\
# bash completion for planck; made by: planck completion bash
_planck() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words={_quote(" ".join(entries))} ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words={_quote(" ".join(entries))}
  case "$before" in
{choices}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _planck planck"""


def _list_values(entries: dict[str, _Entry]) -> dict[str, str]:
    """Returns by option what may stand behind it."""
    return {
        name: " ".join(option.choices)
        for entry in entries.values()
        for option in entry.options
        for name in option.names
        if option.choices
    }


def _write_zsh(entries: dict[str, _Entry]) -> str:
    values = _list_values(entries)
    choices = "\n".join(f"    {name}) compadd -- {words}; return ;;" for name, words in values.items())
    commands = "\n".join(f"    {_quote(f'{name}:{entry.summary}')}" for name, entry in entries.items())
    cases = "\n".join(
        f"    {name}) compadd -- {_list_words(entry)} ;;"
        for name, entry in entries.items()
        if _list_words(entry)
    )
    return f"""\
#compdef planck
# zsh completion for planck; made by: planck completion zsh
_planck() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case "${{words[CURRENT-1]}}" in
{choices}
  esac
  case "${{words[2]}}" in
{cases}
  esac
  _files
}}
(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit }}
compdef _planck planck"""


def _write_fish(entries: dict[str, _Entry]) -> str:
    lines = ["# fish completion for planck; made by: planck completion fish"]
    for name, entry in entries.items():
        lines.append(f"complete -c planck -n __fish_use_subcommand -f -a {name} -d {_quote(entry.summary)}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        if entry.words:
            lines.append(f"complete -c planck {seen} -f -a {_quote(' '.join(entry.words))}")
        for option in entry.options:
            names = " ".join(
                f"-l {one.removeprefix('--')}" if one.startswith("--") else f"-s {one[1:]}"
                for one in option.names
            )
            chosen = f" -x -a {_quote(' '.join(option.choices))}" if option.choices else ""
            lines.append(f"complete -c planck {seen} {names}{chosen} -d {_quote(option.help)}")
    return "\n".join(lines)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
