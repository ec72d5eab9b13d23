"""An MCP server on standard input and output whose other end is Planck: it passes bytes on.

Another agent starts it inside its sandbox, where no socket leads out; the named pipes of one free slot do. It
is run by its path, so it imports nothing of ours.
"""

import fcntl
import os
import sys
import threading

CHUNK = 1 << 16


def main(folder: str) -> None:
    slot = claim(folder)
    if slot is None:
        sys.stderr.write(
            "planck: cannot connect to Planck's tools: the turn has ended, or too many MCP servers were "
            "started. Start fewer servers, or try again in the next turn.\n"
        )
        raise SystemExit(1)
    to_planck, from_planck = slot
    threading.Thread(target=copy, args=(0, to_planck), daemon=True).start()
    copy(from_planck, 1)


def claim(folder: str) -> tuple[int, int] | None:
    """Whoever holds the lock of a pipe has it; one that was used is gone."""
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".up"):
            continue
        path = os.path.join(folder, name)
        try:
            up = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            fcntl.flock(up, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(path).st_ino != os.fstat(up).st_ino:
                raise FileNotFoundError(path)
            down = os.open(f"{path.removesuffix('.up')}.down", os.O_RDONLY)
        except OSError:
            continue
        os.set_blocking(up, True)
        return up, down
    return None


def copy(source: int, target: int) -> None:
    """Until either side ends; then the whole relay does."""
    try:
        while chunk := os.read(source, CHUNK):
            while chunk:
                chunk = chunk[os.write(target, chunk) :]
    except OSError:
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
