"""The watch beside `notify`: one looks, tells once, remembers over a restart, and sees real servers go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from secrets import token_hex
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from blastdoor_gateway.contract import Keys

from rules.alerts import Alert, Kind
from rules.calendar import Calendar
from rules.moment import MINUTE, Millis
from rules.policy import Alerting
from rules.surroundings import Memory, Sample
from streams.channels.timing import Timing
from streams.embedded import redis_server
from streams.lookout import Lookout
from streams.publish.client import open_redis
from streams.topics import ensure_changelogs
from streams.wall_clock import wall_clock
from streams.watchman import ROW, Watchman

START = 1_786_591_320_000


class Scripted:
    """A lookout that sees what it is told, a minute apart, and then nothing new."""

    def __init__(self, *samples: dict[str, Any] | Exception) -> None:
        self.samples = list(samples)
        self.minute = 0
        self.seen = asyncio.Event()  # all of it

    async def look(self) -> Sample:
        if not self.samples:
            self.seen.set()
            await asyncio.Event().wait()
        found = self.samples.pop(0)
        if isinstance(found, Exception):
            raise found
        self.minute += 1
        return Sample(at=START + self.minute * MINUTE, **found)

    async def close(self) -> None: ...


class Post:
    """Where a watchman stands: touched, failed, and what he hands over at a flush."""

    def __init__(self, lookout: Scripted | Lookout) -> None:
        self.watchman = Watchman(lookout, Alerting(), Calendar(), Timing(sleep=lambda _: asyncio.sleep(0)))
        self.touched = asyncio.Event()
        self.failures: list[BaseException] = []
        self.rows: dict[str, Any] = {}
        self.alerts: list[Alert] = []

    def begin(self, rows: dict[str, Any] | None = None) -> None:
        kept = msgspec.json.decode(msgspec.json.encode(rows or {}))
        self.watchman.begin(kept.get(ROW), self.touched.set, self.failures.append)

    def flush(self) -> None:
        alerts, rows = self.watchman.take()
        self.alerts += alerts
        self.rows |= rows


AWAY, WELL = {"redis_away": True}, {"redis_away": False}


async def test_what_is_found_is_told_once_and_remembered() -> None:
    """Redis is away for minutes: one alert with its row; the next watchman goes on from it, memory by hours
    and all, and tells the end."""
    first = Scripted(WELL | {"memory": Memory(100, 1_000)}, AWAY, AWAY, AWAY, AWAY)
    post = Post(first)
    post.begin()
    await first.seen.wait()
    post.flush()
    assert [alert.kind for alert in post.alerts] == [Kind.REDIS_UNREACHABLE]
    assert post.touched.is_set()
    await post.watchman.close()
    second = Scripted(AWAY, AWAY, WELL)
    second.minute = first.minute
    after = Post(second)
    after.begin(post.rows)
    await second.seen.wait()
    after.flush()
    assert [(alert.kind, alert.ends[0].id) for alert in after.alerts] == [(Kind.RECOVERED, post.alerts[0].id)]
    await after.watchman.close()


async def test_off_duty_nothing_is_told() -> None:
    """The partition went to another worker: what was found but not handed over is found again there."""
    lookout = Scripted(*[{"memory": Memory(900, 1_000)}] * 2)
    post = Post(lookout)
    post.begin()
    await lookout.seen.wait()
    post.watchman.end()
    post.flush()
    assert (post.alerts, post.rows) == ([], {})


async def test_a_mistake_of_ours_ends_the_process() -> None:
    """What a look does not foresee is no condition of the world."""
    post = Post(Scripted(RuntimeError("ours")))
    post.begin()
    async with asyncio.timeout(5):
        while not post.failures:  # noqa: ASYNC110 - a callback of the loop, some turns away
            await asyncio.sleep(0)
    assert [str(failure) for failure in post.failures] == ["ours"]


@pytest.fixture
async def make_lookout(broker: str) -> AsyncIterator[Callable[..., Lookout]]:
    """A lookout at the embedded servers, under a prefix of its own."""
    made: list[Lookout] = []

    def make(redis: str, clock: Callable[[], Millis] = wall_clock) -> Lookout:
        prefix = f"watch-{token_hex(4)}"
        lookout = Lookout(broker, f"{prefix}.dead-letters", 2, open_redis(redis, 0.5), Keys(prefix), clock)
        made.append(lookout)
        return lookout

    yield make
    for lookout in made:
        await lookout.close()


@pytest.mark.embedded
async def test_dead_letters_are_counted_over_all_partitions(
    broker: str, redis_url: str, make_lookout: Callable[..., Lookout]
) -> None:
    """The ends of the topic: also of what `ship` put there, which no worker saw."""
    lookout = make_lookout(redis_url)
    await ensure_changelogs(broker, [lookout.dead_letters], 2)
    assert (await lookout.look()).dead_letters == 0
    async with AIOKafkaProducer(bootstrap_servers=broker) as producer:
        for number in range(5):
            await producer.send_and_wait(lookout.dead_letters, b"x", partition=number % 2)
    assert (await lookout.look()).dead_letters == 5


@pytest.mark.embedded
async def test_gates_that_report_lately_are_seen(redis_url: str, make_lookout: Callable[..., Lookout]) -> None:
    """A field for each process; an old one, a broken one and one without calls say nothing."""
    lookout = make_lookout(redis_url, lambda: START)
    reports = {
        "a": {"at": START - MINUTE, "calls": 7, "why": "timeout"},
        "old": {"at": START - 11 * MINUTE, "calls": 7},
        "none": {"at": START, "calls": 0},
    }
    fields = {name: msgspec.json.encode(report).decode() for name, report in reports.items()} | {"broken": "{"}
    await lookout.redis.hset(lookout.keys.open_gates, mapping=fields)  # type: ignore[misc]
    found = await lookout.look()
    assert [(gate.name, gate.calls, gate.why) for gate in found.gates] == [("a", 7, "timeout")]
    assert found.memory is not None
    assert found.memory.used > 100_000


@pytest.mark.embedded
async def test_a_redis_that_goes_and_comes_is_seen(make_lookout: Callable[..., Lookout]) -> None:
    """Stopped: away. Another on the same port: back, with no help from us."""
    server = redis_server.start()
    lookout = make_lookout(redis_server.url(server))
    assert not (await lookout.look()).redis_away
    server.child.stop()
    assert (await lookout.look()).redis_away
