"""`blastdoor alerts` with a real broker: what did not arrive is seen, and sent again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from secrets import token_hex

import pytest
from click.testing import CliRunner, Result

from rules.alerts import Alert
from streams.channels.receiver import WEBHOOK, Misbehaviour, Receiver
from streams.cli import main
from streams.topics import Topics, ensure_changelogs
from tests.streams.notify.test_killed import produce, worker


async def blastdoor(broker: str, prefix: str, *words: str) -> Result:
    """A command beside the worker, in a thread of its own as it brings its own loop."""
    arguments = ["alerts", "--kafka", broker, "--prefix", prefix, *words]
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


async def seen(broker: str, prefix: str, text: str) -> Result:
    """The list, once it says this."""
    for _ in range(100):
        found = await blastdoor(broker, prefix, "list")
        if text in found.output:
            return found
        await asyncio.sleep(0.1)
    pytest.fail(f"{text} was never listed")


@pytest.mark.embedded
async def test_what_did_not_arrive_is_listed_and_sent_again(
    broker: str, receiver: Receiver, make_alert: Callable[..., Alert]
) -> None:
    """Refused, listed with its reason, asked for by the beginning of its id, delivered; the list then says so."""
    prefix = f"resend-{token_hex(4)}"
    topics = Topics(prefix)
    await ensure_changelogs(broker, [topics.alerts], 1)
    receiver.plan(WEBHOOK, Misbehaviour(status=400))
    alerts = [make_alert("aaaaaaaa1", "model:a"), make_alert("bbbbbbbb1", "model:b")]
    async with worker(broker, prefix, receiver):
        await produce(broker, topics.alerts, alerts[:1])
        listed = await seen(broker, prefix, "refused")
        await produce(broker, topics.alerts, alerts[1:])
        await seen(broker, prefix, "delivered, 1 attempt")
        missed = await blastdoor(broker, prefix, "list", "--undelivered", "--json")
        asked = await blastdoor(broker, prefix, "resend", "aaaaaa")
        async with asyncio.timeout(20):
            await receiver.arrived(2)
        unknown = await blastdoor(broker, prefix, "resend", "cccccc")
        done = await blastdoor(broker, prefix, "resend", "bbbbbb")
    assert "hook: refused, 1 attempt: HTTP 400" in listed.output
    assert [json.loads(line)["alert"]["id"] for line in missed.output.splitlines()] == ["aaaaaaaa1"]
    assert (asked.exit_code, asked.output) == (0, "aaaaaaaa1: asked for, to hook\n")
    assert sorted(arrival.id for arrival in receiver.arrivals) == ["aaaaaaaa1", "bbbbbbbb1"]
    assert (unknown.exit_code, unknown.output) == (1, "Error: cccccc is no id of an alert that is kept\n")
    assert "it has arrived everywhere" in done.output


@pytest.mark.embedded
async def test_without_a_worker_there_is_nothing_to_list(broker: str) -> None:
    """A table that never was is empty, not an error; no broker is one."""
    none = await blastdoor(broker, f"none-{token_hex(4)}", "list")
    assert (none.exit_code, none.output) == (0, "0 alerts, 0 shown\n")
    away = await blastdoor("127.0.0.1:1", "x", "list")
    assert (away.exit_code, away.output) == (1, "Error: no Kafka broker answers at 127.0.0.1:1\n")
