"""What a lasting yes becomes: the exact command, or a rule with `*` where that lets in no other program."""

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from planck.permissions.policy import Verdict
from planck.permissions.rules import Decision, Rule
from planck.records import codec
from planck.records.approval import Question
from planck.records.authority import Right
from planck.records.outcome import Err, ErrorKind
from planck.records.tools import COMMAND_TOOLS, HOST_TOOLS
from planck.records.visible import spell_out
from planck.shell.plain import segments
from planck.shell.programs import UNKNOWN, Program, find_family, find_program
from planck.toolkit.tool import Effect, Tool

ANY = "*"
"""At the end of a rule, as a word of its own: whatever else follows."""
OUTSIDE = " (outside the sandbox)"
"""At the end of a rule's text where it lets a call out of the sandbox; no plain command ends so."""
NETWORK = " (may write in the workspace and use the network)"
"""The same where it stays in the sandbox, and has both of its rights."""
NETWORK_ONLY = " (may use the network)"
"""The same where it has the network alone."""


def offer_rule(tool: Tool, args: Mapping[str, Any], verdict: Verdict) -> Rule | None:
    """The rule that would allow this again; none where words can't say what was approved, or a rule asks."""
    if verdict.by_rule or verdict.confinement.addresses:
        return None
    if tool.effect is Effect.FILES:
        return Rule(tool=tool.name, decision=Decision.ALLOW)
    if tool.name in HOST_TOOLS:
        from planck.http.address import read_host

        host = read_host(str(args.get("url", "")))
        return Rule(tool=tool.name, decision=Decision.ALLOW, host=host) if host else None
    rights = verdict.confinement.rights
    if tool.address:  # what it does happens elsewhere
        return Rule(tool=tool.name, decision=Decision.ALLOW)
    unconfined = Right.OUTSIDE in rights
    network = Right.NETWORK in rights and not unconfined
    write = Right.WRITE in rights or not network
    if tool.name not in COMMAND_TOOLS:
        return Rule(
            tool=tool.name, decision=Decision.ALLOW, network=network, write=write, unconfined=unconfined
        )
    words = _read_words(str(args.get("command", "")))
    if not words:
        return None
    command = shlex.join(words)
    if _read_words(command) != words or spell_out(command) != command:
        return None
    return Rule(
        tool=tool.name,
        decision=Decision.ALLOW,
        command=command,
        exact=True,
        network=network,
        write=write,
        unconfined=unconfined,
    )


def spell_rule(rule: Rule) -> str:
    """`bash git commit *`, `bash rm one` (exactly that), or a tool's name, which means every call of it."""
    return f"{rule.tool} {rule.command or rule.host}".strip() + (
        OUTSIDE if rule.unconfined else _spell_network(rule)
    )


def _spell_network(rule: Rule) -> str:
    if not rule.network:
        return ""
    return NETWORK if rule.write else NETWORK_ONLY


def suggest_wider(rule: Rule, *, held: bool) -> str:
    """The same with a `*` behind the program and what it is to do, where the user could choose that.

    Such a rule stays in the sandbox, because what follows a `*` may name any file. `held`: the sandbox can
    keep it. It leaves only for the few commands that write nothing but the repository, which no sandbox does.
    """
    words = _read_words(rule.command)
    if not words:
        return ""
    kept = words[:2] if _find_row(words[0]).verbs else words[:1]
    if _refuse_star(kept):
        return ""
    wider = f"{rule.tool} {shlex.join(kept)} {ANY}"
    if rule.unconfined and shlex.join(kept) in _ONLY_THE_REPOSITORY:
        return wider + OUTSIDE
    return wider + _spell_network(rule) if held else ""


