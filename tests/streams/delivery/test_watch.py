"""When standing still is an error."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import pytest
from faust.types import TP

from streams.delivery import watch as module
from streams.delivery.delivery import Delivery
from streams.delivery.step import Observer
from streams.delivery.watch import Watch, watch


@dataclass
class Held:
    """A partition in hand that does not move."""

    flushed: int
    started: bool = True

    def __str__(self) -> str:
        return "step/0"


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(module, "STALL_SECONDS", 0.2)


@pytest.mark.parametrize(
    ("places", "stalled"),
    [
        pytest.param([(0, 5, 9), (30, 5, 9)], [[], ["p"]], id="no step in 30 s with work ahead"),
        pytest.param([(0, 5, 9), (29.9, 5, 9)], [[], []], id="not yet"),
        pytest.param([(0, 5, 5), (60, 5, 5)], [[], []], id="at the end there is nothing to do"),
        pytest.param([(0, 5, 9), (29, 6, 9), (58, 6, 9), (59, 6, 9)], [[], [], [], ["p"]], id="every step starts anew"),
        pytest.param(
            [(0, 5, 5), (29, 5, 9), (58, 5, 9), (59, 5, 9)], [[], [], [], ["p"]], id="counted from when work came"
        ),
        pytest.param([(0, 5, 9), (20, 5, 5), (40, 5, 9)], [[], [], []], id="being at the end in between counts"),
    ],
)
def test_a_position_that_does_not_move(places: list[tuple[float, int, int]], stalled: list[list[str]]) -> None:
    """Only a position below the end that has not moved for the whole time is stalled."""
    watch: Watch[str] = Watch(30)
    assert [watch.look(now, {"p": (position, end)}) for now, position, end in places] == stalled


def test_a_partition_that_went_away_is_forgotten() -> None:
    """One that comes back gets its whole time again, and an unknown end is held against nobody."""
    watch: Watch[str] = Watch(30)
    watch.look(0, {"p": (5, 9)})
    watch.look(20, {})
    assert watch.look(40, {"p": (5, 9)}) == []


@pytest.mark.embedded
async def test_a_stall_ends_the_process(scene) -> None:
    """Found by looking at the log itself, whatever the consumer believes."""
    await scene.produce(400)
    delivery = Delivery(scene.kafka, Observer())
    delivery.leases[TP(scene.topic, 0)] = Held(flushed=0)
    await asyncio.wait_for(watch(delivery), 5)
    assert str(delivery.failure).startswith("step/0 has stood at offset 0 for 0 s although the log goes on to ")


@pytest.mark.embedded
async def test_waiting_too_long_for_partitions_ends_the_process(broker: str) -> None:
    """A group that never comes together is no reason to wait for ever."""
    delivery = Delivery(broker, Observer())
    delivery.waiting_since = time.monotonic() - module.WAIT_SECONDS - 1
    await asyncio.wait_for(watch(delivery), 5)
    assert str(delivery.failure).startswith("no partition for 90 s")


@pytest.mark.embedded
async def test_a_silent_broker_is_held_against_nobody(own_broker, new_scene) -> None:
    """While nobody says where the log ends, nothing stalls."""
    scene = await new_scene(own_broker.kafka)
    delivery = Delivery(own_broker.kafka, Observer())
    delivery.leases[TP(scene.topic, 0)] = Held(flushed=70)
    watching = asyncio.create_task(watch(delivery))
    await asyncio.sleep(0.1)
    own_broker.stop()
    await asyncio.sleep(0.5)
    assert delivery.failure is None
    watching.cancel()
    await asyncio.wait([watching])
