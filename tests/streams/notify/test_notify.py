"""From a record on the alerts topic to people: at least once, in order, never claimed when it was not."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, defaultdict

import pytest

from rules.policy import Alerting, Route
from streams.alert_records import Resend
from streams.channels.outcome import Progress
from streams.channels.receiver import (
    ANSWER_LOST,
    CLOSES,
    FEISHU,
    GARBAGE,
    GONE,
    HANGS,
    THROTTLED,
    TOO_MANY,
    TOO_MANY_200,
    WEBHOOK,
    Misbehaviour,
    busy,
)
from streams.channels.sender import Note, Sent
from streams.notify import COUNTED, NOWHERE, Notify
from streams.notify_ledger import Keep


async def test_an_alert_reaches_every_channel_and_is_recorded(start, receiver, counts, make_alert) -> None:
    """One alert, two channels, one id; the rows and the counts say delivered."""
    loop = await start()
    loop.offer(make_alert("a1"))
    await loop.until(lambda: loop.table and loop.settled())
    assert sorted((arrival.channel, arrival.id) for arrival in receiver.arrivals) == [(FEISHU, "a1"), (WEBHOOK, "a1")]
    assert loop.outcomes() == {"a1": {FEISHU: "delivered", WEBHOOK: "delivered"}}
    assert counts.seen == {(FEISHU, "delivered"): 1, (WEBHOOK, "delivered"): 1}


async def test_nothing_is_sent_before_the_row_is_kept(start, receiver, make_alert) -> None:
    """Until the flush is acknowledged no request goes out, however long it takes."""
    loop = await start()
    loop.offer(make_alert("a1"))
    for _ in range(50):
        await asyncio.sleep(0)
    assert "alert|a1" in loop.flush()
    for _ in range(50):
        await asyncio.sleep(0)
    assert receiver.requests == []
    loop.flush()
    await receiver.arrived(2)


async def test_a_repeated_record_is_not_a_repeated_alert(start, receiver, counts, make_alert) -> None:
    """The same id from a replay is ignored, while under way, when done and after a restart."""
    loop = await start()
    loop.offer(make_alert("a1"), make_alert("a1"))
    await loop.until(lambda: loop.table and loop.settled())
    loop.offer(make_alert("a1"))
    await loop.notify.close()
    again = await start(loop.table)
    again.offer(make_alert("a1"))
    assert again.flush() == {}
    assert len(receiver.arrivals) == 2
    assert counts.seen[NOWHERE, "duplicate"] == 3


async def test_a_restart_resumes_what_was_not_delivered(start, receiver, senders, make_alert) -> None:
    """Killed while one channel is down: after the restart only that one gets the alert."""
    receiver.plan(WEBHOOK, *[CLOSES] * 1_000)
    loop = await start()
    loop.offer(make_alert("a1"))
    await loop.until(lambda: loop.outcomes().get("a1", {}).get(FEISHU) == "delivered")
    await loop.notify.close()
    receiver.forgive(WEBHOOK)
    again = await start(loop.table)
    await again.until(again.settled)
    assert Counter(arrival.channel for arrival in receiver.arrivals) == {FEISHU: 1, WEBHOOK: 1}
    assert again.outcomes() == {"a1": {FEISHU: "delivered", WEBHOOK: "delivered"}}


async def test_killed_between_sending_and_recording_repeats_once_with_the_same_id(start, receiver, make_alert) -> None:
    """The receiver accepted, the row that says so was lost: one repeat, same id, then never again."""
    loop = await start(send=(WEBHOOK,))
    loop.offer(make_alert("a1"))
    await loop.until(lambda: "alert|a1" in loop.table)
    loop.failing = True
    loop.flush()
    await receiver.arrived(1)
    await loop.notify.close()
    for _ in range(3):
        again = await start(loop.table, send=(WEBHOOK,))
        await again.until(again.settled)
        await again.notify.close()
    assert [arrival.id for arrival in receiver.arrivals] == ["a1", "a1"]


async def test_killed_before_the_row_is_kept_loses_nothing(start, receiver, make_alert) -> None:
    """Nothing was kept, so the record is read again and the alert goes out once."""
    loop = await start(send=(WEBHOOK,))
    loop.failing = True
    loop.offer(make_alert("a1"))
    loop.flush()
    await loop.notify.close()
    assert receiver.requests == []
    again = await start(loop.table, send=(WEBHOOK,))
    again.offer(make_alert("a1"))
    await again.until(lambda: again.table and again.settled())
    assert [arrival.id for arrival in receiver.arrivals] == ["a1"]


MISBEHAVIOURS = [THROTTLED, TOO_MANY, TOO_MANY_200, HANGS, CLOSES, GARBAGE, busy(5), Misbehaviour(status=503)]


async def test_a_misbehaving_bot_gets_every_alert_once_and_in_order(start, receiver, make_alert) -> None:
    """It throttles, hangs, closes and answers garbage: all alerts arrive, once, in order within each scope."""
    receiver.plan(FEISHU, *[plan for plan in MISBEHAVIOURS for _ in range(2)])
    loop = await start(send=(FEISHU,))
    sent = [make_alert(f"{scope}-{number}", f"model:{scope}") for number in range(4) for scope in "abc"]
    loop.offer(*sent)
    await loop.until(lambda: loop.table and loop.settled())
    by_scope: dict[str, list[str]] = defaultdict(list)
    for arrival in receiver.arrivals:
        by_scope[arrival.id[0]].append(arrival.id)
    assert by_scope == {scope: [f"{scope}-{number}" for number in range(4)] for scope in "abc"}


GROUPED = Alerting(send=(FEISHU, WEBHOOK), group=5_000)


async def test_25_models_crossing_together_are_one_message(start, receiver, make_alert) -> None:
    """One card with all of them for people; a program still gets a request with its own id for each."""
    loop = await start(alerting=GROUPED)
    sent = [make_alert(f"m{number:02}", f"model:{number}") for number in range(25)]
    loop.offer(*sent)
    await loop.until(lambda: loop.table and loop.settled())
    (card,) = [arrival for arrival in receiver.arrivals if arrival.channel == FEISHU]
    assert card.ids == tuple(alert.id for alert in sent)
    hooks = [arrival.id for arrival in receiver.arrivals if arrival.channel == WEBHOOK]
    assert sorted(hooks) == [alert.id for alert in sent]


async def test_a_misbehaving_bot_gets_messages_of_several_once_and_in_order(start, receiver, make_alert) -> None:
    """The same misbehaviour, met with grouped alerts: all arrive, once, in order within each scope."""
    receiver.plan(FEISHU, *[plan for plan in MISBEHAVIOURS for _ in range(2)])
    loop = await start(alerting=Alerting(send=(FEISHU,), group=5_000))
    loop.offer(*(make_alert(f"{scope}-{number}", f"model:{scope}") for number in range(40) for scope in "abc"))
    await loop.until(lambda: loop.table and loop.settled())
    by_scope: dict[str, list[str]] = defaultdict(list)
    for alert_id in (alert_id for arrival in receiver.arrivals for alert_id in arrival.ids):
        by_scope[alert_id[0]].append(alert_id)
    assert by_scope == {scope: [f"{scope}-{number}" for number in range(40)] for scope in "abc"}
    assert len(receiver.arrivals) < 40


async def test_a_message_of_several_whose_answer_was_lost_is_repeated_with_its_ids(start, receiver, make_alert) -> None:
    """The one possible duplicate: accepted, the answer lost. Both messages name the same alerts."""
    receiver.plan(FEISHU, ANSWER_LOST)
    loop = await start(alerting=Alerting(send=(FEISHU,), group=5_000))
    loop.offer(make_alert("a1"), make_alert("b1", "model:b"))
    await loop.until(lambda: loop.table and loop.settled())
    assert [arrival.ids for arrival in receiver.arrivals] == [("a1", "b1"), ("a1", "b1")]


async def test_an_alert_arrives_twice_only_if_the_answer_was_lost(start, receiver, make_alert) -> None:
    """Accepted, and the connection closed before the answer: nobody can know, so it is sent again with its id."""
    receiver.plan(FEISHU, ANSWER_LOST)
    loop = await start(send=(FEISHU,))
    loop.offer(make_alert("a1"), make_alert("a2"))
    await loop.until(lambda: loop.table and loop.settled())
    assert [arrival.id for arrival in receiver.arrivals] == ["a1", "a1", "a2"]


@pytest.mark.parametrize("misbehaviour", [THROTTLED, TOO_MANY, TOO_MANY_200, HANGS, CLOSES, GARBAGE, busy(5)])
async def test_nothing_is_said_to_be_sent_that_was_not(
    *, misbehaviour, start, receiver, counts, make_alert, caplog: pytest.LogCaptureFixture
) -> None:
    """A failed attempt is logged, counted and recorded as such; `delivered` appears after acceptance only."""
    receiver.plan(FEISHU, misbehaviour)
    loop = await start(send=(FEISHU,))
    with caplog.at_level(logging.DEBUG, logger="streams.notify"):
        loop.offer(make_alert("a1"))
        await loop.until(lambda: loop.table and counts.seen[FEISHU, "waiting"] == 1)
        assert counts.seen[FEISHU, "delivered"] == 0
        assert "delivered" not in caplog.text
        await loop.until(loop.settled)
    assert [arrival.id for arrival in receiver.arrivals] == ["a1"]
    assert counts.seen[FEISHU, "delivered"] == 1
    assert caplog.messages[-1] == "alert a1 (threshold) to feishu: delivered, attempt 2"


async def test_no_channel_configured_is_recorded_and_visible(
    start, counts, make_alert, caplog: pytest.LogCaptureFixture
) -> None:
    """An alert nobody gets is not silently dropped."""
    loop = await start(send=())
    loop.offer(make_alert("a1"))
    loop.flush()
    assert loop.outcomes() == {"a1": {NOWHERE: "unsent"}}
    assert counts.seen == {(NOWHERE, "unsent"): 1}
    assert "no channel for it" in caplog.text


async def test_an_unknown_channel_is_recorded_and_holds_up_no_other(start, receiver, counts, make_alert) -> None:
    """A name in `send` without a channel: unsent there, delivered elsewhere."""
    loop = await start(send=("pager", WEBHOOK))
    loop.offer(make_alert("a1"))
    await loop.until(lambda: loop.table and loop.settled())
    assert loop.outcomes() == {"a1": {"pager": "unsent", WEBHOOK: "delivered"}}
    assert counts.seen["pager", "unsent"] == 1


async def test_a_channel_that_left_the_policy_is_not_waited_for(start, receiver, senders, make_alert) -> None:
    """Under way when the policy changed: after the restart it is unsent, with the reason."""
    receiver.plan(FEISHU, *[CLOSES] * 1_000)
    loop = await start(send=(FEISHU,))
    loop.offer(make_alert("a1"))
    await loop.until(lambda: "alert|a1" in loop.table)
    await loop.notify.close()
    again = await start(loop.table, senders={WEBHOOK: senders[WEBHOOK]}, send=(WEBHOOK,))
    again.flush()
    assert again.outcomes() == {"a1": {FEISHU: "unsent"}}
    assert json.loads(again.table["alert|a1"])["outcomes"][FEISHU]["detail"] == "no such channel"


async def test_a_gone_receiver_keeps_alerts_with_the_reason(start, receiver, make_alert) -> None:
    """After 410 the webhook is asked no more; each alert's row says why it did not go out."""
    receiver.plan(WEBHOOK, GONE)
    loop = await start(send=(WEBHOOK,))
    loop.offer(make_alert("a1"), make_alert("a2"))
    await loop.until(lambda: loop.table and loop.settled())
    assert loop.outcomes() == {"a1": {WEBHOOK: "refused"}, "a2": {WEBHOOK: "refused"}}
    assert "channel closed: HTTP 410" in loop.table["alert|a2"]
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="no value"),
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b'{"id":"a"}', id="fields missing"),
        pytest.param(b"[" * 100_000, id="too deep"),
        pytest.param(b'"' + b"x" * 300_000 + b'"', id="too large"),
    ],
)
async def test_a_record_that_is_no_alert_stops_nothing(
    value: bytes | None, start, receiver, counts, make_alert
) -> None:
    """It is counted and logged; the alert behind it goes out."""
    loop = await start(send=(WEBHOOK,))
    loop.offer(value, make_alert("a1"))
    await loop.until(lambda: loop.table and loop.settled())
    assert counts.seen[NOWHERE, "unreadable"] == 1
    assert [arrival.id for arrival in receiver.arrivals] == ["a1"]


