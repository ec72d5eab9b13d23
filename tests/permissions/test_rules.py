"""Rules match parsed words, segment by segment; what is not known is asked."""

from typing import Any

import pytest

from planck.permissions.rules import Decision, RuleError, apply_rules, load
from planck.shell.script import segments

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


def says(raw: list[dict[str, Any]], command: str) -> Decision | None:
    return apply_rules(load(raw, "test"), "bash", {"command": command}).decision


STATUS = [{"tool": "bash", "command": "git status", "decision": "allow"}]
PUSH = [{"tool": "bash", "command": "git push", "decision": "deny"}]


@pytest.mark.parametrize(
    "command",
    ["git status", "  git   status --short", "'git' \"status\"", "git status | git status", "g\\it status\n",
     "git status;", "git status & git status -s", "git \\\nstatus", "git status $name", "git status *.py"],
)  # fmt: skip
def test_a_prefix_of_words_allows(command: str) -> None:
    assert says(STATUS, command) is ALLOW


@pytest.mark.parametrize(
    "command",
    ["git", "git stash", "git-status", "gitstatus", "git -C . status", "git 'status -s'", "git status; rm x",
     "git status && rm x", "git status | sh", "git status & rm x", "rm x\ngit status", "git status || rm x",
     "git status > out", "git status >> out", "git status 2>&1", "git status < in", "git status <<< x",
     "git status $(rm x)", "git status `rm x`", "git status \"$(rm x)\"", "git status ${x:-$(rm)}",
     "git status <(rm x)", "(git status)", "{ git status; }", "git status () { rm x; }", "X=1 git status",
     "if git status; then rm x; fi", "! git status", "time git status", "git status <<E\nx\nE",
     "git s{t,x}atus",
     "$GIT status", "gi? status", "git \"status", "git 'status", "git status \\", "git status # rm",
     "git status |", "git status &&", "| git status", "; git status", "git status ;; rm", "git\rstatus",
     "git status\x00", "git st\x1batus", "git status $'\\x0a'", "git status $((1))", "~/git status",
     "git status " + "x" * 20_000, ";".join(["git status"] * 65), "env git status", "", "  \n",
     "git\u00a0status", "eval git status", "function git { rm x; }", "coproc git status",
     "[[ a ]] git status"],
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
    ["git -C . push", "git --no-pager push", "/usr/bin/git push", "$GIT push", "git $what", "git pu*",
     "git \"$x\"",
     "env git push", "sudo git push", "xargs git push", "sh -c 'git push'", "bash -c \"git push\"",
     "eval git push",
     "python3 -c 'x'", "git push > out", "echo $(git push)", "X=1 git push", "if true; then git push; fi"],
)  # fmt: skip
def test_a_denying_rule_that_might_be_meant_asks(command: str) -> None:
    assert says(PUSH, command) is ASK
    assert says([{"tool": "bash", "decision": "allow"}, *PUSH], command) is ASK


@pytest.mark.parametrize("command", ["git status", "ls", "echo git push", "git log --grep=push"])
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
        ({"tool": "bash", "command": "a | b", "decision": "allow"}, "not the beginning of one plain command"),
        ({"tool": "bash", "command": "rm *", "decision": "deny"}, "not the beginning of one plain command"),
        ({"tool": "write", "command": "x", "decision": "allow"}, "only bash"),
        ({"tool": "bash", "decision": "maybe"}, "decision"),
        ({"tool": "bash", "decision": "deny", "unconfined": True}, "only `allow`"),
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
