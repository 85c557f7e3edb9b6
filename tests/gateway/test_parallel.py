"""Calls in parallel never pass a limit together that they would not pass one after another."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from blastdoor_gateway.admission import Standing
from blastdoor_gateway.config import Budget
from blastdoor_gateway.guard import Guard

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, str(Path(__file__).with_name("parallel_calls.py"))]


@contextmanager
def callers(url: str, shares: list[int]) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes with so many calls of 100 tokens each, all ready to go."""
    processes = [
        subprocess.Popen(
            [*PROGRAM, url, str(calls), "100"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "gateway")},
        )
        for calls in shares
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("processes", [1, 4])
def test_exactly_ten_of_fifty_pass(url: str, processes: int) -> None:
    """50 parallel calls of 100 on a budget of 1,000, from one process and from four: exactly 10 pass, 0 remain."""
    shares = [50 // processes + (place < 50 % processes) for place in range(processes)]
    with callers(url, shares) as running:
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        passed = [int(process.communicate(timeout=30)[0]) for process in running]
    assert sum(passed) == 10


@pytest.mark.parametrize(("cap", "tokens", "passing"), [(10, [8, 8], 1), (100, [58, 80, 175, 175, 175], 1)])
async def test_the_sum_never_passes_the_cap(
    url: str, guard_on: Callable[..., Guard], cap: int, tokens: list[int], passing: int
) -> None:
    """Whatever starts together: what passes together fits."""
    guard = guard_on(url, default=Budget(daily_tokens=cap))
    asked = [guard.admit(model="m", tenant="t", estimate=each) for each in tokens]
    assert sum(admission.allowed for admission in await asyncio.gather(*asked)) == passing
    standing = await guard.standing("t")
    assert isinstance(standing, Standing)
    assert standing.day.held <= cap


async def test_two_guards_share_a_cap(url: str, guard_on: Callable[..., Guard]) -> None:
    """Calls that alternate between two gateways are blocked at the cap they have together."""
    guards = [guard_on(url, default=Budget(daily_tokens=100)) for _ in range(2)]
    passed = 0
    for turn in range(6):
        admission = await guards[turn % 2].admit(model="m", tenant="t", estimate=30)
        if admission.allowed:
            passed += 1
            await guards[turn % 2].settle(admission, 30)
    assert passed == 3
