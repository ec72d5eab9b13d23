"""Layers: what git does not ignore stays as it was for an open view, and the next layer has what is new."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from planck.records.outcome import ErrorKind
from planck.workspace.views import layers
from planck.workspace.views.layers import MAX_LAYERS, LayerError, Layers
from tests.views.place import git, opened, read_tree

IGNORED = ("node_modules", ".env")


def _replace(path: Path, text: str) -> None:
    other = path.with_name(f"{path.name}.tmp.log")
    other.write_text(text)
    other.rename(path)


def _in_place(path: Path) -> None:
    with path.open("r+") as file:
        file.write("NEW")


def _exchange(one: Path, other: Path) -> None:
    aside = one.with_name("t.log")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "x").touch()


def _make_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x")


def _make_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("file1.txt")


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write("more")


CHANGES: dict[str, Callable[[Path], object]] = {
    "replaced by a rename": lambda base: _replace(base / "src/file0.txt", "new"),
    "written in place": lambda base: _in_place(base / "src/file0.txt"),
    "appended to": lambda base: _append(base / "src/file0.txt"),
    "truncated": lambda base: os.truncate(base / "src/file0.txt", 0),
    "created": lambda base: (base / "src/new.txt").write_text("new"),
    "created in a folder below": lambda base: (base / "src/deep/new.txt").write_text("new"),
    "deleted": lambda base: (base / "src/file0.txt").unlink(),
    "folder deleted": lambda base: shutil.rmtree(base / "src/deep"),
    "folder renamed": lambda base: (base / "src/deep").rename(base / "src/moved"),
    "folder above renamed": lambda base: (base / "src").rename(base / "moved.log"),
    "file renamed": lambda base: (base / "src/file0.txt").rename(base / "src/moved.txt"),
    "files exchanged": lambda base: _exchange(base / "src/file0.txt", base / "src/file1.txt"),
    "mode changed": lambda base: (base / "src/file0.txt").chmod(0o777),
    "file became a folder": lambda base: _make_folder(base / "src/file0.txt"),
    "folder became a file": lambda base: _make_file(base / "src/deep"),
    "became a link": lambda base: _make_link(base / "src/file0.txt"),
    "empty folder filled": lambda base: (base / "src/empty/x.txt").write_text("x"),
}


def _kept(shown: dict[str, str | None]) -> dict[str, str | None]:
    return {name: text for name, text in shown.items() if name == "src" or name.startswith("src/")}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_workspace_is_seen_in_the_next_view_and_in_none_that_is_open(
    folder: Path, change: str
) -> None:
    with opened(folder) as tree:
        before = read_tree(tree.base)
        assert tree.shown() == before
        unseen = tree.mount("v2")  # nobody looked a name up in it yet
        try:
            CHANGES[change](tree.base)
            for view in (tree.view, unseen):
                assert _kept(tree.shown(view)) == _kept(before)
                assert tree.shown(view)[".env"] == "KEY=ours\n"
        finally:
            unseen._close()
        tree.mount_again()
        assert _kept(tree.shown()) == _kept(before)
        later = tree.mount("v3", tree.take())
        try:
            assert tree.shown(later) == read_tree(tree.base)
        finally:
            later._close()


@pytest.mark.soak
@pytest.mark.skipif(not os.access("/proc/sys/vm/drop_caches", os.W_OK), reason="needs root")
@pytest.mark.parametrize("change", CHANGES)
def test_nor_after_the_kernel_dropped_what_it_remembers(folder: Path, change: str) -> None:
    with opened(folder) as tree:
        before = read_tree(tree.base)
        assert tree.shown() == before
        CHANGES[change](tree.base)
        Path("/proc/sys/vm/drop_caches").write_text("2")
        assert _kept(tree.shown()) == _kept(before)


def test_names_that_are_not_utf8_are_in_the_layers(folder: Path) -> None:
    with opened(folder) as tree:
        for name in (b"bad\xff", b"src/\xfe.txt"):
            (tree.base / os.fsdecode(name)).write_text("x")
            layers = tree.take()
        assert layers[-1] == "layers/1"
        later = tree.mount("v3", tree.take())
        try:
            assert tree.shown(later) == read_tree(tree.base)
        finally:
            later._close()


def test_a_layer_whose_process_was_killed_before_it_wrote_that_down_is_in_nobodys_way(folder: Path) -> None:
    with opened(folder) as tree:
        (tree.home / "layers/state").unlink()
        assert tree.take() == ("layers/2",)
        assert tree.shown() == read_tree(tree.base)  # the view has the first one


def test_many_layers_on_each_other_are_the_workspace_too(folder: Path) -> None:
    with opened(folder) as tree:
        changes = [*CHANGES.values()]
        for number in range(MAX_LAYERS + 3):
            if number < len(changes) and (tree.base / "src/file0.txt").is_file():
                try:
                    changes[number](tree.base)
                except OSError:
                    pass  # what it changes is gone by an earlier one
            (tree.base / f"n{number}.txt").write_text("x")
            found = tree.take()
            assert len(found) <= MAX_LAYERS
            view = tree.mount(f"v{number + 2}", found)
            try:
                assert tree.shown(view) == read_tree(tree.base)
            finally:
                view._close()


def test_the_next_layer_holds_only_what_differs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "_FRESH", 0)  # else all that was made a moment ago is copied again
    with opened(folder) as tree:
        assert tree.take() == tree.layers
        (tree.base / "src/file0.txt").write_text("new, longer")
        (tree.base / "src/file1.txt").unlink()
        found = tree.take()
        layer = tree.home / found[0]
        assert [*read_tree(layer)] == ["src", "src/file0.txt", "src/file1.txt"]
        assert stat.S_ISCHR((layer / "src/file1.txt").lstat().st_mode)


def test_what_follows_the_workspace_is_seen_in_the_next_view_though_it_came_late(folder: Path) -> None:
    with opened(folder) as tree:
        (tree.base / "src/later.log").write_text("ignored")  # `src` held nothing ignored before
        (tree.base / ".gitignore").write_text("node_modules\n.env\n*.log\nfile1.txt\n")
        git(tree.base, "rm", "-q", "--cached", "src/file1.txt")
        view = tree.mount("v2", tree.take())
        try:
            assert tree.shown(view) == read_tree(tree.base)
            (tree.base / "src/file1.txt").write_text("followed")
            assert tree.shown(view)["src/file1.txt"] == "followed"
        finally:
            view._close()


def test_a_workspace_without_git_is_copied_but_for_what_is_heavy(folder: Path) -> None:
    with opened(folder) as tree:
        shutil.rmtree(tree.base / ".git")
        home = folder / "other"
        home.mkdir()
        found = Layers(str(tree.base), str(home), os.environ).take()
        copied = read_tree(home / found[0])
        assert copied["src/file0.txt"] == "old 0\n"
        assert copied[".env"] == "KEY=ours\n"
        assert "node_modules" not in copied


def test_a_file_that_changes_while_it_is_copied_is_copied_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as tree:
        target = tree.base / "src/file0.txt"
        copied: list[str] = []
        copy = layers._copy_content

        def change_once(reading: int, path: str, found: os.stat_result) -> None:
            copy(reading, path, found)
            if path.endswith("file0.txt"):
                copied.append(path)
                if len(copied) == 1:
                    target.write_text("changed meanwhile")

        monkeypatch.setattr(layers, "_copy_content", change_once)
        target.write_text("first")
        view = tree.mount("v2", tree.take())
        try:
            assert tree.shown(view)["src/file0.txt"] == "changed meanwhile"
            assert len(copied) >= 2
        finally:
            view._close()


def test_a_full_disk_is_an_error_that_says_what_to_do_and_leaves_the_layers_as_they_were(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as tree:
        (tree.base / "src/file0.txt").write_text("new")

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(layers, "_copy_content", fail)
            with pytest.raises(LayerError, match=r"is full, so no view can be made\. Free") as full:
                tree.take()
        assert full.value.err.kind is ErrorKind.WRITE_FAILED
        assert sorted(os.listdir(tree.home / "layers")) == ["1", "state"]
        view = tree.mount("v2", tree.take())
        try:
            assert tree.shown(view) == read_tree(tree.base)
        finally:
            view._close()


def test_a_file_that_was_changed_a_moment_ago_is_never_taken_for_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stamp(found: os.stat_result) -> layers.Signature:
        """As of a disk on which two changes have one time."""
        return found.st_ino, found.st_size, 0, 0, found.st_mode

    monkeypatch.setattr(layers, "_stamp", stamp)
    monkeypatch.setattr(layers, "_FRESH", 10**12)
    with opened(folder) as tree:
        _in_place(tree.base / "src/file0.txt")
        tree.take()
        with (tree.base / "src/file0.txt").open("r+") as file:
            file.write("two")
        view = tree.mount("v2", tree.take())
        try:
            assert (tree.shown(view)["src/file0.txt"] or "").startswith("two")
        finally:
            view._close()
