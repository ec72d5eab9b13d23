"""`operations.py SEED COUNT`: random changes of the current folder; a seed does the same in the same tree.

Prints the operations that did something, one a line.
"""

import mmap
import os
import random
import shutil
import socket
import sqlite3
import stat
import sys
from contextlib import suppress

OPERATIONS = (
    "create",
    "append",
    "write",
    "truncate",
    "replace",
    "unlink",
    "make_folder",
    "remove_folder",
    "rename",
    "rename_folder",
    "exchange",
    "link_to",
    "write_through_link",
    "change_mode",
    "change_folder_mode",
    "change_own_mode",
    "hard_link",
    "map_memory",
    "database",
    "pipe",
    "socket_name",
    "remove_tree",
    "unnamed_file",
    "unlink_link",
    "by_descriptor",
    "reopen_descriptor",
    "file_to_folder",
    "folder_to_file",
    "odd_name",
    "owner",
)


class Tree:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.step = 0
        self.look()

    def look(self) -> None:
        files: list[str] = []
        folders: list[str] = ["."]
        links: list[str] = []
        for above, inner, names in os.walk("."):
            for name in list(inner):
                place = os.path.join(above, name)
                if os.path.islink(place):
                    links.append(place)
                else:
                    folders.append(place)
            for name in names:
                place = os.path.join(above, name)
                mode = os.lstat(place).st_mode
                if stat.S_ISLNK(mode):
                    links.append(place)
                elif stat.S_ISREG(mode):
                    files.append(place)
        self.files, self.folders, self.links = sorted(files), sorted(folders), sorted(links)

    def any_file(self) -> str:
        if not self.files:
            raise FileNotFoundError("no file")
        return self.random.choice(self.files)

    def any_folder(self) -> str:
        inner = self.folders[1:]
        if not inner:
            raise FileNotFoundError("no folder")
        return self.random.choice(inner)

    def any_link(self) -> str:
        if not self.links:
            raise FileNotFoundError("no link")
        return self.random.choice(self.links)

    def new_name(self) -> str:
        return os.path.join(self.random.choice(self.folders), f"n{self.random.randrange(40)}")

    def content(self) -> bytes:
        return bytes(self.random.choice(b"abc\n") for _ in range(self.random.choice((0, 3, 40, 5000))))

    def do(self, operation: str) -> None:
        name, content = self.new_name(), self.content()
        match operation:
            case "create":
                write(name, "xb", content)
            case "append":
                write(self.any_file(), "ab", content)
            case "write":
                write(self.any_file(), "wb", content)
            case "truncate":
                os.truncate(self.any_file(), self.random.randrange(50))
            case "replace":
                old = self.any_file()
                write(f"{old}~", "wb", content)
                os.replace(f"{old}~", old)
            case "unlink":
                os.unlink(self.any_file())
            case "make_folder":
                os.mkdir(name)
            case "remove_folder":
                os.rmdir(self.any_folder())
            case "rename":
                os.rename(self.any_file(), name)
            case "rename_folder":
                os.rename(self.any_folder(), name)
            case "exchange":
                exchange(self.any_folder(), self.any_file())
            case "link_to":
                os.symlink(self.random.choice([name, "nowhere", "../x", os.path.abspath("a")]), f"{name}l")
            case "write_through_link":
                write(self.any_link(), "ab", content)
            case "change_mode":
                os.chmod(self.any_file(), self.random.choice((0o644, 0o755, 0o600, 0o444)))
            case "change_folder_mode":
                os.chmod(self.any_folder(), self.random.choice((0o755, 0o700, 0o775)))
            case "change_own_mode":
                here = os.getcwd()
                os.chdir(self.any_folder())
                os.chmod(".", self.random.choice((0o755, 0o711)))
                os.chdir(here)
            case "hard_link":
                os.link(self.any_file(), name)
            case "map_memory":
                with open(self.any_file(), "r+b") as file:
                    memory = mmap.mmap(file.fileno(), 0)
                    memory[0:1] = b"M"
                    memory.flush()
                    memory.close()
            case "database":
                database = sqlite3.connect("data.db")
                database.execute("create table if not exists t(x)")
                database.execute("insert into t values(?)", (self.step,))
                database.commit()
                database.close()
            case "pipe":
                os.mkfifo(f"{name}p")
            case "socket_name":
                with socket.socket(socket.AF_UNIX) as one:
                    one.bind(f"{name}s")
            case "remove_tree":
                shutil.rmtree(self.any_folder())
            case "unnamed_file":
                fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o640)
                os.write(fd, content)
                os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=fd, follow_symlinks=True)
                os.close(fd)
            case "unlink_link":
                os.unlink(self.any_link())
            case "by_descriptor":
                fd = os.open(self.any_folder(), os.O_RDONLY)
                inner = os.open("z", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
                os.write(inner, content)
                os.fchmod(inner, 0o640)
                os.close(inner)
                os.close(fd)
            case "reopen_descriptor":
                fd = os.open(self.any_file(), os.O_RDONLY)
                write(self.random.choice((f"/proc/self/fd/{fd}", f"/dev/fd/{fd}")), "ab", content)
                os.close(fd)
            case "file_to_folder":
                old = self.any_file()
                os.unlink(old)
                os.mkdir(old)
                write(f"{old}/in", "wb", content)
            case "folder_to_file":
                folder = self.any_folder()
                shutil.rmtree(folder)
                write(folder, "wb", content)
            case "odd_name":
                odd = self.random.choice((b"new\nline", b"not-utf8-\xff\xfe", b"tab\t\x1b[31m", "ü".encode()))
                write(os.path.join(os.fsencode(self.random.choice(self.folders)), odd), "ab", content)
            case "owner":
                os.chown(self.any_file(), os.getuid(), os.getgid())


def write(path: "str | bytes", mode: str, content: bytes) -> None:
    with open(path, mode) as file:
        file.write(content)


def exchange(one: str, other: str) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2):
        raise OSError(ctypes.get_errno(), "renameat2")


def run(seed: int, count: int) -> None:
    tree = Tree(seed)
    done: dict[str, int] = {}
    for step in range(count):
        tree.step = step
        tree.look()
        operation = tree.random.choice(OPERATIONS)
        with suppress(OSError, ValueError, sqlite3.Error):
            tree.do(operation)
            done[operation] = done.get(operation, 0) + 1
    print("\n".join(done))


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]))