@pytest.mark.parametrize("alert_id", ["", "a.b", "a\r\nx-evil: 1", "ä", "a" * 129])
async def test_an_id_unfit_for_a_header_is_no_alert(alert_id: str, start, counts, make_alert) -> None:
    """The id is signed and goes into a header: nothing in it may end either."""
    loop = await start()
    loop.offer(make_alert(alert_id))
    assert counts.seen == {(NOWHERE, "unreadable"): 1}


async def test_numbers_beyond_reason_are_no_alert(start, counts, make_alert) -> None:
    """A count of 10^30 tokens cannot be ours."""
    loop = await start()
    loop.offer(make_alert("a1", used=10**30))
    assert counts.seen == {(NOWHERE, "unreadable"): 1}


async def test_an_operator_has_an_alert_sent_again(start, receiver, counts, make_alert) -> None:
    """Refused for good, then the receiver is repaired: asked to, it goes out again under the same id, and is done."""
    receiver.plan(WEBHOOK, Misbehaviour(status=400))
    loop = await start(history="outcomes")
    loop.offer(make_alert("a1"))
    await loop.until(lambda: loop.table and loop.settled())
    assert counts.tally == {(FEISHU, Progress.DELIVERED): 1, (WEBHOOK, Progress.REFUSED): 1}
    loop.offer(Resend(id="a1", at=0, by="ops"))
    await loop.until(lambda: loop.outcomes()["a1"][WEBHOOK] == "delivered")
    assert [(arrival.channel, arrival.id) for arrival in receiver.arrivals] == [(FEISHU, "a1"), (WEBHOOK, "a1")]
    told = [(out.key, json.loads(out.value)["outcome"]) for out in loop.outputs if out.topic == "outcomes"]
    assert told == [(b"a1|feishu", "delivered"), (b"a1|webhook", "refused"), (b"a1|webhook", "delivered")]


