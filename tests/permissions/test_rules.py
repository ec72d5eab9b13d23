"""Rules match parsed words, segment by segment; what is not known is asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck.permissions.rules import Decision, RuleError, apply_rules, load
from planck.shell.plain import segments

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


def says(raw: list[dict[str, Any]], command: str) -> Decision | None:
    return apply_rules(load(raw, "test"), "bash", {"command": command}).decision


STATUS = [{"tool": "bash", "command": "git status", "decision": "allow"}]
PUSH = [{"tool": "bash", "command": "git push", "decision": "deny"}]


@pytest.mark.parametrize(
    "command",
    ["git status", "  git   status --short", "'git' \"status\"", "git status | git status",
     "g\\it status\n",
     "git status;", "git status & git status -s", "git \\\nstatus", "git status $name", "git status *.py",
     "git status 2>&1", "git status >/dev/null", "git status > /dev/null 2>&1", "git status &>/dev/null",
     "git status </dev/null", "2>&1 git status", "git status 2>&1 | git status >&2",
     "git 2>/dev/null status",
     "CI=1 git status", "CI=1 LC_ALL=C.UTF-8 git status 2>&1", "GIT_PAGER=cat git status",
     "PAGER= git status",
     "DEBUG=app:* git status", "CI='' git status", "git status # rm x", "git status # it's",
     "# rm\ngit status",
     "git status #\ngit status", "git status; # $(rm x)", "git status -- \"foo$\"", "git status a$",
     "git status; git status $?", "git status HEAD~1", "git status {}", "git status >/dev/null|git status"],
)  # fmt: skip
def test_a_prefix_of_words_allows(command: str) -> None:
    assert says(STATUS, command) is ALLOW


@pytest.mark.parametrize(
    "command",
    ["git", "git stash", "git-status", "gitstatus", "git -C . status", "git 'status -s'",
     "git status; rm x",
     "git status && rm x", "git status | sh", "git status & rm x", "rm x\ngit status", "git status || rm x",
     "git status > out", "git status >> out", "git status < in", "git status <<< x",
     "git status $(rm x)", "git status `rm x`", "git status \"$(rm x)\"", "git status ${x:-$(rm)}",
     "git status <(rm x)", "(git status)", "{ git status; }", "git status () { rm x; }", "X=1 git status",
     "if git status; then rm x; fi", "! git status", "time git status", "git status <<E\nx\nE",
     "git s{t,x}atus",
     "$GIT status", "gi? status", "git \"status", "git 'status", "git status \\",
     "git status |", "git status &&", "| git status", "; git status", "git status ;; rm", "git\rstatus",
     "git status\x00", "git st\x1batus", "git status $'\\x0a'", "git status $((1))", "~/git status",
     "git status " + "x" * 20_000, ";".join(["git status"] * 65), "env git status", "", "  \n",
     "git\u00a0status", "eval git status", "function git { rm x; }", "coproc git status",
     "[[ a ]] git status", "git status 2>out", "git status >&out", "git status &>out", "git status >$x",
     "git status >/dev/null2", "git status >/dev/nul\\l", "git status {fd}>/dev/null",
     "git status 2\\\n>out",
     "git status >\\\n>out", "git status <>x", "git status >/dev/tcp/h/1", "git status 3<x",
     "git status >| x",
     "CI=$(rm) git status", "CI=`rm` git status", "CI=$x git status", "CI=/bin/x git status",
     "CI=1; git status",
     "PATH=. git status", "LD_PRELOAD=x git status", "BASH_ENV=x git status", "IFS=x git status", "CI=1",
     "GIT_SSH_COMMAND=x git status", "GIT_PAGER=less git status", "EDITOR=vi git status",
     "PS4=x git status",
     "PYTHONPATH=. git status", "NODE_OPTIONS=x git status", "a[0]=1 git status", "CI+=1 git status",
     "C\\I=1 git status", "'CI=1' git status", "CI=1 2>&1", "CI=~ git status", "git\\\n status",
     "git status #\nrm",
     "git status $\\\n(rm x)", "git status \"$\\\n(rm x)\"", "git status &\\\n& rm x", "x=~ git status"],
)  # fmt: skip
def test_what_is_not_surely_the_prefix_is_not_allowed(command: str) -> None:
    assert says(STATUS, command) is None


@pytest.mark.parametrize(
    "command", ["git push", "ls && git push origin", "git push --force | cat", "'git' push"]
)
def test_one_denied_segment_denies_the_whole(command: str) -> None:
    assert says(PUSH, command) is DENY
    assert says([*STATUS, *PUSH, {"tool": "bash", "decision": "allow"}], f"git status; {command}") is DENY


@pytest.mark.parametrize(
    "command",
    ["git -C . push", "git --no-pager push", "/usr/bin/git push", "./../bin/git push", "\\git push",
     "g''it push",
     "env git push", "env -i A=1 git push", "env -S 'git push'", "sudo -u me git push",
     "xargs -n1 git push",
     "sh -c 'git push'", "bash -lc \"git push\"", "eval git push", "git push > out", "echo $(git push)",
     "echo `git push`", "X=1 git push", "if true; then git push; fi", "f() { git push; }; f", "(git push)",
     "timeout -s KILL 5 git push", "nice -n 5 git push", "command -p git push", "exec -a x git push",
     "find . -exec git push \\;", "busybox git push", "time -p git push", "! git push", "coproc git push",
     "{git,push}", "/usr/bin/gi? push", "$'\\x67it' push", "$\"git\" push", "${x:-git} push",
     "x=git; $x push",
     "$nothing git push", "g$@it push", "trap 'git push' EXIT", "bash <<< 'git push'",
     "sh <<E\ngit push\nE",
     "cat <<E\n$(git push)\nE", "echo <(git push)", "echo ${x:-$(git push)}", "a=($(git push))",
     "flock l -c 'git push'", "su -c 'git push'", "watch 'git push'", "ssh h git push",
     "git -c alias.x='!git push' x", "git submodule foreach 'git push'",
     "tar cf x --to-command='git push' y",
     "compgen -C 'git push'", "echo $(( $(git push) ))", "git\\\n push", "uv run git push",
     "env sudo nice -n 1 sh -c 'timeout 5 git push'", "case a in a) git push;; esac",
     "git --git-dir x push"],
)  # fmt: skip
def test_a_denying_rule_holds_for_what_it_names_by_any_usual_way(command: str) -> None:
    assert says(PUSH, command) is DENY
    assert says([{"tool": "bash", "decision": "allow"}, *PUSH], command) is DENY


@pytest.mark.parametrize(
    "command",
    ["$GIT push", "git $what", "git pu*", "git \"$x\"", "git -x y push", "python3 -c 'x'", "make",
     "bash deploy.sh",
     "echo git push | sh", "source x", "$(cat x)", "sh -c \"$x\"", "PATH=. ls", "enable -f x y",
     "hash -p /usr/bin/git x; x push", "git 'x",
     "xargs git", "awk 'BEGIN { system(x) }'", "eval $x", "bash -c \"git $x\"", "find . -exec {} \\;"],
)  # fmt: skip
def test_a_denying_rule_that_might_be_meant_asks_and_says_why(command: str) -> None:
    ruling = apply_rules(load(PUSH, "test"), "bash", {"command": command})
    assert ruling.decision is ASK
    assert ruling.note.startswith("it may apply here")
    assert says([{"tool": "bash", "decision": "allow"}, *PUSH], command) is ASK


@pytest.mark.parametrize(
    "command",
    ["git status", "ls", "echo git push", "git log --grep=push", "git log push", "git add $x",
     "timeout 5 ls",
     "sh -c 'git log'", "for f in *; do echo $f; done", "ls > out", "grep 'git push' x | head",
     "x=$(ls); echo $x",
     "cat <<'E'\n$(git push)\nE", "find . -name git", "awk '{print $1}' x", "command -v git",
     "echo hi # git push",
     "git commit -m 'git push'", "env A=1 ls", "git -c user.name=x commit", "[[ -f git ]] && ls",
     "echo {{git}}"],
)  # fmt: skip
def test_a_denying_rule_leaves_others_alone(command: str) -> None:
    assert says(PUSH, command) is None


def test_the_strictest_wins_whatever_the_order() -> None:
    rules = [
        {"tool": "bash", "command": "git", "decision": "allow"},
        {"tool": "bash", "command": "git push", "decision": "ask"},
        {"tool": "bash", "command": "git push --force", "decision": "deny"},
    ]
    for order in (rules, rules[::-1]):
        assert [says(order, f"git {x}") for x in ("log", "push", "push --force")] == [ALLOW, ASK, DENY]


def test_a_right_is_given_only_if_every_segment_has_it() -> None:
    rules = load(
        [
            {"tool": "bash", "command": "pip install", "decision": "allow", "network": True},
            {"tool": "bash", "command": "ls", "decision": "allow"},
        ],
        "test",
    )
    assert apply_rules(rules, "bash", {"command": "pip install x"}).network
    assert not apply_rules(rules, "bash", {"command": "pip install x; ls"}).network
    assert apply_rules(rules, "bash", {"command": "pip install x; make"}).decision is None


def test_tools_are_named_or_matched_by_pattern() -> None:
    rules = load(
        [{"tool": "mcp__git__*", "decision": "deny"}, {"tool": "write", "decision": "allow"}], "test"
    )
    assert apply_rules(rules, "mcp__git__push", {}).decision is DENY
    assert apply_rules(rules, "write", {"path": "x", "command": "git push"}).decision is ALLOW
    assert apply_rules(rules, "edit", {}).decision is None


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            {"tool": "bash", "command": "git push", "decision": "deny", "match": ["git status"]},
            "does not match",
        ),
        ({"tool": "bash", "command": "git", "decision": "allow", "not_match": ["git push"]}, "matches"),
        (
            {"tool": "bash", "command": "a | b", "decision": "allow"},
            "not a plain command, or the beginning of one",
        ),
        (
            {"tool": "bash", "command": "rm *", "decision": "deny"},
            "not a plain command, or the beginning of one",
        ),
        (
            {"tool": "bash", "command": "make x=~", "decision": "allow"},
            "not a plain command, or the beginning",
        ),
        ({"tool": "write", "command": "x", "decision": "allow"}, "valid only in rules for bash"),
        ({"tool": "bash", "decision": "maybe"}, "decision"),
        (
            {"tool": "bash", "decision": "deny", "unconfined": True},
            "are valid only with the decision `allow`. Remove them.",
        ),
        ({"tool": "bash", "decision": "deny", "typo": 1}, "typo"),
        ({"decision": "deny"}, "tool"),
        ({"tool": "mcp__*", "decision": "deny", "match": ["bash"]}, "does not match"),
    ],
)
def test_a_rule_that_lies_about_itself_is_refused_with_its_place(entry: dict[str, Any], text: str) -> None:
    with pytest.raises(RuleError, match=r"config\.json, rule 2") as refused:
        load([{"tool": "bash", "decision": "ask"}, entry], "config.json")
    assert text in str(refused.value)


def test_words_know_quotes_and_continuations() -> None:
    (found,) = segments('a \'b c\' "d \\" e" f\\ g h"i"\'j\' \\\n k') or ()
    assert [word.text for word in found] == ["a", "b c", 'd " e', "f g", "hij", "k"]
    assert all(word.literal for word in found)


RM_RF = [{"tool": "bash", "command": "rm -rf", "decision": "deny"}]


@pytest.mark.parametrize(
    ("command", "decision"),
    [("rm -rf x", DENY), ("rm -fr x", DENY), ("rm -r -f x", DENY), ("rm x -rvf", DENY),
    ("rm -r x -f y", DENY),
     ("rm --recursive --force x", ASK), ("rm -r --force x", ASK), ("rm -Rf x", ASK), ("rm $x", ASK),
     ("rm -r x", None),
     ("rm x", None), ("rm --verbose x", None)],
)  # fmt: skip
def test_options_of_a_denying_rule_hold_wherever_and_however_they_stand(
    command: str, decision: Decision | None
) -> None:
    assert says(RM_RF, command) is decision


EVALUATING = [
    "printf -v 'a[$(rm)]' x", "printf %n PATH", "printf \"$x\" a", "test -v 'a[$(rm)]'",
    "[ -v 'a[$(rm)]' ]", "[ -R x ]",
    "[ $x $y ]", "[ -n * ]", "test \"$x\" \"$y\"", "read 'a[$(rm)]'", "mapfile -C rm a",
    "readarray 'a[$(rm)]'",
    "unset 'a[$(rm)]'", "declare 'a[$(rm)]=1'", "typeset x", "local x", "readonly x", "let 'a[$(rm)]'",
    "wait -p 'a[$(rm)]'", "trap rm EXIT", "trap 'rm x' DEBUG", "compgen -C rm", "complete -C rm x",
    "hash -p /tmp/x git",
    "enable -f x y", "bind -x x", "alias git=rm", "exec rm", "command rm x", "command -p rm",
    "builtin eval rm",
    "eval rm", "source x", ". x", "getopts a 'b[$(rm)]'", "fc -s", "history -s x",
    "shopt -s expand_aliases",
    "jobs -x rm", "export PATH=.", "export x", "export BASH_ENV=x", "set -k", "set -a x", "set -o posix",
    "unalias x",
    "env rm x", "env -S 'rm x'", "env A=1 rm", "nice rm", "timeout 5 rm x", "xargs rm",
    "xargs -I{} {} x", "xargs env",
    "find . -exec rm {} +", "find . -ok rm {} ;", "nohup rm", "setsid rm", "stdbuf -oL rm", "sudo rm",
    "busybox rm",
    "bash -c 'rm x'", "sh -c \"$x\"", "bash", "sh -s", "bash /dev/stdin", "dash $x", "flock l rm",
    "flock l -c rm",
    "watch rm", "su -c rm", "git -c alias.x='!rm' x", "tar --to-command=rm -xf x", "xargs sh -c ls",
    "uv run rm",
]  # fmt: skip


@pytest.mark.parametrize("command", EVALUATING)
def test_a_rule_for_a_program_does_not_vouch_for_what_it_evaluates_or_starts(command: str) -> None:
    program = command.split()[0]
    rules = [{"tool": "bash", "command": text, "decision": "allow"} for text in (program, "ls")]
    decision = says(rules, command)
    assert decision is None or (decision is ALLOW and len(command.split()) == 1 and program != "bash")


@pytest.mark.parametrize(
    "command",
    ["printf '%s\\n' \"$x\"", "printf hello", "[ -f \"$x\" ]", "[ \"$x\" = y ]", "test ! -d \"$x\"",
     "[ -n x ]",
     "set -e", "set -euo pipefail", "export CI=1", "wait", "env", "env CI=1 ls -l", "timeout 5 ls",
     "xargs ls",
     "find . -name x", "find . -exec ls {} +", "bash -c 'ls -l'", "bash build.sh x", "sh -c 'ls; ls'",
     "nice -n 5 ls",
     "command -v rm", "git -c user.name=x commit", "sudo ls", "uv run ls", "tar -xf x"],
)  # fmt: skip
def test_a_rule_for_a_program_vouches_for_what_is_understood(command: str) -> None:
    rules = [{"tool": "bash", "command": text, "decision": "allow"} for text in (command.split()[0], "ls")]
    assert says(rules, command) is ALLOW


@pytest.mark.parametrize(
    "command",
    ["source .venv/bin/activate", "trap 'ls x' EXIT", "export PATH=x", "sudo apt-get", "bash -c 'rm x'"],
)
def test_the_very_words_of_a_rule_are_vouched_for(command: str) -> None:
    assert says([{"tool": "bash", "command": command, "decision": "allow"}], command) is ALLOW


def test_a_relative_program_is_another_one_in_another_folder() -> None:
    raw = [{"tool": "bash", "command": text, "decision": "allow"} for text in ("cd", "./run", "ls")]
    assert says(raw, "./run; cd x && ls") is ALLOW
    assert says(raw, "cd x && ./run") is None
    assert apply_rules(load(raw, "test"), "bash", {"command": "./run", "cwd": "x"}).decision is None


LINES = json.loads((Path(__file__).parent / "command_lines.json").read_text())
"""Command lines in the shapes that models write, with the programs that they name."""


def test_rules_for_their_programs_vouch_for_lines_as_models_write_them() -> None:
    rules = load([{"tool": "bash", "command": p, "decision": "allow"} for p in LINES["programs"]], "test")
    for decision, lines in ((ALLOW, LINES["vouched"]), (None, LINES["asked"])):
        found = {line: apply_rules(rules, "bash", {"command": line}).decision for line in lines}
        assert found == dict.fromkeys(lines, decision)
    assert len(LINES["vouched"]) >= 300


def test_rules_that_may_change_are_looked_at_each_time() -> None:
    rules = [*load([{"tool": "bash", "command": "rm", "decision": "deny"}], "mine")]
    assert apply_rules(rules, "bash", {"command": "rm x"}).decision is Decision.DENY
    rules.clear()
    assert apply_rules(rules, "bash", {"command": "rm x"}).decision is None
