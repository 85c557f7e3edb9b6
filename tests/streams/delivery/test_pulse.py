"""When a loop that does not turn is an error."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from streams.delivery import pulse as module
from streams.delivery.pulse import Pulse, felt, tell_where


async def test_a_loop_that_turns_is_left_alone() -> None:
    """However often somebody looks."""
    pulse = Pulse(asyncio.get_running_loop())
    for _ in range(100):
        await asyncio.sleep(0)
        assert not pulse.is_still()


async def test_a_loop_that_does_not_turn_is_still() -> None:
    """Not before the whole time is over, counted in looks: nothing is said by a clock."""
    pulse = Pulse(asyncio.get_running_loop())
    assert [pulse.is_still() for _ in range(30)] == [False] * 29 + [True]


async def test_every_turn_starts_the_time_anew() -> None:
    """What hangs for less than the time, again and again, is slow and not still."""
    pulse = Pulse(asyncio.get_running_loop())
    for _ in range(3):
        assert not any(pulse.is_still() for _ in range(29))
        await asyncio.sleep(0)
        assert not pulse.is_still()


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(module, "STILL_SECONDS", 0.05)


@pytest.mark.usefixtures("quickly")
async def test_it_is_noticed_while_the_loop_is_blocked() -> None:
    """Nothing of it needs the loop."""
    noticed = threading.Event()
    with felt(noticed.set):
        assert noticed.wait(60)


@pytest.mark.usefixtures("quickly")
async def test_nobody_looks_afterwards() -> None:
    """The thread is gone when what it watched over is."""
    with felt(lambda: None):
        pass
    assert "pulse" not in {thread.name for thread in threading.enumerate()}


def test_the_place_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The last line of the log says in which call the main thread is, the innermost first."""
    with caplog.at_level(logging.CRITICAL):
        thread = threading.Thread(target=tell_where)
        thread.start()
        thread.join()
    assert caplog.messages[-1].startswith("stopping: the event loop has stood still for 30 s, in ")
    assert "test_the_place_is_told (test_pulse.py:" in caplog.messages[-1]
