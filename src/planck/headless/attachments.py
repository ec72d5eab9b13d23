"""Files that the user names in a message: `@src/a.py` as text, `@shot.png` or the path of an image as one.

A name that leads nowhere is left as it was written: not every `@` means a file.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from planck.context.texts import MAX_BYTES, read_text
from planck.records.messages import Image
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.visible import fit_line
from planck.toolkit.images import MAX_IMAGE, image_from_base64, image_type
from planck.workspace.paths.regular import LeadsOutside, open_named, open_within

_REFERENCE = re.compile(r"""(?<!\S)@(?:"([^"\n]+)"|'([^'\n]+)'|(\S+))""")
_IMAGE_PATH = re.compile(
    r"""(?<!\S)(?:"((?:/|~/|\./)[^"\n]+)"|'((?:/|~/|\./)[^'\n]+)'|((?:/|~/|\./)(?:\\.|[^\s\\])+))(?!\S)"""
)
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAX_FILES = 20
_MAX_ENTRIES = 200
_MAX_TEXT = 160 * 1024
"""Bytes of all files of one message: with the message they must fit into one envelope."""


class AttachmentError(PlanckError):
    """What was named can't be attached; nothing was sent."""


class Attached(msgspec.Struct, frozen=True):
    text: str
    """What was written, with the files' texts below it."""
    images: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()
    """What was attached, and what was taken for a name of a file and is none, in words."""
    typed: str = ""
    """What was written, where the text has more than that."""


def attach(
    text: str,
    folder: Path,
    *,
    within: Path | None = None,
    roots: Sequence[str | Path] = (),
    images: Sequence[str] = (),
) -> Attached:
    """Reads what a message names, from `folder` on; `within`: nothing outside of that folder.

    Others write in `roots` (default: `folder`), so a link there must not choose what is read elsewhere: a
    name in a root leads to a file in a root, or nothing is sent. `images` are named beside the message, and
    must be some.
    """
    texts: list[str] = []
    real_roots = [os.path.realpath(root) for root in roots or (folder,)]
    seen, notes = _read_images(images, folder, real_roots), list[str]()
    left = _MAX_TEXT
    for written, marked in _list_names(text):
        found = _find(written, folder)
        if found is None:
            if marked and written.lower().endswith(_IMAGES):
                raise AttachmentError(
                    ErrorKind.NOT_FOUND,
                    f"File not found: {written!r} in {folder}. Nothing was sent. Check the path.",
                )
            if marked and ("/" in written or "." in written):
                notes.append(f"{fit_line(written, 60)!r} is not a file; sent as plain text")
            continue
        name, path = found
        try:
            fd = open_within(path, within) if within else _open(name, path, real_roots)
        except OSError as problem:
            if problem.errno != errno.EXDEV:
                raise _unreadable(name, problem) from problem
            notes.append(f"{fit_line(name, 60)!r} is outside {within} and was not read")
            continue
        try:
            image = _read_image(fd, name)
            content = _read_file(fd, name, min(MAX_BYTES, left)) if marked and image is None else ""
        finally:
            os.close(fd)
        if image:
            seen.append(image)
            notes.append(f"attached image {fit_line(name, 60)}")
        elif marked:
            left -= len(content.encode())
            texts.append(_frame(name, content))
            notes.append(f"attached {fit_line(name, 60)} ({len(content):,} characters)")
        if len(texts) + len(seen) > _MAX_FILES or left <= 0:
            raise AttachmentError(
                ErrorKind.LIMIT_EXCEEDED,
                f"One message can attach at most {_MAX_FILES} files and {_MAX_TEXT // 1024} KiB of text. "
                "Name fewer files; an agent can read the others itself.",
            )
    return Attached("\n\n".join([text, *texts]), tuple(seen), tuple(notes), text if texts else "")


def _open(name: str, path: Path, roots: Sequence[str]) -> int:
    try:
        return open_named(path, roots)
    except LeadsOutside as refused:
        raise AttachmentError(
            ErrorKind.OUTSIDE_WORKSPACE,
            f"{name!r} is a link to {refused.real!r}, outside the workspace. Nothing was sent. "
            "To attach that file, name its own path.",
        ) from None