async def test_sent_again_it_outlives_a_restart(start, receiver, make_alert) -> None:
    """The wish is kept before anything goes out: killed in between, the next worker sends it."""
    receiver.plan(WEBHOOK, Misbehaviour(status=400))
    loop = await start(send=(WEBHOOK,))
    loop.offer(make_alert("a1"))
    await loop.until(lambda: loop.table and loop.settled())
    loop.offer(Resend(id="a1", at=0, by="ops"))
    loop.flush()
    await loop.notify.close()
    again = await start(loop.table, send=(WEBHOOK,))
    await again.until(again.settled)
    assert [arrival.id for arrival in receiver.arrivals] == ["a1"]


async def test_sent_again_where_it_arrived_only_if_named(start, receiver, make_alert) -> None:
    """Without a channel nothing that arrived is repeated; with one it is, under its id; an unknown alert is logged."""
    loop = await start(send=(WEBHOOK,))
    loop.offer(make_alert("a1"))
    await loop.until(lambda: loop.table and loop.settled())
    loop.offer(Resend(id="a1", at=0, by="ops"), Resend(id="unknown", at=0, by="ops"))
    assert loop.flush() == {}
    loop.offer(Resend(id="a1", at=0, by="ops", channels=(WEBHOOK, "pager")))
    await loop.until(lambda: len(receiver.arrivals) == 2 and loop.settled())
    assert loop.outcomes() == {"a1": {WEBHOOK: "delivered", "pager": "unsent"}}
    assert [arrival.id for arrival in receiver.arrivals] == ["a1", "a1"]


