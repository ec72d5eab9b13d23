"""Authority only shrinks: over any tree of spawns, whatever is asked."""

import random

import pytest

from planck.permissions.authority import effective_authority, grant, meet, session_ceiling
from planck.records.authority import STRICTNESS, Authority, Mode
from planck.records.specs import AgentSpec, ModelSpec, Role
from planck.records.tools import ORCHESTRATOR_TOOLS

TOOLS = ("bash", "edit", "read", "write", "mcp__git__push", "spawn_agent", "list_models", "", "Bash", "*")
SKILLS = ("review", "deploy", "tests")
ROOTS = ("/w", "/w/a", "/w/a/b", "/w/ab", "/other")
WATCHED = ("/w/a/b/f", "/w/ab/f", "/w/f", "/other/f", "/etc/f")
ROLES: tuple[Role, ...] = ("worker", "orchestrator")


@pytest.mark.parametrize("trees", [2_000, pytest.param(20_000, marks=pytest.mark.soak)])
def test_no_right_grows_in_random_spawn_trees(trees: int) -> None:
    seed = 7
    rng = random.Random(seed)
    for tree in range(trees):
        ceiling = _any_authority(rng)
        most = _rights(ceiling)
        root = meet(ceiling, _any_authority(rng))
        agents = [(root, _rights(root))]
        for _ in range(rng.randint(1, 8)):
            parent, held = rng.choice(agents)
            tools, skills, role = _some(rng, TOOLS), _some(rng, SKILLS), rng.choice(ROLES)
            child = grant(parent, role, tools, skills)

            def where() -> str:
                return (
                    f"seed {seed}, tree {tree}: {tools} and {skills} of {parent} under {ceiling} gave {child}"  # noqa: B023
                )

            rights = _rights(child)
            assert rights <= held, where()
            assert rights <= most, where()
            assert child.spawn_depth < max(parent.spawn_depth, 1), where()
            assert role == "orchestrator" or not set(child.tools or ()) & set(ORCHESTRATOR_TOOLS), where()
            agents.append((child, rights))


def test_a_child_gets_what_it_asked_for_and_its_parent_has() -> None:
    parent = Authority(
        Mode.ASK, tools=("bash", "read"), skills=(), roots=("/w",), network=True, spawn_depth=2
    )
    child = grant(parent, "worker", ("write", "read", "spawn_agent"), ("deploy",))
    assert child == Authority(Mode.ASK, tools=("read",), skills=(), roots=("/w",), network=True)


def test_a_root_that_is_not_canonical_is_nobody_s_subfolder() -> None:
    one, other = (
        Authority(Mode.FULL, roots=("/w",)),
        Authority(Mode.FULL, roots=("/w/../etc", "/w/a/..", "/w/a")),
    )
    assert meet(one, other).roots == meet(other, one).roots == ("/w/a",)


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
        roots=tuple(sorted(_some(rng, ROOTS))),
        network=rng.random() < 0.5,
        spawn_depth=rng.randint(0, 3),
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


def test_the_workspace_stays_the_first_of_an_agents_roots_whatever_the_others_are_called() -> None:
    ceiling = session_ceiling(Mode.WORKSPACE, ("/z/work", "/a/added", "/m/added"), 1)
    spec = AgentSpec("1", "w", "w", "worker", ModelSpec("p", "m"), authority=grant(ceiling, "worker", (), ()))
    assert effective_authority(spec, ceiling).roots == ("/z/work", "/a/added", "/m/added")
