"""The guard against creep: what six small jobs cost, in calls, is what somebody has allowed."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks import guard
from benchmarks.jobs import JOBS

ROOT = Path(__file__).parents[1]


def test_no_job_makes_more_calls_than_the_file_allows() -> None:
    """In a process of its own: what other tests have loaded and cached is not counted."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.guard", "calls"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


_SLOWED = """
from benchmarks import guard

def step():
    pass

def slow(job, calls):
    async def slowed(port, times):
        await job(port, times)
        for _ in range(int(calls * times)):
            step()
    return slowed

found = guard.count_calls()
guard.JOBS.update({name: slow(job, found[name] / 5) for name, job in guard.JOBS.items()})
print("\\n".join(guard.compare(guard.count_calls(), found, "calls")))
"""


def test_each_job_that_is_made_a_fifth_slower_is_counted_and_refused() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _SLOWED],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    refused = [line.partition(":")[0] for line in ran.stdout.splitlines()]
    assert refused == list(JOBS), ran.stdout


@pytest.mark.parametrize("what", ["calls", "instructions"])
@pytest.mark.parametrize("job", JOBS)
def test_a_job_that_costs_a_fifth_more_is_refused_alone(job: str, what: str) -> None:
    allowed = dict.fromkeys(JOBS, 100.0)
    (problem,) = guard.compare({**allowed, job: 120.0}, allowed, what)
    assert problem.startswith(f"{job}: 120.00 {what}, +20% beyond")


def test_a_job_that_costs_a_little_more_passes() -> None:
    allowed = dict.fromkeys(JOBS, 100.0)
    assert not guard.compare(dict.fromkeys(JOBS, 114.0), allowed, "calls")


def test_a_new_job_needs_a_number() -> None:
    (problem,) = guard.compare({"new": 1.0}, {}, "calls")
    assert problem.startswith("new: guard.toml has no calls for it")


def test_the_file_says_of_each_job_who_raised_its_numbers_and_why() -> None:
    rows = tomllib.loads(guard.ALLOWED.read_text())
    assert set(rows) == set(JOBS)
    for row in rows.values():
        assert set(row) == {"calls", "instructions", "by", "why"}
        assert row["by"].strip()
        assert row["why"].strip()
