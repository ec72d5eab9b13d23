"""Runs inside the sandbox, on any Python 3: tries each forbidden thing and prints what succeeded, as JSON."""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def main(plan: dict[str, Any]) -> None:
    actions = {
        name.removeprefix("try_"): found for name, found in globals().items() if name.startswith("try_")
    }
    wanted = plan.get("only", actions)
    print(json.dumps({name: _succeeds(actions[name], plan) for name in wanted}))


def _succeeds(action: Callable[[dict[str, Any]], object], plan: dict[str, Any]) -> bool:
    try:
        return action(plan) is not False
    except (OSError, ValueError, subprocess.CalledProcessError):
        return False


def _write(path: str) -> None:
    with open(path, "w") as file:
        file.write("written by the sandbox")


def try_write_beside(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/../out/beside")


def try_write_absolute(plan: dict[str, Any]) -> None:
    _write(f"{plan['out']}/absolute")


def try_write_through_a_link(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/link-to-out/linked")


def try_write_through_proc_root(plan: dict[str, Any]) -> None:
    _write(f"/proc/self/root{plan['out']}/rooted")


def try_write_through_the_parent_of_the_namespace(plan: dict[str, Any]) -> None:
    _write(f"/proc/1/root{plan['out']}/init")


def try_hard_link_in(plan: dict[str, Any]) -> None:
    os.link(f"{plan['out']}/file", f"{plan['ws']}/hard")
    _write(f"{plan['ws']}/hard")


def try_rename_out(plan: dict[str, Any]) -> None:
    os.rename(f"{plan['ws']}/mine", f"{plan['out']}/renamed")


def try_truncate_outside(plan: dict[str, Any]) -> None:
    os.truncate(f"{plan['out']}/file", 0)


def try_unlink_outside(plan: dict[str, Any]) -> None:
    os.unlink(f"{plan['out']}/unwanted")


def try_make_a_folder_outside(plan: dict[str, Any]) -> None:
    os.mkdir(f"{plan['out']}/folder")


def try_chmod_outside(plan: dict[str, Any]) -> None:
    os.chmod(f"{plan['out']}/file", 0o777)


def try_touch_outside(plan: dict[str, Any]) -> None:
    os.utime(f"{plan['out']}/file", (1, 1))


def try_xattr_outside(plan: dict[str, Any]) -> None:
    os.setxattr(f"{plan['out']}/file", "user.planck", b"x")


def try_write_a_git_hook(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/.git/hooks/post-checkout")


def try_write_git_config(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/.git/config")


def try_move_git_away(plan: dict[str, Any]) -> None:
    os.rename(f"{plan['ws']}/.git", f"{plan['ws']}/gone")


def try_remove_git(plan: dict[str, Any]) -> bool:
    shutil.rmtree(f"{plan['ws']}/.git", ignore_errors=True)
    return not os.path.exists(f"{plan['ws']}/.git/config")


def try_write_a_nested_git_hook(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/vendor/lib/.git/hooks/post-checkout")


def try_move_a_nested_git_away(plan: dict[str, Any]) -> None:
    os.rename(f"{plan['ws']}/vendor/lib/.git", f"{plan['ws']}/vendor/lib/x")


def try_write_where_a_git_file_points(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/tree/real-git/hooks/post-checkout")


def try_make_planck(plan: dict[str, Any]) -> None:
    os.makedirs(f"{plan['ws']}/.planck/tools")


def try_make_agents(plan: dict[str, Any]) -> None:
    os.makedirs(f"{plan['ws']}/.agents/skills")


def try_link_planck(plan: dict[str, Any]) -> None:
    os.symlink("/tmp", f"{plan['ws']}/.planck")


def try_move_planck_away(plan: dict[str, Any]) -> None:
    os.rename(f"{plan['ws']}/.planck", f"{plan['ws']}/x")


def try_write_mcp_json(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/.mcp.json")


def try_rename_over_mcp_json(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/made.json")
    os.rename(f"{plan['ws']}/made.json", f"{plan['ws']}/.mcp.json")


def try_write_inside(plan: dict[str, Any]) -> None:
    _write(f"{plan['ws']}/inside")


def try_private_temp(plan: dict[str, Any]) -> None:
    _write("/tmp/planck-private")


def try_see_the_real_temp(plan: dict[str, Any]) -> bool:
    return os.path.exists(plan["temp"])


def try_read_outside(plan: dict[str, Any]) -> bool:
    with open(f"{plan['out']}/file") as file:
        return file.read() == "outside"


def try_read_a_masked_folder(plan: dict[str, Any]) -> None:
    with open(f"{plan['secrets']}/id_rsa"):
        pass


def try_list_a_masked_folder(plan: dict[str, Any]) -> bool:
    return bool(os.listdir(plan["secrets"]))


def try_read_a_masked_file(plan: dict[str, Any]) -> bool:
    with open(plan["netrc"]) as file:
        return bool(file.read())


def try_tcp(plan: dict[str, Any]) -> None:
    with socket.create_connection(("127.0.0.1", plan["tcp"]), 1):
        pass


def try_mptcp(plan: dict[str, Any]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as mptcp:
        mptcp.settimeout(1)
        mptcp.connect(("127.0.0.1", plan["tcp"]))


def try_udp(plan: dict[str, Any]) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(0.3)
        udp.connect(("127.0.0.1", plan["udp"]))
        udp.send(b"ping")
        return udp.recv(16) == b"pong"


def try_an_abstract_socket(plan: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect("\0" + plan["abstract"])


def try_a_socket_outside(plan: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect(f"{plan['out']}/socket")


def try_a_socket_under_another_name(plan: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect(f"{plan['out']}/under-another-name")


def try_a_datagram_by_name(plan: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unix:
        unix.sendto(b"x", f"{plan['out']}/datagrams")


def try_a_datagram_from_a_pair(plan: dict[str, Any]) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        ours.sendto(b"x", f"{plan['out']}/datagrams")


def try_a_datagram_from_a_raw_pair(plan: dict[str, Any]) -> None:
    """The kernel takes it for one of datagrams."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    with ours, theirs:
        ours.sendto(b"x", f"{plan['out']}/datagrams")


def try_a_pair_that_is_connected_elsewhere(plan: dict[str, Any]) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.connect(f"{plan['out']}/socket")


def try_write_to_a_pipe_outside(plan: dict[str, Any]) -> None:
    fd = os.open(f"{plan['out']}/deep/pipe", os.O_WRONLY | os.O_NONBLOCK)
    with open(fd, "wb", buffering=0) as pipe:
        pipe.write(b"x")


def try_empty_a_pipe_outside(plan: dict[str, Any]) -> bool:
    fd = os.open(f"{plan['out']}/deep/pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open(fd, "rb", buffering=0) as pipe:
        return (pipe.read(7) or b"") == b"waiting"


def try_vsock(plan: dict[str, Any]) -> None:
    socket.socket(40, socket.SOCK_STREAM).close()


def try_other_families(plan: dict[str, Any]) -> bool:
    """AF_ALG, AF_PACKET, AF_BLUETOOTH, AF_XDP, and netlink beyond routes."""
    opened = 0
    for family, kind, protocol in ((38, 5, 0), (17, 3, 0), (31, 3, 1), (44, 3, 0), (16, 3, 9), (16, 3, 15)):
        try:
            socket.socket(family, kind, protocol).close()
            opened += 1
        except OSError:
            continue
    return opened > 0


def _call(number: int, *arguments: object) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0 and ctypes.get_errno() in (1, 38):  # EPERM, ENOSYS
        raise OSError(ctypes.get_errno(), "refused")


def try_add_key(plan: dict[str, Any]) -> None:
    _call(248, b"user", b"planck", b"x", 1, -3)


def try_request_key(plan: dict[str, Any]) -> None:
    _call(249, b"user", b"planck", None, 0)


def try_keyctl(plan: dict[str, Any]) -> None:
    _call(250, 0, -3, 0)


def try_io_uring(plan: dict[str, Any]) -> None:
    _call(425, 4, b"\0" * 120)


def try_set_user_id(plan: dict[str, Any]) -> bool:
    """By each of the ways in which a file gets its mode."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    own, mode, flags = b"/tmp/planck-own", 0o4755, os.O_CREAT | os.O_WRONLY
    how = ctypes.create_string_buffer(struct.pack("<QQQ", flags, mode, 0))
    fd = os.open(own, flags)
    opened = [fd, libc.openat(-100, b"/tmp/planck-openat", flags, mode)]
    opened.append(libc.syscall(437, -100, b"/tmp/planck-openat2", how, 24))
    libc.fchmod(fd, mode)
    libc.syscall(452, -100, own, mode, 0)
    if os.uname().machine == "x86_64":
        opened.append(libc.syscall(85, b"/tmp/planck-creat", mode))
        opened.append(libc.syscall(2, b"/tmp/planck-open", flags, mode))
        libc.syscall(90, own, mode)
        libc.syscall(133, b"/tmp/planck-mknod", 0o100000 | mode, 0)
        libc.syscall(268, -100, own, mode)
    for one in opened:
        if one >= 0:
            os.close(one)
    made = [name for name in os.listdir("/tmp") if name.startswith("planck-")]
    return any(os.stat(f"/tmp/{name}").st_mode & 0o4000 for name in made)


def try_perf(plan: dict[str, Any]) -> None:
    _call(298, b"\0" * 128, 0, -1, -1, 0)


def try_a_pair(plan: dict[str, Any]) -> bool:
    """What `asyncio` and `subprocess` need."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(b"x")
        return theirs.recv(1) == b"x"


def try_fill_the_memory(plan: dict[str, Any]) -> bool:
    """More than a process may have; nothing of it is touched."""
    import mmap

    try:
        mmap.mmap(-1, 5 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, ValueError, MemoryError):
        return False
    return True


def try_an_unlimited_place(plan: dict[str, Any]) -> bool:
    """Writable, in memory, and larger than what we give."""
    found = []
    for place in ("/tmp", "/run", "/var/tmp", "/dev/shm", "/dev", plan["secrets"]):
        size = os.statvfs(place)
        writable = os.access(place, os.W_OK) and not size.f_flag & os.ST_RDONLY
        if writable and size.f_blocks * size.f_frsize > 2 << 30:
            found.append(place)
    return bool(found)


def try_signal_the_runtime(plan: dict[str, Any]) -> None:
    os.kill(plan["pid"], 0)


def try_read_the_runtimes_environment(plan: dict[str, Any]) -> None:
    with open(f"/proc/{plan['pid']}/environ", "rb"):
        pass


def try_mount(plan: dict[str, Any]) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "none", "/mnt"], check=True, capture_output=True)


def try_remount_the_root_writable(plan: dict[str, Any]) -> None:
    subprocess.run(["mount", "-o", "remount,rw,bind", "/"], check=True, capture_output=True)


def try_a_nested_user_namespace(plan: dict[str, Any]) -> None:
    subprocess.run(["unshare", "-Ur", "true"], check=True, capture_output=True)


def try_mknod(plan: dict[str, Any]) -> None:
    os.mknod("/tmp/device", 0o600 | 0o020000, os.makedev(1, 5))
    with open("/tmp/device", "rb"):
        pass


def try_write_core_pattern(plan: dict[str, Any]) -> None:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


def try_write_sysrq(plan: dict[str, Any]) -> None:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))


def try_write_to_sys(plan: dict[str, Any]) -> None:
    os.close(os.open("/sys/kernel/uevent_helper", os.O_WRONLY))


def try_hold_a_capability(plan: dict[str, Any]) -> bool:
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return lines["CapEff"].strip() != "0" * 16 or lines["NoNewPrivs"].strip() != "1"


def try_open_the_terminal(plan: dict[str, Any]) -> None:
    os.close(os.open("/dev/tty", os.O_RDWR))


def try_inherited_descriptors(plan: dict[str, Any]) -> bool:
    return bool(set(os.listdir("/proc/self/fd")) - {"0", "1", "2", "3"})  # 3 lists the folder


def try_find_a_key_in_the_environment(plan: dict[str, Any]) -> bool:
    return "canary" in str(os.environ)


main(json.loads(sys.argv[1]))