def revise_rule(question: Question, text: str) -> Question | Err:
    """The question as it was asked, with another rule that covers the call; or why that can't be had."""
    offered = codec.decode_as(question.written.encode(), Rule)
    if text == question.rule:
        return question
    command = text.removeprefix(f"{offered.tool} ").strip()
    outside = offered.unconfined and command.endswith(OUTSIDE)
    right = OUTSIDE if outside else _spell_network(offered)
    network = bool(right) and not outside and command.endswith(right)
    if outside or network:
        command = command.removesuffix(right).strip()
    if not offered.command:
        return _refuse(
            f"only {question.rule!r} can be remembered for this call; use that rule, or allow the call once"
        )
    *_, last = command.split() or [""]
    star = last == ANY
    words = _read_words(command.rstrip().removesuffix(ANY) if star else command)
    if not words:
        return _refuse(
            f"{command!r} is not a valid rule; use plain words, optionally followed by a separate {ANY}"
        )
    if star and (problem := _refuse_star(words) or _refuse_free_star(question, words, outside)):
        return _refuse(problem)
    asked = _read_words(offered.command)
    if (asked[: len(words)] if star else asked) != words:
        return _refuse(f"{command!r} does not match this command; correct the rule")
    spelled = f"{shlex.join(words)} {ANY}" if star else shlex.join(words)
    rule = msgspec.structs.replace(
        offered, command=spelled, exact=not star, network=network, unconfined=outside
    )
    return msgspec.structs.replace(question, rule=spell_rule(rule), written=codec.encode_str(rule))


def _refuse(why: str) -> Err:
    return Err(ErrorKind.INVALID_ARGS, why)


def _read_words(command: str) -> tuple[str, ...]:
    """The words of one plain command; none where it is more than that, or sets variables first."""
    parts = segments(command)
    if parts is None or len(parts) != 1 or not all(word.literal for word in parts[0]):
        return ()
    words = tuple(word.text for word in parts[0])
    return () if not words or "=" in words[0] else words


def _refuse_star(words: tuple[str, ...]) -> str:
    """Why no `*` may follow these words; empty: it may."""
    program = words[0]
    family = _family(program)
    known = _find_row(program)
    if family in _NEVER or known.runs_anything:
        return (
            f"a rule cannot have {ANY} after {program!r}, which could then do anything; allow "
            "the exact command"
        )
    if not known.verbs:
        return ""
    if len(words) < 2 or words[1].startswith("-"):
        with_verb = f"`{program} SUBCOMMAND {ANY}`"
        return f"a rule cannot have {ANY} directly after {program!r}; add a subcommand, as in {with_verb}"
    if words[1] in known.verbs:
        return (
            f"a rule cannot have {ANY} after `{program} {words[1]}`, which can start any "
            "program; allow the exact command"
        )
    return ""


def _refuse_free_star(question: Question, words: tuple[str, ...], outside: bool) -> str:
    """Why no `*` may stand in a rule that is not held by a sandbox; empty: it is held, or may."""
    fits = shlex.join(words) in _ONLY_THE_REPOSITORY if outside else True
    if question.wider and question.wider.endswith(OUTSIDE) == outside and fits:
        return ""
    return (
        f"a rule for commands outside the sandbox cannot contain {ANY}, because they could then change any "
        f"file; allow the exact command, or add a rule with `unconfined` to {question.place} yourself"
    )


def _find_row(program: str) -> Program:
    found = find_program(program.rpartition("/")[2])
    return find_program(_family(program)) if found is UNKNOWN else found


def _family(program: str) -> str:
    """`/usr/bin/python3.11` is python: what a name says without its folder, version and ending."""
    return find_family(program.rpartition("/")[2].lower())


_ONLY_THE_REPOSITORY = frozenset({"git add", "git commit", "git switch"})
"""No word behind them names a program, or a file elsewhere that they would write."""
_NEVER = frozenset(
    # what starts others only by some of its words, and yet by many
    {"find", "fd", "fdfind", "tar", "zip", "cpio", "man", "more", "view", "pipx", "rake", "ipython", "dotnet"}
    # other machines, other places
    | {"scp", "sftp", "sshpass", "telnet", "nc", "ncat", "netcat", "curl", "wget", "aria2c", "ftp", "lftp"}
    | {"http", "https", "rsync", "rclone", "docker", "podman", "nerdctl", "kubectl", "helm"}
    | {"ansible-playbook", "terraform", "vagrant", "capsh"}
    # what is gone afterwards, or is no longer what it was
    | {"rm", "rmdir", "unlink", "shred", "dd", "mkfs", "wipefs", "fdisk", "parted", "truncate", "mv", "cp"}
    | {"ln", "install", "tee", "chmod", "chown", "chgrp", "chattr", "setfacl", "kill", "pkill", "killall"}
    | {"systemctl", "service", "shutdown", "reboot", "halt", "mount", "umount"}
    # `R` and `Rscript`, where file names have no case
    | {"r", "rscript"}
)
"""Families of programs besides those that run anything; what the user writes into a file by hand is the
user's own."""
