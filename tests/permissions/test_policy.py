"""The modes of the contract, and what rules may change about them."""

from typing import Any

import pytest

from planck.permissions.policy import PolicyContext, judge
from planck.permissions.rules import Decision, load
from planck.records.authority import Authority, Confinement, Mode
from planck.toolkit.tool import Effect

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
WORK = ("/w",)


def verdict(
    mode: Mode,
    effect: Effect,
    *,
    sandbox: bool,
    confinable: bool = True,
    rules: Any = (),
    command: str = "ls",
) -> tuple[Decision, Confinement]:
    around = PolicyContext(load(rules, "test"), no_sandbox="" if sandbox else "none")
    tool = {Effect.COMMAND: "bash", Effect.FILES: "write"}.get(effect, "read")
    found = judge(
        Authority(mode, roots=WORK, network=True), around, tool, effect, confinable, {"command": command}
    )
    return found.decision, found.confinement


@pytest.mark.parametrize(
    ("mode", "sandbox", "expected"),
    [
        (Mode.READ_ONLY, True, {"none": ALLOW, "team": ALLOW, "files": DENY, "command": ALLOW}),
        (Mode.READ_ONLY, False, {"none": ALLOW, "team": ALLOW, "files": DENY, "command": DENY}),
        (Mode.PLAN, True, {"none": ALLOW, "team": ALLOW, "files": DENY, "command": ALLOW}),
        (Mode.PLAN, False, {"none": ALLOW, "team": ALLOW, "files": DENY, "command": DENY}),
        (Mode.ASK, True, {"none": ALLOW, "team": ALLOW, "files": ASK, "command": ASK}),
        (Mode.ASK, False, {"none": ALLOW, "team": ALLOW, "files": ASK, "command": ASK}),
        (Mode.WORKSPACE, True, {"none": ALLOW, "team": ALLOW, "files": ALLOW, "command": ALLOW}),
        (Mode.WORKSPACE, False, {"none": ALLOW, "team": ALLOW, "files": ALLOW, "command": ASK}),
        (Mode.FULL, False, {"none": ALLOW, "team": ALLOW, "files": ALLOW, "command": ALLOW}),
    ],
)
def test_the_modes_of_the_contract(mode: Mode, sandbox: bool, expected: dict[str, Decision]) -> None:
    assert {effect.value: verdict(mode, effect, sandbox=sandbox)[0] for effect in Effect} == expected


def test_what_cannot_be_confined_is_no_better_than_no_sandbox() -> None:
    assert verdict(Mode.READ_ONLY, Effect.COMMAND, sandbox=True, confinable=False)[0] is DENY
    assert verdict(Mode.WORKSPACE, Effect.COMMAND, sandbox=True, confinable=False)[0] is ASK


def test_the_rights_follow_the_mode() -> None:
    rights = {mode: verdict(mode, Effect.COMMAND, sandbox=True)[1] for mode in Mode}
    assert rights[Mode.READ_ONLY] == rights[Mode.PLAN] == Confinement(Mode.READ_ONLY, WORK)
    assert rights[Mode.WORKSPACE] == Confinement(Mode.WORKSPACE, WORK, WORK)
    assert rights[Mode.FULL] == Confinement(Mode.FULL, WORK, WORK, network=True)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("decision", [DENY, ASK])
def test_a_rule_narrows_every_mode(mode: Mode, decision: Decision) -> None:
    rules = [{"tool": "bash", "decision": decision}, {"tool": "read", "decision": decision}]
    assert verdict(mode, Effect.COMMAND, sandbox=True, rules=rules)[0] is decision
    assert verdict(mode, Effect.NONE, sandbox=True, rules=rules)[0] is decision


def test_no_rule_lifts_what_read_only_denies_or_gives_it_rights() -> None:
    rules = [{"tool": "*", "decision": "allow", "network": True, "unconfined": True}]
    assert verdict(Mode.READ_ONLY, Effect.FILES, sandbox=True, rules=rules)[0] is DENY
    assert verdict(Mode.READ_ONLY, Effect.COMMAND, sandbox=False, rules=rules)[0] is DENY
    found = verdict(Mode.READ_ONLY, Effect.COMMAND, sandbox=True, rules=rules)
    assert found == (ALLOW, Confinement(Mode.READ_ONLY, WORK))


def test_a_rule_answers_what_would_be_asked_and_gives_what_it_says() -> None:
    plain = [{"tool": "bash", "command": "ls", "decision": "allow"}]
    network = [{**plain[0], "network": True}]
    outside = [{**plain[0], "unconfined": True}]
    assert verdict(Mode.ASK, Effect.COMMAND, sandbox=True, rules=plain) == (
        ALLOW,
        Confinement(Mode.ASK, WORK, WORK),
    )
    found = [
        verdict(Mode.WORKSPACE, Effect.COMMAND, sandbox=True, rules=r)[1] for r in (plain, network, outside)
    ]
    assert [(one.mode, one.network) for one in found] == [
        (Mode.WORKSPACE, False),
        (Mode.WORKSPACE, True),
        (Mode.FULL, True),
    ]


def test_an_unreadable_command_asks_where_a_rule_might_deny_and_nowhere_else() -> None:
    rules = [{"tool": "bash", "command": "rm", "decision": "deny"}]
    command = "echo $($x y)"
    assert verdict(Mode.FULL, Effect.COMMAND, sandbox=True, rules=rules, command=command)[0] is ASK
    allow = [{"tool": "bash", "command": "echo", "decision": "allow"}]
    assert verdict(Mode.FULL, Effect.COMMAND, sandbox=True, rules=allow, command=command)[0] is ALLOW
    assert verdict(Mode.ASK, Effect.COMMAND, sandbox=True, rules=allow, command=command)[0] is ASK


def test_a_tool_that_was_not_granted_is_denied_in_every_mode() -> None:
    for mode in Mode:
        found = judge(Authority(mode, tools=("read",)), PolicyContext(), "bash", Effect.COMMAND, True, {})
        assert (found.decision, "not granted" in found.why) == (DENY, True)
