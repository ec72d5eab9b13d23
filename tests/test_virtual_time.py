import asyncio

import pytest

from tests.virtual_time import run_virtual


async def _three_hours() -> float:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(3 * 3600)
    return loop.time()


def test_hours_pass_at_once() -> None:
    assert run_virtual(_three_hours()) == pytest.approx(3 * 3600, abs=1e-3)


async def _order() -> list[int]:
    seen: list[int] = []

    async def note(n: int) -> None:
        await asyncio.sleep(0)
        seen.append(n)

    await asyncio.gather(*(note(n) for n in range(20)))
    return seen


def test_a_seed_gives_one_schedule_and_another_seed_another() -> None:
    first, again, other = (run_virtual(_order(), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)
