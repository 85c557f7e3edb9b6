"""Long pieces of work have a turn of the event loop each."""

from __future__ import annotations

import asyncio

import pytest

from streams.delivery.turns import STRETCH, Breath, Turns


class Clock:
    """Stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def counted(turns: list[int]) -> None:
    """Counts the turns of the loop."""
    while True:
        turns[0] += 1
        await asyncio.sleep(0)


async def spent(each: float, pieces: int = 3) -> list[int]:
    """After which turns of the loop pieces of work ended that took `each` seconds, all of them due at once."""
    clock, turns, ended = Clock(), [0], list[int]()
    shares = Turns(clock)

    async def piece() -> None:
        async with shares:
            clock.now += each
            ended.append(turns[0])

    counting = asyncio.create_task(counted(turns))
    await asyncio.gather(*(piece() for _ in range(pieces)))
    counting.cancel()
    return ended


def test_long_pieces_have_a_turn_each() -> None:
    """Between two pieces of work that are longer than a stretch the loop turns."""
    ended = asyncio.run(spent(2 * STRETCH))

    assert len(set(ended)) == len(ended) == 3


def test_short_pieces_share_a_turn() -> None:
    """Pieces shorter than a stretch do not wait for one another."""
    assert len(set(asyncio.run(spent(STRETCH / 10)))) == 1


def test_an_error_ends_a_turn() -> None:
    """Work that fails, or is cancelled while it lets others in, keeps nobody waiting."""

    async def story() -> None:
        clock = Clock()
        shares = Turns(clock)

        async def failing() -> None:
            async with shares:
                clock.now += 2 * STRETCH
                raise ValueError("fails")

        with pytest.raises(ValueError, match="fails"):
            await failing()

        async def long() -> None:
            async with shares:
                clock.now += 2 * STRETCH

        task = asyncio.create_task(long())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(30), shares:
            pass

    asyncio.run(story())


def test_a_breath_is_taken_after_a_stretch() -> None:
    """Between two lots the loop turns only where it has not for a stretch."""

    async def story() -> list[int]:
        clock, turns, after = Clock(), [0], list[int]()
        breath = Breath(clock)
        counting = asyncio.create_task(counted(turns))
        for took in (STRETCH / 10, 2 * STRETCH, STRETCH / 10):
            clock.now += took
            await breath()
            after.append(turns[0])
        counting.cancel()
        return after

    assert asyncio.run(story()) == [0, 1, 1]
