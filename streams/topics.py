"""The topics: their names, their settings, and bringing them into being.

Nothing relies on a broker that creates topics by itself.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from streams.kafka import connection
from streams.overheard import overheard

CONNECT_SECONDS = 10.0
_ATTEMPTS = 200
_PAUSE_SECONDS = 0.05
_DAY_MS = 86_400_000
USAGE_KEPT_DAYS = 7

Config = Mapping[str, str]

COMPACTED: Config = {"cleanup.policy": "compact"}
LARGEST_ROW = 16 * 1024 * 1024
"""Rows are bounded far below; at a broker's usual megabyte a single one too large would stop a partition for good."""

# Read whole by a new owner, so what compaction never touches, the last segment, is kept small. The lag leaves whoever
# is just reading a changelog every version it may need.
CHANGELOG: Config = {
    "cleanup.policy": "compact",
    "segment.bytes": str(32 * 1024 * 1024),
    "segment.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.2",
    "min.compaction.lag.ms": "60000",
    "max.message.bytes": str(LARGEST_ROW),
}

# Names of people are in these: what was replaced is gone within some days, and everything after 400.
ROLLUPS: Config = {
    "cleanup.policy": "compact,delete",
    "retention.ms": str(400 * _DAY_MS),
    "max.compaction.lag.ms": str(_DAY_MS),
    "segment.ms": str(_DAY_MS),
}


class BrokerUnavailable(Exception):  # noqa: N818 - a state of the world, nobody's error
    """No Kafka broker answers at the address given."""


class TopicError(Exception):
    """Topics exist that do not fit together, or the broker refuses to create them."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The names under a prefix."""

    prefix: str

    @property
    def usage(self) -> str:
        return f"{self.prefix}.usage"

    @property
    def balances(self) -> str:
        return f"{self.prefix}.balances"

    @property
    def controls(self) -> str:
        return f"{self.prefix}.controls"

    @property
    def facts(self) -> str:
        return f"{self.prefix}.facts"

    @property
    def decisions(self) -> str:
        return f"{self.prefix}.decisions"

    @property
    def decisions_latest(self) -> str:
        return f"{self.prefix}.decisions-latest"

    @property
    def alerts(self) -> str:
        return f"{self.prefix}.alerts"

    @property
    def alert_outcomes(self) -> str:
        return f"{self.prefix}.alert-outcomes"

    @property
    def sheets(self) -> str:
        """What source partitions counted by tenant and day, on its way into the roll-ups."""
        return f"{self.prefix}.sheets"

    @property
    def rollups(self) -> str:
        return f"{self.prefix}.rollups"

    @property
    def dead_letters(self) -> str:
        return f"{self.prefix}.dead-letters"

    @property
    def configs(self) -> dict[str, Config]:
        """Every topic with its settings; `usage` first, as the others take its number of partitions."""
        return {
            self.usage: _received(days=USAGE_KEPT_DAYS),
            self.balances: _received(days=7),
            self.controls: _received(days=30),
            self.facts: COMPACTED,
            self.decisions: _kept(days=400),
            self.decisions_latest: COMPACTED,
            self.alerts: _kept(days=30),
            self.alert_outcomes: _kept(days=30),
            self.sheets: {**_kept(days=7), "cleanup.policy": "compact,delete"},
            self.rollups: ROLLUPS,
            self.dead_letters: _kept(days=30),
        }


@dataclass(frozen=True, slots=True)
class Timing:
    """What suits a broker: the group's session timeout in seconds, and how long a fetch may wait for data."""

    session_timeout: float
    fetch_max_wait_ms: int


# tansu lets a group's first member wait for half a session, rounded up to half seconds, and looks for new data only
# when a fetch begins or ends.
TANSU = Timing(session_timeout=2.5, fetch_max_wait_ms=10)
# Kafka refuses sessions under 6 s (group.min.session.timeout.ms) and answers a waiting fetch as soon as there is data.
KAFKA = Timing(session_timeout=6.0, fetch_max_wait_ms=500)


ALERTS_PARTITION = 0
"""All alerts go here: one owner keeps their order, tells together what comes together, and keeps a bot's limits."""


def facts_partition(scope: str, partitions: int) -> int:
    """The partition of `facts` that a scope lives on: the same in every process and version."""
    return zlib.crc32(scope.encode()) % partitions


async def ensure_topics(kafka: str, prefix: str, partitions: int = 8) -> int:
    """Create the topics that are missing; answers the number of partitions all have.

    Any number of processes may do so at once.

    An existing usage topic decides the number, otherwise `partitions`. Raises BrokerUnavailable, TopicError.
    """
    topics = Topics(prefix)
    async with admin_client(kafka) as admin:
        existing = await _ensure(admin, {topics.usage: topics.configs[topics.usage]}, partitions)
        count = existing[topics.usage]
        existing = await _ensure(admin, topics.configs, count)
    _check(topics.usage, count, {topic: existing[topic] for topic in topics.configs})
    return count


