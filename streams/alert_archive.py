"""The alerts that `notify` keeps, seen from a command: which there are, and asking for one to be sent again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from streams.alert_records import Resend
from streams.delivery.peek import rows
from streams.kafka import connection
from streams.notify_ledger import PREFIX, Entry
from streams.settings import Settings
from streams.topics import ALERTS_PARTITION, BrokerUnavailable, Topics

SHORTEST = 6  # letters of an id that are taken for it


class NoSuchAlertError(ValueError):
    """An id that is none, or that of several alerts."""


async def kept(settings: Settings) -> list[Entry]:
    """All alerts kept, the oldest first. Raises BrokerUnavailable."""
    found = []
    async for name, raw in rows(settings.kafka, f"{settings.prefix}.worker", "notify"):
        if name.startswith(PREFIX):
            found.append(msgspec.json.decode(raw, type=Entry))
    return sorted(found, key=lambda entry: (entry.heard, entry.place))


def find(entries: Iterable[Entry], name: str) -> Entry:
    """The alert whose id begins like this. Raises NoSuchAlertError."""
    fitting = [entry for entry in entries if entry.alert.id.startswith(name)]
    if len(name) < SHORTEST or len(fitting) != 1:
        exact = [entry for entry in fitting if entry.alert.id == name]
        if not exact:
            why = "is no id of an alert that is kept" if not fitting else f"begins {len(fitting)} ids: give more of it"
            raise NoSuchAlertError(f"{name} {why}")
        return exact[0]
    return fitting[0]


async def ask(settings: Settings, wishes: Sequence[Resend]) -> None:
    """Put wishes onto the alerts topic, where the worker finds them. Raises BrokerUnavailable."""
    producer = AIOKafkaProducer(**connection(settings.kafka))
    try:
        await producer.start()
        for wish in wishes:
            value = msgspec.json.encode(wish)
            topic = Topics(settings.prefix).alerts
            await producer.send_and_wait(topic, value, key=wish.key, partition=ALERTS_PARTITION)
    except (KafkaError, OSError) as error:
        msg = f"no Kafka broker answers at {settings.kafka}"
        raise BrokerUnavailable(msg) from error
    finally:
        await producer.stop()
