"""What users signed in with at MCP servers: two who keep something at once both keep it."""

import subprocess
import sys
from pathlib import Path

import pytest

from planck import ErrorKind
from planck.peers.tokens import TokenFile
from planck.records.outcome import PlanckError

WRITER = """
import sys
from pathlib import Path
from planck.peers.tokens import TokenFile
home, name, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
for number in range(25):
    file = TokenFile(home, f"{name}{number}", "https://one.example/mcp")
    file.update("tokens", number)
    if what == "forget" and number % 2:
        file.forget()
"""


@pytest.mark.parametrize("what", ["update", "forget"])
def test_processes_that_keep_tokens_at_once_lose_none(tmp_path: Path, what: str) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path, name, what],
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
        writer.communicate(timeout=30)
        assert writer.returncode == 0
    known = {
        f"{name}{number}"
        for name in "ab"
        for number in range(25)
        if TokenFile(tmp_path, f"{name}{number}", "https://one.example/mcp").known
    }
    assert known == {f"{name}{n}" for name in "ab" for n in range(25) if what == "update" or n % 2 == 0}


def test_a_file_that_cannot_be_read_now_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mcp-auth.json").mkdir()  # not a regular file
    with pytest.raises(PlanckError) as refused:
        TokenFile(tmp_path, "one", "https://one.example/mcp").update("tokens", 1)
    assert refused.value.err.kind is ErrorKind.AUTH_WRITE_FAILED


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_file_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    """What else is in it may still be of use to whoever repairs it."""
    kept = tmp_path / "mcp-auth.json"
    kept.write_bytes(content)
    file = TokenFile(tmp_path, "one", "https://one.example/mcp")
    assert not file.known
    with pytest.raises(PlanckError, match='Rename it and run "planck mcp login NAME"') as refused:
        file.update("tokens", 1)
    assert refused.value.err.kind is ErrorKind.CORRUPT_AUTH
    assert kept.read_bytes() == content
