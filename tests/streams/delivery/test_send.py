"""Sending rows of any size."""

from __future__ import annotations

import itertools

import pytest
from aiokafka.admin import NewTopic

from streams.delivery.errors import DeliveryError
from streams.delivery.send import Sender
from streams.topics import admin_client, ensure_changelogs
from tests.streams.delivery.conftest import read_all

pytestmark = pytest.mark.kafka

LARGE = b"x" * 3_000_000
_numbers = itertools.count()


async def test_a_changelog_takes_rows_that_a_broker_would_refuse(quick_kafka: str) -> None:
    """Among small ones, in order, and read back whole."""
    changelog = f"large-{next(_numbers)}"
    await ensure_changelogs(quick_kafka, [changelog], 1)
    entries = [(b"a", b"1"), (b"b", LARGE), (b"c", b"3")]
    sender = Sender(quick_kafka)
    await sender.start()
    try:
        await sender.append(changelog, 0, entries)
    finally:
        await sender.stop()
    assert [(each.key, each.value) for each in await read_all(quick_kafka, changelog, 1)] == entries


async def test_a_row_that_the_broker_refuses_is_named(quick_kafka: str) -> None:
    """A changelog made by others keeps the broker's limit: the worker ends saying which row, and what to raise."""
    changelog = f"small-{next(_numbers)}"
    async with admin_client(quick_kafka) as admin:
        await admin.create_topics([NewTopic(changelog, 1, 1)])
    sender = Sender(quick_kafka)
    await sender.start()
    try:
        with pytest.raises(DeliveryError, match=r"small-\d+/0: the broker refuses b'b' of 3,000,000 bytes: raise"):
            await sender.append(changelog, 0, [(b"a", b"1"), (b"b", LARGE)])
    finally:
        await sender.stop()
