import mmap

from tests.memory import growth


def test_what_was_freed_again_and_what_was_higher_before_are_told_apart() -> None:
    _hold(64)
    grown = growth()
    assert grown() < 8 << 10
    _hold(32)
    _hold(32)
    assert 28 << 10 < grown() < 48 << 10
    assert growth()() < 8 << 10


def _hold(mib: int) -> None:
    """Pages of its own, in use for a moment: an allocator would take what it still has."""
    with mmap.mmap(-1, mib << 20) as pages:
        for start in range(0, mib << 20, mmap.PAGESIZE):
            pages[start] = 1