def _read_images(names: Sequence[str], folder: Path, roots: Sequence[str]) -> list[Image]:
    images = []
    for name in names:
        path = folder / Path(name).expanduser()
        if not path.is_file():
            raise AttachmentError(
                ErrorKind.NOT_FOUND, f"Image not found: {name!r}. Nothing was sent. Check the path."
            )
        try:
            fd = _open(name, path, roots)
        except OSError as problem:
            raise _unreadable(name, problem) from problem
        try:
            image = _read_image(fd, name)
        finally:
            os.close(fd)
        if image is None:
            raise AttachmentError(
                ErrorKind.INVALID_ARGS,
                f"{name!r} is not an image that models accept (png, jpeg, gif or webp). Nothing was sent. "
                "Convert it first.",
            )
        images.append(image)
    return images


def _list_names(text: str) -> Iterator[tuple[str, bool]]:
    """Each name once, and whether it is marked with `@`; without it only the path of an image is meant."""
    seen: set[str] = set()
    for found in _REFERENCE.finditer(text):
        name = next(filter(None, found.groups()))
        if name not in seen:
            seen.add(name)
            yield name, True
    for found in _IMAGE_PATH.finditer(text):
        name = found[1] or found[2] or re.sub(r"\\(.)", r"\1", found[3])
        if name not in seen and name.lower().endswith(_IMAGES):
            seen.add(name)
            yield name, False


def _find(name: str, folder: Path) -> tuple[str, Path] | None:
    """The name as it is meant, and where that is; a full stop or a comma behind it is the sentence's."""
    for candidate in (name, name.rstrip(".,;:!?)")):
        try:
            path = folder / Path(candidate).expanduser()
            if candidate and path.exists():
                return candidate, path
        except (OSError, ValueError, RuntimeError):  # too long, a NUL, no such user
            continue
    return None


def _read_image(fd: int, name: str) -> Image | None:
    """None where neither its name nor its content says that it is one."""
    named = name.lower().endswith(_IMAGES)
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        return None
    try:
        _require_regular(fd)
        head = os.pread(fd, 32, 0)
        if image_type(head) is None:
            if named:
                raise AttachmentError(
                    ErrorKind.INVALID_ARGS,
                    f"{name!r} is not an image that models accept (png, jpeg, gif or webp). "
                    "Nothing was sent. Convert it first.",
                )
            return None
        with open(fd, "rb", closefd=False) as file:
            content = file.read(MAX_IMAGE + 1)
    except OSError as problem:
        raise _unreadable(name, problem) from problem
    if len(content) > MAX_IMAGE:
        raise AttachmentError(
            ErrorKind.LIMIT_EXCEEDED,
            f"{name!r} is larger than {MAX_IMAGE >> 20} MiB, which no model accepts. Make it smaller.",
        )
    import base64

    return image_from_base64(base64.b64encode(content).decode())


def _read_file(fd: int, name: str, limit: int) -> str:
    try:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            return _list_folder(fd)
        _require_regular(fd)
        if b"\0" in os.pread(fd, 8192, 0):
            raise AttachmentError(
                ErrorKind.INVALID_ARGS,
                f"{name!r} is not a text file. Nothing was sent. Remove the `@` to send only the name.",
            )
        return read_text(fd, limit)
    except OSError as problem:
        raise _unreadable(name, problem) from problem


def _list_folder(fd: int) -> str:
    with os.scandir(fd) as entries:
        names = sorted(f"{one.name}/" if one.is_dir() else one.name for one in entries)
    more = [f"… and {len(names) - _MAX_ENTRIES} more"] if len(names) > _MAX_ENTRIES else []
    return "\n".join([*names[:_MAX_ENTRIES], *more])


def _require_regular(fd: int) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError("it is not a regular file")


def _unreadable(name: str, problem: OSError) -> AttachmentError:
    return AttachmentError(
        ErrorKind.READ_FAILED,
        f"Cannot read {name!r}: {problem.strerror or problem}. Nothing was sent. Check the file.",
    )


def _frame(name: str, content: str) -> str:
    """Between lines that the content can't forge: both have its digest."""
    mark = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:12]
    return f"[file {name} {mark}, attached by the user]\n{content}\n[end of file {mark}]"
