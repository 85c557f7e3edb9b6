"""kill -9 in the midst of sending, with a real broker: nothing is lost, little is repeated, order is kept."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from rules.alerts import Alert
from streams.channels.receiver import WEBHOOK, Receiver
from streams.topics import Topics, ensure_changelogs

WORKER = Path(__file__).with_name("notifying.py")
ROOT = Path(__file__).parents[3]
KILLS = (20, 80)  # after so many arrivals


@asynccontextmanager
async def worker(broker: str, prefix: str, receiver: Receiver) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process; killed at the end, if it still runs."""
    channel = receiver.channel(WEBHOOK)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "gateway")])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(WORKER), broker, prefix, channel.url, channel.secret),
        env={**os.environ, "PYTHONPATH": paths},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def produce(broker: str, topic: str, alerts: list[Alert]) -> None:
    """Put alerts onto the topic."""
    async with AIOKafkaProducer(bootstrap_servers=broker) as producer:
        for alert in alerts:
            await producer.send_and_wait(topic, msgspec.json.encode(alert), key=alert.id.encode())


@pytest.mark.embedded
async def test_kills_lose_nothing_and_repeat_an_alert_at_most_once_each(
    broker: str, receiver: Receiver, make_alert: Callable[..., Alert]
) -> None:
    """Each alert arrives, in order within its scope; a kill repeats what arrived but was not recorded, with its id."""
    prefix = f"killed-{token_hex(4)}"
    topic = Topics(prefix).alerts
    await ensure_changelogs(broker, [topic], 1)
    sent = [make_alert(f"{scope}-{number:02}", f"model:{scope}") for number in range(40) for scope in "abcd"]
    await produce(broker, topic, sent)
    for arrivals in KILLS:
        async with worker(broker, prefix, receiver) as process, asyncio.timeout(30):
            await receiver.arrived(arrivals)
            process.kill()
            await process.wait()
    async with worker(broker, prefix, receiver), asyncio.timeout(30):
        await receiver.until(lambda: {arrival.id for arrival in receiver.arrivals} >= {alert.id for alert in sent})
    seen = Counter(arrival.id for arrival in receiver.arrivals)
    assert set(seen) == {alert.id for alert in sent}
    assert max(seen.values()) <= 1 + len(KILLS)
    by_scope: dict[str, list[str]] = defaultdict(list)
    for alert_id in dict.fromkeys(arrival.id for arrival in receiver.arrivals):
        by_scope[alert_id[0]].append(alert_id)
    assert by_scope == {scope: [f"{scope}-{number:02}" for number in range(40)] for scope in "abcd"}
