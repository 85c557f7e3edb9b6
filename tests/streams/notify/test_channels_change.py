"""Channels change while alerts are under way: what waits goes on by the new policy."""

from __future__ import annotations

import json

from msgspec.structs import replace

from rules.policy import Alerting, Policy
from streams.active import Active
from streams.channels.receiver import CLOSES, FEISHU, WEBHOOK
from streams.policy_file import default_rulebook

POLICY = Policy()


def active(senders, *send: str) -> Active:
    policy = replace(POLICY, alerts=Alerting(send=send))
    return Active(policy=policy, rulebook=default_rulebook(policy), senders=senders)


def attempts(loop, alert_id: str, channel: str) -> int:
    row = json.loads(loop.table.get(f"alert|{alert_id}", "{}"))
    return row["outcomes"][channel]["attempts"] if row else 0


async def test_what_waits_for_a_channel_is_sent_by_its_new_sender(start, receiver, senders, make_alert) -> None:
    """The old sender meets a receiver that hangs up; after the change every alert arrives, with its own id."""
    receiver.plan(WEBHOOK, *[CLOSES] * 3)
    loop = await start(send=(WEBHOOK,))
    loop.offer(make_alert("a1"), make_alert("a2"))
    await loop.until(lambda: attempts(loop, "a1", WEBHOOK) >= 1)
    loop.notify.adopt(active(senders, WEBHOOK))
    await loop.until(loop.settled)
    assert loop.outcomes() == {"a1": {WEBHOOK: "delivered"}, "a2": {WEBHOOK: "delivered"}}
    await loop.notify.close()


async def test_what_waits_for_a_channel_that_is_gone_says_so(start, receiver, senders, make_alert) -> None:
    """It is unsent with the reason, and a new alert goes where the new policy says."""
    receiver.plan(FEISHU, *[CLOSES] * 1_000)
    loop = await start(send=(FEISHU,))
    loop.offer(make_alert("a1"))
    await loop.until(lambda: attempts(loop, "a1", FEISHU) >= 1)
    loop.notify.adopt(active({WEBHOOK: senders[WEBHOOK]}, WEBHOOK))
    loop.offer(make_alert("a2"))
    await loop.until(lambda: loop.settled() and "a2" in loop.outcomes())
    assert loop.outcomes() == {"a1": {FEISHU: "unsent"}, "a2": {WEBHOOK: "delivered"}}
    await loop.notify.close()
