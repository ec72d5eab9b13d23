"""Files that a message names, as text and as images."""

import base64
import os
import zlib
from pathlib import Path

import pytest

from planck.headless import attach
from planck.headless.attachments import Attached
from planck.records.outcome import ErrorKind, PlanckError

PNG = b"\x89PNG\r\n\x1a\n" + zlib.compress(b"x" * 100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n")
    (tmp_path / "shot.png").write_bytes(PNG)
    (tmp_path / "my shot.png").write_bytes(PNG)
    return tmp_path


def test_a_text_stands_below_the_message_between_lines_that_it_cannot_forge(folder: Path) -> None:
    made = attach("what is @src/a.py, and why?", folder)
    first, _, rest = made.text.partition("\n\n")
    assert first == "what is @src/a.py, and why?"
    head, body, tail, end = rest.split("\n")
    mark = head.split()[2].rstrip(",")
    assert (head, body) == (f"[file src/a.py {mark}, attached by the user]", "x = 1")
    assert (tail, end) == ("", f"[end of file {mark}]")
    assert made.notes == ("attached src/a.py (6 characters)",)


@pytest.mark.parametrize(
    "text",
    [
        "see @shot.png",
        "see @shot.png.",
        'see @"my shot.png"',
        "{folder}/shot.png what is it?",
        "{folder}/my\\ shot.png",
        "'{folder}/my shot.png'",
        "./shot.png",
    ],
)
def test_an_image_by_reference_or_by_a_pasted_path(folder: Path, text: str) -> None:
    text = text.replace("{folder}", str(folder))
    made = attach(text, folder)
    assert made.text == text
    assert [(image.media_type, base64.b64decode(image.data)) for image in made.images] == [("image/png", PNG)]


@pytest.mark.parametrize(
    "text", ["@pytest.fixture", "me@example.invalid", "/etc/hosts is odd", "no @", "@~nobody-x/y z"]
)
def test_what_names_no_file_is_sent_as_it_is(folder: Path, text: str) -> None:
    made = attach(text, folder)
    assert (made.text, made.images) == (text, ())


def test_a_missing_file_is_noted(folder: Path) -> None:
    assert attach("see @src/b.py", folder) == Attached(
        "see @src/b.py", (), ("'src/b.py' is not a file; sent as plain text",)
    )


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("missing.png", None, ErrorKind.NOT_FOUND),
        ("text.png", b"<svg/>", ErrorKind.INVALID_ARGS),
        ("empty.png", b"", ErrorKind.INVALID_ARGS),
        ("large.png", PNG + bytes(5 << 20), ErrorKind.LIMIT_EXCEEDED),
        ("program", b"\x7fELF\0\0", ErrorKind.INVALID_ARGS),
    ],
)
def test_what_cannot_be_attached_is_told_and_nothing_is_sent(
    folder: Path, name: str, content: bytes | None, kind: ErrorKind
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(PlanckError) as failure:
        attach(f"look at @{name}", folder)
    assert failure.value.err.kind is kind
    assert name in failure.value.err.message


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.png")
    with pytest.raises(PlanckError) as failure:
        attach("look at @pipe.png", folder)
    assert failure.value.err.kind is ErrorKind.READ_FAILED


def test_a_project_s_own_command_reads_nothing_outside_of_it(folder: Path) -> None:
    (folder / "secret").write_text("the key")
    (folder / "src" / "link").symlink_to(folder / "secret")
    made = attach(f"@../secret @{folder}/secret @link @a.py", folder / "src", within=folder / "src")
    assert "the key" not in made.text
    assert "x = 1" in made.text
    assert len([note for note in made.notes if note.endswith("and was not read")]) == 3


def test_a_folder_is_its_names_and_many_files_are_refused(folder: Path) -> None:
    assert "my shot.png\nshot.png\nsrc/\n" in attach("what is in @./", folder).text
    for number in range(30):
        (folder / f"f{number}").write_text("x" * 60_000)
    with pytest.raises(PlanckError) as failure:
        attach(" ".join(f"@f{number}" for number in range(30)), folder)
    assert failure.value.err.kind is ErrorKind.LIMIT_EXCEEDED


def plant(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace with links that lead out of it, and the folder that they lead to."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "sub").mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (outside / "id_rsa").write_text("the key")
    (outside / "shot.png").write_bytes(PNG)
    for name, target in {
        "notes.md": outside / "id_rsa",
        "chain.md": work / "notes.md",
        "up.md": Path("../outside/id_rsa"),
        "folder": outside,
        "folder.d": outside / "deep",
        "shot.png": outside / "shot.png",
        "sub/proc.md": Path("/proc/self/cwd"),
    }.items():
        (work / name).symlink_to(target)
    (tmp_path / "alias").symlink_to(work)
    return work, outside


@pytest.mark.parametrize(
    "name",
    [
        "notes.md",
        "./notes.md",
        "sub/../notes.md",
        "../work/notes.md",
        "../alias/notes.md",
        "{tmp}/work/notes.md",
        "{tmp}/alias/notes.md",
        "chain.md",
        "up.md",
        "folder",
        "folder/id_rsa",
        "folder.d/../id_rsa",
        "sub/proc.md",
        "shot.png",
        "folder/shot.png",
    ],
)
@pytest.mark.parametrize("form", ["@{}", 'see @"{}".', "image"])
def test_a_name_in_the_workspace_does_not_lead_out_of_it(tmp_path: Path, name: str, form: str) -> None:
    work, _ = plant(tmp_path)
    name = name.replace("{tmp}", str(tmp_path))
    images = [name if name.endswith(".png") else "shot.png"] if form == "image" else []
    with pytest.raises(PlanckError) as failure:
        attach(form.format(name), work, images=images)
    assert failure.value.err.kind is ErrorKind.OUTSIDE_WORKSPACE
    assert "the key" not in failure.value.err.message


@pytest.mark.parametrize(
    "name", ["{tmp}/outside/id_rsa", "../outside/id_rsa", "{tmp}/outside/own.md", "sub/../../outside/id_rsa"]
)
def test_a_path_outside_the_workspace_is_the_user_s_own_choice(tmp_path: Path, name: str) -> None:
    work, outside = plant(tmp_path)
    (outside / "own.md").symlink_to(outside / "id_rsa")
    assert "the key" in attach(f"@{name}".replace("{tmp}", str(tmp_path)), work).text


def test_a_link_between_two_folders_of_the_session_is_followed(tmp_path: Path) -> None:
    work, outside = plant(tmp_path)
    assert "the key" in attach("@notes.md", work, roots=[work, outside]).text
    assert "the key" in attach("@../notes.md", work / "sub", roots=[work, outside]).text
    with pytest.raises(PlanckError):
        attach("@../notes.md", work / "sub", roots=[work])
