"""What is kept of an output: properties over any chunking."""

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from planck.workspace.process.output import OutputTail

CHUNKS = st.lists(st.binary(max_size=60), max_size=30)


@given(chunks=CHUNKS, keep=st.integers(2, 80))
def test_memory_is_bounded_and_the_ends_are_the_outputs_ends(chunks: list[bytes], keep: int) -> None:
    kept = OutputTail(keep)
    for chunk in chunks:
        kept.add(chunk)
    whole = b"".join(chunks)
    text = kept.text()
    assert kept.total == len(whole)
    if len(whole) <= keep:
        assert "truncated" not in text
        return
    marker = f"…[truncated, showing up to {keep} of {len(whole)} bytes]"
    head, tail = text.split(f"\n{marker}\n")
    assert len(head) <= keep // 2
    assert len(tail) <= keep - keep // 2


@given(
    text=st.text(alphabet="aé漢\U0001f600", min_size=20, max_size=300),
    keep=st.integers(8, 40),
    size=st.integers(1, 7),
)
def test_a_cut_never_splits_a_character(text: str, keep: int, size: int) -> None:
    whole = text.encode()
    kept = OutputTail(keep)
    for at in range(0, len(whole), size):
        kept.add(whole[at : at + size])
    shown = kept.text()
    assert "\ufffd" not in shown
    if len(whole) > keep:
        head, _, tail = shown.split("\n")
        assert text.startswith(head)
        assert text.endswith(tail)
    else:
        assert shown == text


def test_a_spill_holds_the_whole_from_its_first_byte(tmp_path: Path) -> None:
    for spill_all in (False, True):
        kept = OutputTail(100, tmp_path / f"{spill_all}", spill_all=spill_all)
        parts = [bytes([65 + number % 26]) * number for number in range(100)]
        for part in parts:
            kept.add(part)
        kept.close()
        assert (tmp_path / f"{spill_all}").read_bytes() == b"".join(parts)
        assert kept.spilled == tmp_path / f"{spill_all}"


def test_a_folder_that_can_not_be_written_costs_the_spill_only(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    kept = OutputTail(10, tmp_path / "file" / "spill")
    for _ in range(10):
        kept.add(b"0123456789")
    assert (kept.spilled, kept.total) == (None, 100)
    assert kept.text().startswith("01234\n…[truncated")


def test_beginnings_of_sequences_without_an_end_are_read_once() -> None:
    """Each of them looked to the 4096 characters after it: minutes, here; in a child, which can be ended."""
    script = (
        "from planck.workspace.process.output import OutputTail\n"
        "kept = OutputTail(64 << 20)\n"
        "kept.add('\\x9d'.encode() * (4 << 20))\n"
        "print(repr(kept.text()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert done.stdout == "''\n"
