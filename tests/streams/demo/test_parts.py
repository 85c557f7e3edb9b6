"""The small parts the performance is made of."""

from __future__ import annotations

import asyncio
import stat
from typing import TYPE_CHECKING

import pytest

from streams.channels.receiver import Receiver
from streams.demo.policy import CHANNELS, policy_file
from streams.demo.together import unless
from streams.policy_file import load_policy

if TYPE_CHECKING:
    from collections.abc import Coroutine


async def never() -> None:
    await asyncio.Event().wait()


async def answer() -> int:
    return 42


async def fails() -> None:
    raise ValueError("broken")


async def test_the_policy_leads_to_the_receiver() -> None:
    """Both channels, with no secret in the file, and nothing left of it afterwards."""
    async with Receiver() as receiver:
        with policy_file(receiver, "zh") as path:
            loaded, text = load_policy(path), path.read_text()
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        for name, kind in CHANNELS.items():
            channel = receiver.channel(kind, name)
            assert (loaded.channels[name].url, loaded.channels[name].secret) == (channel.url, channel.secret)
            assert channel.secret not in text
            assert channel.url not in text
        assert loaded.alerts.send == tuple(CHANNELS)
        assert loaded.left_to_gates() == ()
        assert not path.parent.exists()


async def test_the_result_comes_while_guards_wait() -> None:
    """They are ended, and have ended, when it is there."""
    assert await unless(answer(), never(), never()) == 42
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("wanted", [never, answer])
async def test_a_guard_that_fails_is_heard(wanted: Coroutine[None, None, int]) -> None:
    """Its error comes out, even where the result is there in the same moment."""
    with pytest.raises(ValueError, match="broken"):
        await unless(wanted(), fails())
    assert len(asyncio.all_tasks()) == 1


async def test_cancelled_it_ends_all() -> None:
    """Ctrl-C leaves no task behind."""
    task = asyncio.create_task(unless(never(), never()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1
