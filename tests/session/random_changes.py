"""`python random_changes.py SEED COUNT`: random changes of the current folder, the same for the same seed."""

import contextlib
import mmap
import os
import random
import shutil
import sqlite3
import stat
import sys

OPERATIONS = (
    *("create", "create", "append", "write", "truncate", "replace", "unlink", "mkdir", "rmdir", "rename"),
    *("renamedir", "symlink", "throughlink", "chmod", "chmoddir", "link", "mmap", "sqlite", "fifo", "rmtree"),
    *("tmpfile", "unlinklink", "dirfd", "filetodir", "dirtofile", "dirtolink", "linktodir"),
)


def list_names() -> tuple[list[str], list[str], list[str]]:
    """Files, folders and links below the current folder."""
    files, folders, links = [], ["."], []
    for folder, inner, names in os.walk("."):
        inner[:] = sorted(one for one in inner if one != ".git")
        for name in (*inner, *sorted(names)):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                links.append(path)
            elif stat.S_ISDIR(mode):
                folders.append(path)
            elif stat.S_ISREG(mode):
                files.append(path)
    return sorted(files), sorted(folders), sorted(links)


def change(choose: random.Random, step: int) -> str:
    """Does one operation, as far as the tree allows it, and returns its name."""
    files, folders, links = list_names()
    operation = choose.choice(OPERATIONS)
    name = os.path.join(choose.choice(folders), f"n{choose.randrange(40)}")
    file = choose.choice(files) if files else ""
    folder = choose.choice(folders[1:]) if len(folders) > 1 else ""
    content = bytes(choose.choice(b"abc\n") for _ in range(choose.choice((0, 3, 40, 5000))))
    match operation:
        case "create":
            write(name, "xb", content)
        case "append" if file:
            write(file, "ab", content)
        case "write" if file:
            write(file, "wb", content)
        case "truncate" if file:
            os.truncate(file, choose.randrange(50))
        case "replace" if file:
            write(f"{file}~", "wb", content)
            os.replace(f"{file}~", file)
        case "unlink" if file:
            os.unlink(file)
        case "mkdir":
            os.mkdir(name)
        case "rmdir" if folder:
            os.rmdir(folder)
        case "rename" if file and not os.path.isdir(name):
            os.rename(file, name)
        case "renamedir" if folder and not name.startswith(f"{folder}/") and not os.path.lexists(name):
            os.rename(folder, name)
        case "symlink":
            os.symlink(choose.choice([file or "nowhere", "nowhere", "../x", "a\\x41b"]), name)
        case "throughlink" if links:
            write(choose.choice(links), "ab", content)
        case "chmod" if file:
            os.chmod(file, choose.choice((0o644, 0o755, 0o600, 0o444)))
        case "chmoddir" if folder:
            os.chmod(folder, choose.choice((0o755, 0o700, 0o775, 0o555)))
        case "link" if file:
            os.link(file, name)
        case "mmap" if file and os.path.getsize(file):
            with open(file, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
                mapped[0:1] = b"M"
        case "sqlite":
            with contextlib.closing(sqlite3.connect("data.db")) as db:
                db.execute("create table if not exists t(x)")
                db.execute("insert into t values(?)", (step,))
                db.commit()
        case "fifo":
            os.mkfifo(name)
        case "rmtree" if folder:
            shutil.rmtree(folder)
        case "tmpfile":
            fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o640)
            os.write(fd, content)
            with contextlib.suppress(OSError):
                os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=fd, follow_symlinks=True)
            os.close(fd)
        case "unlinklink" if links:
            os.unlink(choose.choice(links))
        case "dirfd" if folder:
            above = os.open(folder, os.O_RDONLY)
            try:
                held = os.open("z", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=above)
                os.write(held, content)
                os.close(held)
            finally:
                os.close(above)
        case "filetodir" if file:
            os.unlink(file)
            os.mkdir(file)
            write(f"{file}/in", "wb", content)
        case "dirtofile" if folder:
            shutil.rmtree(folder)
            write(folder, "wb", content)
        case "dirtolink" if folder:
            shutil.rmtree(folder)
            os.symlink(choose.choice(folders), folder)
        case "linktodir" if links:
            link = choose.choice(links)
            os.unlink(link)
            os.mkdir(link)
            write(f"{link}/in", "wb", content)
        case _:
            return ""
    return operation


def write(path: str, mode: str, content: bytes) -> None:
    with open(path, mode) as file:
        file.write(content)


def main(seed: int, count: int, progress: str = "") -> None:
    """`progress`: a pipe that gets a byte after each operation."""
    choose = random.Random(seed)
    told = os.open(progress, os.O_WRONLY) if progress else -1
    for step in range(count):
        with contextlib.suppress(OSError, sqlite3.Error):
            change(choose, step)
        if progress:
            os.write(told, b".")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
