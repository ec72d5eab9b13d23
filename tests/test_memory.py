from tests.memory import growth


def test_what_was_freed_again_and_what_was_higher_before_are_told_apart() -> None:
    high = b"x" * (64 << 20)
    del high
    grown = growth()
    assert grown() < 8 << 10
    for _ in range(2):
        high = b"x" * (32 << 20)
        del high
    assert 28 << 10 < grown() < 48 << 10
    assert growth()() < 8 << 10