async def ensure_changelogs(
    kafka: str, changelogs: Iterable[str], partitions: int, sources: Iterable[str] = ()
) -> None:
    """Create the missing changelogs of tables, whose sources must exist. Raises BrokerUnavailable, TopicError."""
    async with admin_client(kafka) as admin:
        existing = await _ensure(admin, dict.fromkeys(changelogs, CHANGELOG), partitions)
        counts = await _counts(admin)
    existing |= {topic: counts.get(topic, 0) for topic in sources}
    _check("the worker", partitions, existing)


async def partition_count(kafka: str, topic: str) -> int:
    """How many partitions a topic has, 0 where there is none. Raises BrokerUnavailable."""
    async with admin_client(kafka) as admin:
        return (await _counts(admin)).get(topic, 0)


async def detect_timing(kafka: str) -> Timing:
    """What suits the broker at this address. Raises BrokerUnavailable."""
    async with admin_client(kafka) as admin:
        cluster = await admin.describe_cluster()
    return TANSU if str(cluster["cluster_id"]).startswith("tansu") else KAFKA


def _kept(days: int) -> Config:
    return {"cleanup.policy": "delete", "retention.ms": str(days * _DAY_MS)}


def _received(days: int) -> Config:
    """Others write here, and their clocks must neither age records nor keep them for ever."""
    return {**_kept(days), "message.timestamp.type": "LogAppendTime"}


def _check(source: str, partitions: int, counts: Mapping[str, int]) -> None:
    wrong = [f"{topic} has {count}" for topic, count in sorted(counts.items()) if count != partitions]
    if wrong:
        msg = f"all topics need as many partitions as {source} ({partitions}), but {', '.join(wrong)}"
        raise TopicError(msg)


async def _counts(admin: AIOKafkaAdminClient) -> dict[str, int]:
    """The number of partitions of every topic there is."""
    return {found["topic"]: len(found["partitions"]) for found in await admin.describe_topics()}


async def _ensure(admin: AIOKafkaAdminClient, configs: Mapping[str, Config], partitions: int) -> dict[str, int]:
    """Create what is missing and wait until it is there: the partition counts of the topics named."""
    replication = -1  # the broker's default; brokers that do not know this meaning get 1
    for _ in range(_ATTEMPTS):
        existing = await _counts(admin)
        missing = {topic: config for topic, config in configs.items() if not existing.get(topic)}
        if not missing:
            return {topic: existing[topic] for topic in configs}
        refused = await _create(admin, missing, partitions, replication)
        if refused and replication == 1:
            msg = f"the broker refuses to create {'; '.join(refused)}"
            raise TopicError(msg)
        if refused:
            replication = 1
        else:
            await asyncio.sleep(_PAUSE_SECONDS)
    msg = f"created, but not to be seen: {', '.join(missing)}"
    raise TopicError(msg)


async def _create(
    admin: AIOKafkaAdminClient, configs: Mapping[str, Config], partitions: int, replication: int
) -> list[str]:
    """Ask for topics; the refusals, as text. Somebody else having created one is none."""
    wanted = [
        NewTopic(
            topic,
            partitions,
            replication,
            replica_assignments={} if replication == -1 else None,
            topic_configs=dict(config),
        )
        for topic, config in configs.items()
    ]
    response = await admin.create_topics(wanted)
    errors = [(topic, for_code(code), rest) for topic, code, *rest in response.topic_errors if code]
    return [
        f"{topic}: {(rest[0] if rest else None) or error.__name__}"
        for topic, error, rest in errors
        if error is not TopicAlreadyExistsError and not error.retriable
    ]


@asynccontextmanager
async def admin_client(kafka: str) -> AsyncIterator[AIOKafkaAdminClient]:
    """An admin client. What goes wrong between us and the broker becomes BrokerUnavailable."""
    admin = AIOKafkaAdminClient(**connection(kafka))
    try:
        await _start(admin, kafka)
        yield admin
    except (KafkaError, OSError, TimeoutError) as error:
        msg = f"no Kafka broker answers at {kafka}"
        raise BrokerUnavailable(msg) from error
    finally:
        await admin.close()


async def _start(admin: AIOKafkaAdminClient, kafka: str) -> None:
    with overheard() as talk:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await admin.start()
        except (KafkaError, OSError, TimeoutError) as error:
            raise BrokerUnavailable(talk.about(f"no Kafka broker answers at {kafka}")) from error
