"""Roots that no sandbox ever makes writable: commands and file tools ask here, and so have one policy.

Where the line is: a root is closed by what it is (it holds a home, it can't be protected), never by what the
machine lacks. Without bubblewrap no command can be confined, and yet no ordinary project is closed.
"""

import os
from collections.abc import Iterable

from planck.own_code import list_own, tell_own
from planck.records.authority import PROTECTED
from planck.workspace.paths.paths import is_inside


def find_closed(root: str, homes: Iterable[str] = ()) -> str:
    """Returns why no sandbox may write in a root, with what to do about it; empty: one may."""
    from planck.workspace.process.containment import sandbox_program
    from planck.workspace.sandbox.guard import ProtectedMounts
    from planck.workspace.sandbox.sandbox import SandboxError
    from planck.workspace.sandbox.stubs import Stubs

    if why := find_held_home(root, homes) or find_unsound(root, sandbox_program()):
        return why
    try:
        ProtectedMounts((root,), Stubs(())).protect_root(root, PROTECTED)
    except SandboxError as refused:
        return refused.err.message
    return ""


def find_held_home(root: str, homes: Iterable[str]) -> str:
    """A root that holds a home can't be writable: its rc files, or our own keys and rules, act outside."""
    held = next((home for home in homes if is_inside(home, (root,))), "")
    what = "is a home folder" if held == root else f"contains the home folder {held!r}"
    return f"{root!r} {what}; work in a project folder" if held else ""


def find_unsound(root: str, program: str | None) -> str:
    """Looks at the place alone; `program` is what confines commands."""
    if root == "/" or root != os.path.realpath(root):
        return f"{root!r} cannot be made writable in the sandbox; work in a project folder"
    own = list_own((root,))
    if root in own:
        return tell_own(root)
    if program is not None and is_inside(program, (root,)) and not is_inside(program, own):
        return (
            f"{program} is inside {root}, where a command could replace it; "
            "install bubblewrap or Planck elsewhere (with `apt-get install bubblewrap` or `uv tool install`)"
        )
    return ""
