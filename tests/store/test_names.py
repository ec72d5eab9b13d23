import re

from planck.store.names import new_name


class Counting:
    def __init__(self) -> None:
        self.number = 0

    def new(self, cause: str = "") -> str:
        self.number += 0x1234567
        return f"{self.number:016x}"


def test_names_are_an_adjective_and_a_noun_and_vary() -> None:
    ids = Counting()
    names = {new_name(ids) for _ in range(200)}
    assert len(names) > 150
    assert all(re.fullmatch("[a-z]+-[a-z]+", name) for name in names)
