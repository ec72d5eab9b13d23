"""The demo: a small project with a failing test, and an offline model that mends it through real tools."""

from pathlib import Path

from planck.headless.headless import Planck
from planck.llm.scripted import Say, ScriptedProvider

PROMPT = "The tests of this project fail. Find out why, mend it, and show that they pass."

_PROJECT = {
    "prices.py": '''\
def total(prices, discount=0):
    """The sum of the prices, less a discount in percent."""
    return sum(prices) - discount
''',
    "test_prices.py": """\
import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([10, 20]), 30)

    def test_discount_is_in_percent(self):
        self.assertEqual(total([100, 100], discount=10), 180)


if __name__ == "__main__":
    unittest.main()
""",
}

_MENDED = _PROJECT["prices.py"].replace("sum(prices) - discount", "sum(prices) * (100 - discount) / 100")

_RUN_TESTS = "python3 -B -m unittest -q 2>&1"

_SCRIPT: list[Say | str] = [
    Say(text="I run the tests first, to see the failure.", calls=[("bash", {"command": _RUN_TESTS})]),
    Say(
        text="One fails. I read the code and its test together.",
        calls=[("read", {"path": "prices.py"}), ("read", {"path": "test_prices.py"})],
    ),
    Say(
        text="The discount is subtracted as an amount, not taken as a percentage.",
        calls=[("write", {"path": "prices.py", "content": _MENDED})],
    ),
    Say(text="Now the tests again.", calls=[("bash", {"command": _RUN_TESTS})]),
    "Mended: `total` in prices.py took the discount as an amount; it is a percentage now. "
    "Both tests pass in the last run above; nothing else was changed.",
]


def make_project(folder: Path) -> Path:
    folder.mkdir()
    for name, text in _PROJECT.items():
        (folder / name).write_text(text)
    return folder


def open_demo(folder: Path) -> Planck:
    """Planck on the demo's project, with a home of its own in the same folder."""
    return Planck(
        home=folder / "home",
        workspace=make_project(folder / "project"),
        providers={"offline": ScriptedProvider(_SCRIPT)},
        flags={"default_model": "offline/demo", "permissions": {"mode": "full"}},
    )
