"""A rule that "always" saves is for one project: its canonical folder, and no other that takes its place."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from planck.config.project import Project
from planck.config.rules import RuleBook
from planck.permissions.rules import Decision, Rule, RuleError, load

RULE = Rule(tool="edit", decision=Decision.ALLOW)


def open_book(home: Path, workspace: Path) -> RuleBook:
    return RuleBook(Project(home, workspace, {"HOME": str(home.parent)}))


def count(home: Path, workspace: Path) -> int:
    return len(open_book(home, workspace).policy_context(None).rules)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    for name in ("shop", "shop/sub", "other"):
        (tmp_path / name).mkdir()
    return tmp_path / "home"


def save(home: Path, workspace: Path) -> dict[str, Any]:
    book = open_book(home, workspace)
    book.keep(book.bind(RULE))
    (rule,) = json.loads((home / "config.json").read_text())["permissions"]["rules"]
    assert isinstance(rule, dict)
    return rule


def test_a_saved_rule_applies_in_its_project_alone(home: Path, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    assert save(home, shop)["project"] == str(shop)
    assert not (shop / ".planck").exists(), "a project never holds what the user allowed"
    (tmp_path / "link").symlink_to(shop)
    found = {name: count(home, tmp_path / name) for name in ("shop", "link", "shop/sub", "other")}
    assert found == {"shop": 1, "link": 1, "shop/sub": 0, "other": 0}
    (rule,) = open_book(home, shop).policy_context(None).rules
    assert str(rule) == f"allow 'edit' ({home}/config.json, rule 1, only in {shop})"


@pytest.mark.parametrize("how", ["moved", "replaced", "linked"])
def test_a_folder_that_took_the_place_of_a_project_is_another(home: Path, tmp_path: Path, how: str) -> None:
    shop = tmp_path / "shop"
    save(home, shop)
    shop.rename(tmp_path / "moved")  # its inode stays in use, so no other folder gets it
    if how == "moved":
        assert count(home, tmp_path / "moved") == 0
    elif how == "replaced":
        shop.mkdir()
        assert count(home, shop) == 0
    else:
        shop.symlink_to(tmp_path / "moved")
        assert count(home, shop) == 0


def test_rules_of_earlier_versions_apply_everywhere(home: Path, tmp_path: Path) -> None:
    rules = [{"tool": "edit", "decision": "allow"}, {"tool": "write", "decision": "deny"}]
    (home / "config.json").write_text(json.dumps({"permissions": {"rules": rules}}))
    assert [count(home, tmp_path / name) for name in ("shop", "other")] == [2, 2]


def test_a_rule_written_by_hand_names_a_folder_without_an_id(home: Path, tmp_path: Path) -> None:
    rule = {"tool": "bash", "decision": "deny", "project": os.fspath(tmp_path / "shop")}
    (home / "config.json").write_text(json.dumps({"permissions": {"rules": [rule]}}))
    assert [count(home, tmp_path / name) for name in ("shop", "other")] == [1, 0]


@pytest.mark.parametrize("wrong", [{"project": "shop"}, {"project_id": "7"}])
def test_a_project_that_says_nothing_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(RuleError, match="project"):
        load([{"tool": "edit", "decision": "allow", **wrong}], "test")
