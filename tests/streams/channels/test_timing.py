"""Backoff and pace."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from streams.channels.feishu import GAP
from streams.channels.timing import RETRY_CAP, Pace, backoff


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_backoff_has_full_jitter_and_a_cap(attempts: int, chance: float) -> None:
    """The wait is anywhere between nothing and the exponential bound, which ends at five minutes."""
    assert 0 <= backoff(attempts, lambda: chance) <= min(RETRY_CAP, 2.0 ** min(attempts - 1, 1000))


def test_backoff_doubles() -> None:
    """At most 1, 2, 4, 8 s after the first failures."""
    assert [backoff(n, lambda: 1.0) for n in (1, 2, 3, 4)] == [1, 2, 4, 8]


async def test_a_bot_is_never_sent_a_burst(manual) -> None:
    """300 turns wanted at once: never more than 100 in any minute nor 5 in any second, and no burst after a pause."""
    turns: list[float] = []
    pace = Pace(GAP, manual.timing())

    async def take() -> None:
        await pace.turn()
        turns.append(manual.seconds)

    tasks = [asyncio.create_task(take()) for _ in range(150)]
    await manual.advance(600)
    tasks += [asyncio.create_task(take()) for _ in range(150)]
    await manual.advance(600)
    await asyncio.gather(*tasks)
    assert len(turns) == 300
    for window, most in ((60.0, 100), (1.0, 5)):
        assert max(sum(start <= t < start + window for t in turns) for start in turns) <= most


async def test_turns_come_in_the_order_of_asking(manual) -> None:
    """First come, first served."""
    served: list[int] = []
    pace = Pace(1.0, manual.timing())

    async def take(number: int) -> None:
        await pace.turn()
        served.append(number)

    tasks = [asyncio.create_task(take(n)) for n in range(5)]
    await manual.advance(10)
    await asyncio.gather(*tasks)
    assert served == [0, 1, 2, 3, 4]