async def test_a_route_to_nobody_keeps_the_alert_in_silence(
    start, receiver, make_alert, caplog: pytest.LogCaptureFixture
) -> None:
    """Muted on purpose: kept, counted, and no error."""
    muted = Alerting(send=(WEBHOOK,), group=0, routes=(Route(scope=("model:trial-*",), send=()),))
    loop = await start(alerting=muted)
    loop.offer(make_alert("t", "model:trial-1"), make_alert("a"))
    await loop.until(lambda: loop.table and loop.settled())
    assert loop.outcomes() == {"t": {NOWHERE: "muted"}, "a": {WEBHOOK: "delivered"}}
    assert [record.levelname for record in caplog.records if record.levelno > logging.INFO] == []


async def test_too_many_waiting_alerts_are_recorded_not_hoarded(start, receiver, make_alert) -> None:
    """With the receiver down, memory is bounded: what comes beyond is unsent, and its row says why."""
    receiver.plan(WEBHOOK, *[CLOSES] * 10_000)
    loop = await start(send=(WEBHOOK,), keep=Keep(waiting=3))
    loop.offer(*(make_alert(f"n{number}", f"model:{number}") for number in range(5)))
    loop.flush()
    assert Counter(channels[WEBHOOK] for channels in loop.outcomes().values()) == {"waiting": 3, "unsent": 2}
    assert "too many alerts waiting" in loop.table["alert|n4"]


async def test_a_revoked_partition_is_silent(start, receiver, make_alert) -> None:
    """After the partition has gone nothing more is sent, and late answers change nothing."""
    loop = await start(send=(WEBHOOK,))
    receiver.plan(WEBHOOK, HANGS)
    loop.offer(make_alert("a1"))
    await loop.until(lambda: bool(receiver.requests))
    loop.notify.revoked(0)
    await loop.assign()  # back again, with the rows kept so far
    await loop.until(loop.settled)
    assert [arrival.id for arrival in receiver.arrivals] == ["a1"]


class Slow:
    """A sender whose answer does not come before it is told to."""

    name = "slow"
    most = 1
    reports = True

    def __init__(self) -> None:
        self.answer = asyncio.Event()

    async def send(self, _: Note) -> Sent:
        await self.answer.wait()
        return Sent.delivered()


async def test_the_pipeline_never_waits_for_a_receiver(start, make_alert) -> None:
    """With a receiver that answers nothing, a thousand alerts are taken up and kept at once."""
    slow = Slow()
    loop = await start(senders={"slow": slow}, send=("slow",))
    loop.offer(*(make_alert(f"n{number}", f"model:{number % 7}") for number in range(1_000)))
    loop.flush()
    loop.flush()
    assert Counter(channels["slow"] for channels in loop.outcomes().values()) == {"waiting": 1_000}
    slow.answer.set()
    await loop.until(loop.settled)


def test_every_outcome_is_known_beforehand() -> None:
    """An observer can create all label values at the start: the list names every progress."""
    assert {progress.value for progress in Progress} < set(COUNTED)
    assert Notify.name == "notify"
