"""Files of the home that are read, changed and replaced: of two processes that change one, both are kept."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from planck.config.keys.credentials import CredentialFile, Saved
from planck.config.load import edit_user_file
from planck.config.trust import Content, Trust
from planck.peers.tokens import TokenFile

TIMES = 25


def save_key(home: Path, name: str) -> None:
    CredentialFile(home).put(name, Saved(key="k"))


def sign_in(home: Path, name: str) -> None:
    TokenFile(home, name, "https://one.example/mcp").update("tokens", 1)


def trust_folder(home: Path, name: str) -> None:
    Trust(home, home / name).give(Content(hashes={"a": "b"}))


def decline_folder(home: Path, name: str) -> None:
    Trust(home, home / name).decline(Content(hashes={"a": "b"}))


def set_value(home: Path, name: str) -> None:
    with edit_user_file(home) as config:
        config[name] = 1


FILES: dict[str, tuple[Callable[[Path, str], None], str]] = {
    "keys": (save_key, "credentials.json"),
    "sign-ins": (sign_in, "mcp-auth.json"),
    "trust": (trust_folder, "trust.json"),
    "no trust": (decline_folder, "trust.json"),
    "settings": (set_value, "config.json"),
}
_PROCESS = """
import sys
from pathlib import Path
from tests.config.test_shared_files import FILES, TIMES
home, what, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
for number in range(TIMES):
    FILES[what][0](home, f"{name}{number}.")
"""


@pytest.mark.parametrize("what", FILES)
def test_what_processes_keep_in_one_file_at_once_is_all_there(tmp_path: Path, what: str) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _PROCESS, tmp_path, what, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
    kept = (tmp_path / FILES[what][1]).read_text()
    lost = [name for one in "ab" for n in range(TIMES) if (name := f"{one}{n}.") not in kept]
    assert (lost, [writer.returncode for writer in writers]) == ([], [0, 0])
