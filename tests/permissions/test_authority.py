"""Authority only shrinks: over any tree of spawns, whatever is asked."""

import random

import pytest

from planck.permissions.authority import Asked, granted, meet
from planck.records.authority import STRICTNESS, Authority, Mode
from planck.records.specs import ORCHESTRATOR_TOOLS, Role

TOOLS = ("bash", "edit", "read", "write", "mcp__git__push", "spawn_agent", "list_models", "", "Bash", "*")
SKILLS = ("review", "deploy", "tests")
ROOTS = ("/w", "/w/a", "/w/a/b", "/w/ab", "/other", "/", "/w/../etc", "/w/a/..")
WATCHED = ("/w/a/b/f", "/w/ab/f", "/w/f", "/other/f", "/etc/f")
ROLES: tuple[Role, ...] = ("worker", "orchestrator")


def test_no_right_grows_in_twenty_thousand_random_spawn_trees() -> None:
    seed = 7
    rng = random.Random(seed)
    for tree in range(20_000):
        ceiling = _any_authority(rng)
        most = _rights(ceiling)
        root = meet(ceiling, _any_authority(rng))
        agents = [(root, _rights(root))]
        for _ in range(rng.randint(1, 8)):
            parent, held = rng.choice(agents)
            asked, role = _any_request(rng), rng.choice(ROLES)
            child = granted(ceiling, parent, role, asked).authority

            def where() -> str:
                return f"seed {seed}, tree {tree}: {asked} of {parent} under {ceiling} gave {child}"  # noqa: B023

            rights = _rights(child)
            assert rights <= held, where()
            assert rights <= most, where()
            assert child.spawn_depth < max(parent.spawn_depth, 1), where()
            assert role == "orchestrator" or not set(child.tools or ()) & set(ORCHESTRATOR_TOOLS), where()
            agents.append((child, rights))


def test_what_was_asked_and_not_given_is_named() -> None:
    parent = Authority(Mode.ASK, tools=("bash", "read"), skills=(), roots=("/w",))
    asked = Asked(
        tools=("read", "write", "spawn_agent"),
        skills=("deploy",),
        mode=Mode.FULL,
        roots=("/w/a", "/etc", "/w/../etc"),
        network=True,
    )
    result = granted(parent, parent, "worker", asked)
    assert result.authority == Authority(Mode.ASK, tools=("read",), skills=(), roots=("/w/a",))
    assert result.ignored == (
        "write",
        "spawn_agent",
        "deploy",
        "mode full",
        "root /etc",
        "root /w/../etc",
        "network",
    )


def test_a_narrower_request_is_what_the_child_gets() -> None:
    parent = Authority(Mode.FULL, roots=("/w",), network=True, spawn_depth=1)
    child = granted(parent, parent, "worker", Asked(tools=("bash",), mode=Mode.READ_ONLY, network=False))
    assert child.authority == Authority(Mode.READ_ONLY, tools=("bash",), skills=(), roots=("/w",))
    assert child.ignored == ()


@pytest.mark.parametrize("seed", range(20))
def test_meet_is_the_greatest_lower_bound(seed: int) -> None:
    rng = random.Random(seed)
    one, other = _any_authority(rng), _any_authority(rng)
    both = meet(one, other)
    assert both == meet(other, one) == meet(both, both)
    assert _rights(both) == _rights(one) & _rights(other)


def _any_authority(rng: random.Random) -> Authority:
    return Authority(
        mode=rng.choice(STRICTNESS),
        tools=None if rng.random() < 0.3 else tuple(sorted(_some(rng, TOOLS))),
        skills=None if rng.random() < 0.3 else tuple(sorted(_some(rng, SKILLS))),
        roots=tuple(sorted(_some(rng, ROOTS[:5]))),
        network=rng.random() < 0.5,
        spawn_depth=rng.randint(0, 3),
    )


def _any_request(rng: random.Random) -> Asked:
    return Asked(
        tools=tuple(_some(rng, TOOLS)),
        skills=tuple(_some(rng, SKILLS)),
        mode=rng.choice((None, *STRICTNESS)),
        roots=None if rng.random() < 0.3 else tuple(_some(rng, ROOTS)),
        network=rng.choice((None, True, False)),
    )


def _some(rng: random.Random, items: tuple[str, ...]) -> list[str]:
    return rng.sample(items, rng.randint(0, len(items)))


def _rights(authority: Authority) -> set[str]:
    """Everything the authority allows, one by one, told by looking and not by the code under test."""
    rights = {f"mode {mode}" for mode in STRICTNESS[: STRICTNESS.index(authority.mode) + 1]}
    rights |= {f"tool {tool}" for tool in (TOOLS if authority.tools is None else authority.tools)}
    rights |= {f"skill {skill}" for skill in (SKILLS if authority.skills is None else authority.skills)}
    rights |= {
        f"write {path}" for path in WATCHED if any(path.startswith(f"{root}/") for root in authority.roots)
    }
    rights |= {f"depth {depth}" for depth in range(1, authority.spawn_depth + 1)}
    return rights | ({"network"} if authority.network else set())
