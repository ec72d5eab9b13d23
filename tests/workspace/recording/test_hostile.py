"""Commands that try to fool the recorder: it reads nothing outside, waits for nobody, and holds nobody up."""

import os
import sys

import pytest

from planck.workspace.recording.images import Images
from tests.workspace.recording.conftest import Place

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seccomp is Linux's")

SECRET = "canary-4711"


@pytest.fixture
def secret(place: Place) -> str:
    path = place.out / "secret"
    path.write_text(SECRET)
    return str(path)


async def test_a_path_that_changes_after_the_notification_leaks_nothing(place: Place, secret: str) -> None:
    """The string says a name in the workspace and one outside by turns, while the call waits."""
    (place.ws / "inside-a-file").write_text("mine")
    script = """
import ctypes, os, sys, threading
inside, outside = b"inside-a-file", sys.argv[1].encode()
memory = ctypes.create_string_buffer(4096)
libc, over = ctypes.CDLL(None), False
def flip():
    while not over:
        memory.value = inside
        memory.value = outside
thread = threading.Thread(target=flip)
thread.start()
for _ in range(300):
    fd = libc.open(memory, os.O_WRONLY)
    if fd >= 0:
        os.close(fd)
over = True
thread.join()
"""
    assert (await place.python(script, secret)).exit_code == 0
    assert SECRET.encode() not in place.spool.read_bytes()
    assert {*place.read().images} <= {str(place.ws / "inside-a-file")}


async def test_folders_that_become_links_meanwhile_leak_nothing(place: Place, secret: str) -> None:
    script = """
import os, sys, threading
out, over = os.path.dirname(sys.argv[1]), False
os.mkdir("real")
open("real/secret", "w").write("mine")
def swap():
    while not over:
        try:
            os.rename("real", "kept")
            os.symlink(out, "real")
            os.unlink("real")
            os.rename("kept", "real")
        except OSError:
            pass
thread = threading.Thread(target=swap)
thread.start()
for _ in range(200):
    try:
        open("real/secret", "a").close()
        os.chmod("real/secret", 0o600)
    except OSError:
        pass
over = True
thread.join()
"""
    assert (await place.python(script, secret)).exit_code == 0
    assert SECRET.encode() not in place.spool.read_bytes()


