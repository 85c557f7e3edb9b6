"""Looks at the newest usage on Kafka: whether there is any, and whether two sources tell of the same calls."""

from __future__ import annotations

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from rules.intake.reader import Intake
from rules.moment import HOUR, MINUTE
from rules.policy import Policy
from rules.records import Usage
from rules.twins import overlaps
from streams.delivery.errors import DeliveryError
from streams.delivery.log import PartitionLog, ends
from streams.doctor.finding import Finding, error, fine, note, warning
from streams.settings import Settings
from streams.topics import BrokerUnavailable, Topics, admin_client
from streams.wall_clock import wall_clock

PART = "usage"
RECORDS = 2_000  # of each partition


async def examine(settings: Settings, policy: Policy) -> list[Finding]:
    """What the newest events say."""
    topic = Topics(settings.prefix).usage
    try:
        events = await _newest(settings, policy, topic)
    except (KafkaError, DeliveryError, BrokerUnavailable, OSError) as away:
        return [note(PART, f"{topic} could not be read: {type(away).__name__}", "see what is said of kafka")]
    if not events:
        return [warning(PART, f"{topic} holds no usage", "connect a gateway: see docs/intake.md and blastdoor ship")]
    return [_freshness(events), *_twice(events)]


async def _newest(settings: Settings, policy: Policy, topic: str) -> list[Usage]:
    intake = Intake(policy.calendar().zone)
    async with admin_client(settings.kafka) as admin:
        counts = {found["topic"]: len(found["partitions"]) for found in await admin.describe_topics()}
    partitions = [TopicPartition(topic, number) for number in range(counts.get(topic, 0))]
    found: list[object] = []
    for partition, end in (await ends(settings.kafka, partitions)).items():
        async for records in PartitionLog(settings.kafka, partition).before(end, RECORDS):
            found += [intake.read(record.value or b"") for record in records]
    return [record for record in found if isinstance(record, Usage)]


def _freshness(events: list[Usage]) -> Finding:
    age = wall_clock() - max(event.at for event in events)
    what = f"the newest event is {max(0, age) // MINUTE} min old"
    if age > HOUR:
        return warning(
            PART, what, "if calls are made, their usage does not arrive: look at the shipper or the gateway's sink"
        )
    return fine(PART, what)


def _twice(events: list[Usage]) -> list[Finding]:
    advice = "switch one of them off: every call counts twice, and the limit closes early"
    return [
        error(
            PART,
            f"'{found.first}' and '{found.second}' tell of the same calls: {found.twins} of the last {found.told}",
            advice,
        )
        for found in overlaps(events)
    ]