async def test_a_folder_that_became_a_link_after_its_name_was_found_is_not_read(
    place: Place, secret: str
) -> None:
    """The name is asked for again here, as the kernel found it a moment ago: nothing of it may be a link."""
    (place.out / "sub").mkdir()
    (place.out / "sub/secret").write_text(SECRET)
    (place.ws / "swapped").symlink_to(place.out)
    place.spool.parent.mkdir(parents=True)
    fd = os.open(place.spool, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    images = Images([str(place.ws)], fd, None, [], [""])
    images.touch(f"{place.ws}/swapped/sub/secret", writes=True)
    images.move(f"{place.ws}/swapped/sub", f"{place.ws}/new")
    images.close()
    assert SECRET.encode() not in place.spool.read_bytes()
    assert place.read().images.keys() <= {f"{place.ws}/swapped/sub", f"{place.ws}/new"}


async def test_what_is_mounted_or_rooted_elsewhere_leaks_nothing(place: Place, secret: str) -> None:
    """In its own mount namespace the outside has a name in the workspace, and `/` is another folder."""
    (place.ws / "sub").mkdir()
    script = f"""
mkdir -p jail/sub
unshare -Urm sh -c 'mount --bind {place.out} sub && echo x >> sub/secret; echo y >> sub/secret'
unshare -Ur chroot jail /bin/true
ln -s {place.out} way; echo z >> way/secret; echo w >> way/../out/secret
"""
    await place.run(script)
    assert SECRET.encode() not in place.spool.read_bytes()
    places = {place_of.removeprefix(str(place.ws)) for place_of in place.read().images}
    assert places <= {"/sub/secret", "/jail", "/jail/sub", "/way"}
    assert set(place.changes()) == {"jail", "jail/sub", "way"}


async def test_what_a_command_changes_under_a_mount_of_its_own_is_counted(place: Place) -> None:
    """As `bwrap --bind . /app make` does: the kernel names the file by a path that leads nowhere here."""
    (place.ws / "a").mkdir()
    (place.ws / "b").mkdir()
    script = f"""
unshare -Urm sh -c 'mount --bind . {place.out} && cd {place.out} && echo 1 > x && echo 2 >> x && mkdir y'
unshare -Urm sh -c 'mount --bind a b && echo 1 > b/z'
echo 1 > plain; echo 2 > {place.base}/beside; mkdir -p d/e; mv d f; chmod 700 f .
"""
    assert (await place.run(script)).exit_code == 0
    assert (place.ws / "a/z").exists()
    assert list(place.changes()) == ["f", "f/e", "plain"]
    assert place.read().skipped == {"mount": 3}


async def test_the_spool_is_out_of_reach_of_a_renamed_folder(place: Place) -> None:
    """The recorder holds its descriptor: a process that renames or replaces the file changes nothing else."""
    moved = place.base / "moved"
    done = await place.run(
        f"echo 1 > a; mv {place.spool} {moved}; ln -s {place.out}/x {place.spool}; echo 2 > b; echo 3 > c"
    )
    assert done.exit_code == 0
    assert not (place.out / "x").exists()
    moved.replace(place.spool)
    assert list(place.changes()) == ["a", "b", "c"]


async def test_pipes_devices_and_sockets_hold_nobody_up(place: Place) -> None:
    done = await place.run(
        "mkfifo p; (timeout 1 sh -c 'echo x > p') ; (cat p > got &) ; echo y > p; mv p q; rm q; echo ok",
        timeout=20,
    )
    assert done.output.strip().endswith("ok")
    assert set(place.changes()) == {"got"}


async def test_a_huge_sparse_file_costs_nothing(place: Place) -> None:
    with open(place.ws / "huge", "wb") as file:
        file.truncate(1 << 40)
    await place.run("chmod 600 huge; mv huge h2")
    assert place.read().skipped == {"large": 1}
    assert place.spool.stat().st_size < 4096
    assert set(place.changes()) == {"huge", "h2"}


async def test_odd_names_and_deep_trees(place: Place) -> None:
    script = r"""
import os
for name in (b"new\nline", b"\xff\xfe", b"-rf", b" ", b"\x1b[2J", b'"', b"\\x41"):
    open(name, "wb").write(name)
here = os.getcwd()
for _ in range(60):
    os.mkdir("deep" * 25)
    os.chdir("deep" * 25)
try:
    open("last", "w").close()
finally:
    os.chdir(here)
"""
    assert (await place.python(script)).exit_code == 0
    deep = sum("deep" in one for one in place.changes())
    assert 30 < deep < 60  # the kernel names no folder whose path is longer than 4096 bytes
    assert place.read().skipped == {"unreadable": 60 - deep + 1}
    raw = {os.fsencode(one.place[len(str(place.ws)) + 1 :]) for one in place.changes().values()}
    assert {b"new\nline", b"\xff\xfe", b"-rf", b" ", b"\x1b[2J", b'"', b"\\x41", b"deep" * 25} <= raw


async def test_files_that_go_while_they_are_read(place: Place) -> None:
    script = """
import os, threading
over = False
def churn():
    while not over:
        for n in range(20):
            try:
                os.unlink(f"f{n}")
            except OSError:
                pass
thread = threading.Thread(target=churn)
thread.start()
for round in range(20):
    for n in range(20):
        try:
            with open(f"f{n}", "a") as file:
                file.write("x" * 1000)
            os.rename(f"f{n}", f"g{n}")
        except OSError:
            pass
over = True
thread.join()
"""
    assert (await place.python(script)).exit_code == 0
    assert all(one.before.kind == "nothing" for one in place.changes().values())


async def test_many_threads_and_processes_that_share_descriptors(place: Place) -> None:
    script = """
import os, threading
def work(n):
    for i in range(3):
        fd = os.open(f"t{n}", os.O_CREAT | os.O_WRONLY)
        os.close(fd)
threads = [threading.Thread(target=work, args=(n,)) for n in range(400)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for n in range(50):
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", f": > v{n}"], {})
    os.waitpid(pid, 0)
"""
    assert (await place.python(script)).exit_code == 0
    assert len(place.changes()) == 450


async def test_a_process_killed_while_it_waits_holds_up_nothing(place: Place) -> None:
    script = """
import os, signal, time
for n in range(60):
    pid = os.fork()
    if pid == 0:
        while True:
            os.close(os.open("x", os.O_CREAT | os.O_WRONLY))
            os.unlink("x")
    time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
open("end", "w").close()
"""
    assert (await place.python(script)).exit_code == 0
    assert "end" in place.changes()


async def test_strange_arguments_are_answered(place: Place) -> None:
    """Null and wild pointers, closed descriptors, paths of a page's end: each call fails as it would."""
    script = """
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
size = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * size)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc.munmap(ctypes.c_void_p(address + size), size)
path = b"at-the-end\\0"
ctypes.memmove(address + size - len(path), path, len(path))
assert libc.mkdir(ctypes.c_void_p(address + size - len(path)), 0o755) == 0
ctypes.memmove(address + size - 4, b"aaaa", 4)
family = b"\\x01\\0across-pages-s\\0"
two = mmap.mmap(-1, 2 * size)
middle = ctypes.addressof(ctypes.c_char.from_buffer(two)) + size - 6
ctypes.memmove(middle, family, len(family))
assert libc.bind(libc.socket(1, 1, 0), ctypes.c_void_p(middle), len(family)) == 0
for wild in (None, 1, address + size, address + size - 4, 2**47):
    for call in (lambda p: libc.mkdir(p, 0), lambda p: libc.open(p, 1), lambda p: libc.rename(p, p),
                 lambda p: libc.syscall(437, -100, p, p, 24), lambda p: libc.unlinkat(99, p, 0),
                 lambda p: libc.linkat(-100, p, 12345, p, 0x1400)):
        assert call(ctypes.c_void_p(wild)) == -1
assert libc.fchmod(999, 0) == -1
assert libc.open(b"a" * 5000, 1) == -1
for path in (b"", b".", b"..", b"/", b"//", b"./.", b"x/../y/..", b"/proc/self/fd/", b"/proc/self"):
    libc.open(path, 1); libc.rmdir(path); libc.unlink(path)
libc.chmod(b".", 0o755); libc.chmod(b"..", 0o755)
print("ok", flush=True)
os._exit(0)
"""
    done = await place.python(script)
    assert done.output.strip() == "ok", done.output
    assert list(place.changes()) == ["across-pages-s", "at-the-end"]
