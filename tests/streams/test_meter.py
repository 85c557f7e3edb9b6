"""The meter's step: whatever dies, every distinct event counts once."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from native.counter import Counter as NativeCounter
from rules.counter import Counter
from rules.dead_letter import DeadLetter
from rules.facts import Fact, Minutes, Partial, Tally, Watermark
from rules.minutes import MinuteSheets
from rules.moment import DAY, HOUR, MINUTE
from rules.policy import Policy
from rules.records import Reason
from rules.rollup import Part, Rollups
from rules.rulebook import Rulebook
from rules.sheet_keeping import SheetKeeper
from streams.active import Active
from streams.counting import in_python
from streams.delivery.step import Moment
from streams.facts_topic import FactsTopic
from streams.meter import Meter
from streams.metrics import Metrics
from streams.topics import Topics, facts_partition
from tests.rules.tenants.calls import rolled_up
from tests.streams.partition import Partition

NOON = 1_786_593_600_000
DAY_OF_NOON = "2026-08-13"
TOPICS = Topics("t")


@pytest.fixture(autouse=True, params=[in_python, pytest.param(NativeCounter, marks=pytest.mark.native)])
def _counting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of this holds however is counted."""
    monkeypatch.setitem(Meter.__init__.__kwdefaults__, "counter", request.param)


def partition(*, event_clock: bool = False, registry: CollectorRegistry | None = None) -> Partition:
    def make() -> Meter:
        facts = FactsTopic(TOPICS.facts, 2)
        return Meter(TOPICS, facts, Policy(), Metrics(registry), event_clock=event_clock, clock=lambda: NOON)

    return Partition(make)


def usage(event_id: str, tokens: int, at: int = NOON, tenant: str = "acme") -> bytes:
    event = {"type": "usage", "id": event_id, "ts": at / 1000, "model": "m", "total_tokens": tokens, "tenant": tenant}
    return json.dumps(event).encode()


def clock(at: int) -> bytes:
    return json.dumps({"type": "clock", "ts": at / 1000}).encode()


def facts(found: Partition) -> list[Fact]:
    return [
        msgspec.json.decode(output.value or b"", type=Fact) for output in found.sent if output.topic == TOPICS.facts
    ]


def counted(found: Partition) -> Counter:
    counter = Counter()
    for fact in facts(found):
        if isinstance(fact, Partial):
            counter.merge(fact)
    return counter


def total(found: Partition) -> int:
    return counted(found).total()


def by_tenant(found: Partition) -> tuple[int, int]:
    """A tenant's tokens as judges are told of them, and as its tables are."""
    counter, tables = Counter(), Rollups()
    for fact in facts(found):
        for partial in fact.partials() if isinstance(fact, Tally) else ():
            counter.merge(partial)
    for output in found.sent:
        if output.topic == TOPICS.sheets:
            tables.merge(msgspec.json.decode(output.value or b"", type=Part))
    return counter.total(), sum(rollup.sheet.total(2)[0] for rollup in rolled_up(tables))


def by_minute(found: Partition) -> int:
    sheets = MinuteSheets()
    for fact in facts(found):
        if isinstance(fact, Minutes):
            sheets.merge(fact)
    return sheets.curve.total


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("handle"), st.integers(1, 8)),
        st.tuples(st.sampled_from(["flush", "tell"]), st.booleans()),
        st.tuples(st.just("crash"), st.just(0)),
    ),
    max_size=25,
)
LOG = st.lists(st.one_of(st.integers(0, 20), st.just("clock")), max_size=40)


@pytest.mark.parametrize("event_clock", [False, True])
@example(log=[1], steps=[("handle", 1), ("tell", False)])
@example(log=[1, "clock"], steps=[("handle", 2), ("tell", False), ("crash", 0), ("handle", 1), ("flush", False)])
@given(log=LOG, steps=STEPS)
def test_crashes_anywhere_change_no_total(event_clock: bool, log: list[Any], steps: list[tuple[str, int]]) -> None:
    """In wall time and in event time: the partials add up to the distinct events, wherever the worker dies."""
    found = partition(event_clock=event_clock)
    for number, item in enumerate([*log, "clock"]):
        found.append(clock(NOON + number) if item == "clock" else usage(f"id-{item}", item * 10), NOON + number)
    for step, argument in steps:
        if step == "handle":
            found.handle(argument)
        elif step == "crash":
            found.start()
        else:
            found.flush(NOON, whole=step == "flush", dies_after_outputs=bool(argument))
    found.handle(len(found.log))
    found.flush(NOON)
    distinct = sum({item * 10 for item in log if item != "clock"})
    assert (total(found), by_minute(found)) == (distinct, distinct)
    assert by_tenant(found) == (distinct, distinct)
    assert counted(found).tokens(DAY_OF_NOON) == distinct


def test_sums_go_ahead_of_minutes_rows_and_watermarks() -> None:
    """Between whole flushes only what changed in the sums is told, and nothing is kept."""
    found = partition()
    found.append(usage("a", 7), NOON)
    found.handle(1)
    moment = Moment(1, True, NOON, whole=False)
    between = found.step.flush(0, moment)
    assert between is not None
    told = [msgspec.json.decode(output.value or b"", type=Fact) for output in between.outputs]
    assert [(type(fact), fact.sums.tokens, fact.unplaced) for fact in told] == [(Partial, 7, 7)]
    assert between.rows == {}
    assert found.step.flush(0, moment) is None
    whole = found.step.flush(0, moment._replace(whole=True))
    assert whole is not None
    facts_told = [output for output in whole.outputs if output.topic == TOPICS.facts]
    told = [msgspec.json.decode(output.value or b"", type=Fact) for output in facts_told]
    assert [type(fact) for fact in told] == [Tally, Partial, Minutes, Watermark, Watermark]
    of_models = {name for name in whole.rows if not SheetKeeper.owns(name)}
    assert of_models == {"model:m|0|2026-08-13", f"minutes|model:m|0|{NOON // HOUR}", "clock"}


def test_a_tenants_sums_go_to_its_judge() -> None:
    """Sums of many tenants share a record, on the partition where orders about each of them arrive."""
    found = partition()
    for number in range(40):
        found.append(usage(f"id-{number}", 1, tenant=f"tenant-{number}"), NOON)
    found.handle(40)
    found.flush(NOON)
    outputs = [output for output in found.sent if (output.key or b"").startswith(b"tally|")]
    told = [(output.partition, msgspec.json.decode(output.value or b"", type=Tally)) for output in outputs]
    placed = {tenant: partition for partition, tally in told for tenant in tally.tenants}
    assert placed == {name: facts_partition(f"tenant:{name}", 2) for name in (f"tenant-{n}" for n in range(40))}


def test_a_crash_after_sums_were_told_counts_nothing_twice() -> None:
    """What was told ahead is told again from the same log, in other batches, and is still the same sum."""
    found = partition()
    for number in range(6):
        found.append(usage(f"id-{number}", 10), NOON + number)
    found.handle(4)
    ahead = found.step.flush(0, Moment(4, False, NOON, whole=False))
    assert ahead is not None
    found.sent += ahead.outputs
    found.start()
    found.handle(6)
    found.flush(NOON)
    assert total(found) == 60


def test_other_records_between_calls_keep_their_place() -> None:
    """A clock is heard where it stands in a batch: a tick tells what was before it, and only that."""
    found = partition(event_clock=True)
    for value in (usage("a", 1), usage("b", 2), clock(NOON), usage("c", 4), b"{not json", usage("d", 8)):
        found.append(value, NOON)
    found.handle(6)
    found.flush(NOON)
    assert total(found) == 3
    assert sum(output.topic == TOPICS.dead_letters for output in found.sent) == 1
    found.append(clock(NOON + 1), NOON)
    found.handle(1)
    found.flush(NOON)
    assert total(found) == 15


def test_a_watermark_says_that_nothing_happened() -> None:
    """An idle partition read to its end vouches for the time up to now, less the lateness."""
    found = partition()
    found.flush(NOON)
    marks = [fact for fact in facts(found) if isinstance(fact, Watermark)]
    assert {mark.at for mark in marks} == {NOON - 5_000}
    assert len(marks) == 2  # one for each partition of facts


def test_what_cannot_be_read_becomes_a_dead_letter_and_stops_nothing() -> None:
    """The reason and the place are kept, and the event after it counts."""
    found = partition()
    found.append(b"{not json", NOON)
    found.append(usage("good", 7), NOON)
    found.handle(2)
    found.flush(NOON)
    (letter,) = [output for output in found.sent if output.topic == TOPICS.dead_letters]
    assert letter.key == b"t.usage/0/0"
    assert DeadLetter.decode(letter.value or b"").reason is Reason.NOT_JSON
    assert total(found) == 7


def test_a_reading_on_the_usage_topic_is_kept_as_misplaced() -> None:
    """Nothing is guessed: what belongs onto another topic is a dead letter."""
    found = partition()
    found.append(
        json.dumps({"type": "balance", "id": "b", "ts": NOON / 1000, "model": "m", "available": 1}).encode(), NOON
    )
    found.handle(1)
    found.flush(NOON)
    (letter,) = [output for output in found.sent if output.topic == TOPICS.dead_letters]
    assert DeadLetter.decode(letter.value or b"").reason is Reason.WRONG_TOPIC


def told_apart(at: int, received: int, *, event_clock: bool = False, batch: int = 1) -> list[int]:
    """What the watermarks say of an event of `at`, the last of a batch that was received at `received`."""

    def make() -> Meter:
        facts = FactsTopic(TOPICS.facts, 1)
        return Meter(TOPICS, facts, Policy(), Metrics(), event_clock=event_clock, clock=lambda: received)

    found = Partition(make)
    began = NOON - 10 * MINUTE
    found.append(clock(began) if event_clock else usage("first", 1, began), began)
    found.handle(1)
    found.flush(began)
    found.sent.clear()
    for number in range(batch):
        found.append(usage(f"id-{number}", 1, at), received)
    if event_clock:
        found.append(clock(received), received)
    found.handle(batch + 1)
    found.flush(received)
    found.flush(received + 1)
    return [fact.apart for fact in facts(found) if isinstance(fact, Watermark)]


@pytest.mark.parametrize("off", [2 * MINUTE, -2 * MINUTE])
def test_usage_stamped_at_another_time_than_it_came_is_noticed(off: int) -> None:
    """Once with the watermark that follows, however large the batch."""
    assert told_apart(NOON + off, NOON, batch=50) == [off, 0]


@pytest.mark.parametrize("off", [0, 30_000, -30_000])
def test_clocks_within_a_minute_are_not_apart(off: int) -> None:
    """Less moves no bound."""
    assert set(told_apart(NOON + off, NOON)) == {0}


def test_usage_from_before_metering_began_was_sent_in_late() -> None:
    """A log of the morning shipped at noon is no slow clock."""
    assert set(told_apart(NOON - 60 * MINUTE, NOON)) == {0}


def test_a_recording_is_not_compared_with_the_wall_clock() -> None:
    """Its records carry no receipt."""
    assert set(told_apart(NOON + 2 * MINUTE, NOON, event_clock=True)) == {0}


@pytest.mark.parametrize("stamp", [-1, 0, NOON - 400 * DAY, NOON + 400 * DAY, 2**62])
def test_no_timestamp_of_a_producer_stops_the_meter(stamp: int) -> None:
    """A record's timestamp may be missing, years old or years ahead: it counts, and so does every event after it."""
    found = partition()
    found.append(usage("stamped", 7), stamp)
    found.append(usage("after", 5), NOON)
    found.handle(1)
    found.flush(NOON)
    found.handle(1)
    found.flush(NOON + MINUTE)
    assert total(found) == 12
    assert all(NOON - MINUTE <= fact.at <= NOON + MINUTE for fact in facts(found) if isinstance(fact, Watermark))


def test_metering_begins_no_earlier_than_its_first_call_ended() -> None:
    """An old timestamp does not make usage known that nobody has metered."""
    found = partition()
    found.append(usage("first", 7), 1)
    found.handle(1)
    found.flush(NOON)
    assert {fact.since for fact in facts(found) if isinstance(fact, Watermark)} == {NOON}


def test_metrics_tell_what_became_of_events() -> None:
    """Counted, a duplicate, refused, or of no use: each event once."""
    registry = CollectorRegistry()
    found = partition(registry=registry)
    for event_id in ("a", "b", "a"):
        found.append(usage(event_id, 1), NOON)
    found.append(usage("late", 1).replace(b"1786593600.0", b"1186593600.0"), NOON)
    found.append(b'{"type":"usage","id":"half', NOON)
    found.handle(2)
    found.handle(3)
    assert [
        registry.get_sample_value("blastdoor_events_total", {"outcome": outcome})
        for outcome in ("counted", "duplicate", "rejected", "unusable")
    ] == [2, 1, 1, 1]


def test_invented_models_do_not_swell_the_metrics() -> None:
    """Of refusals the first models are shown by name, and all further ones together."""
    registry = CollectorRegistry()
    found = partition(registry=registry)
    numbers = {"usage": 1, "reserve": 1, "limit": 1}
    for number in range(2_000):
        refusal = {"type": "refusal", "id": f"r{number}", "ts": NOON / 1000, "model": f"m{number}"} | numbers
        found.append(json.dumps(refusal).encode(), NOON)
    found.handle(2_000)
    assert generate_latest(registry).count(b"blastdoor_gateway_refusals_total{") == 501
    assert registry.get_sample_value("blastdoor_gateway_refusals_total", {"model": "(other)"}) == 1_500


def test_events_after_a_change_are_counted_under_the_new_policy() -> None:
    """An alias holds for later events only; what was counted stays where it is."""
    bed = partition()
    bed.append(usage("a", 1), NOON)
    bed.handle(1)
    policy = msgspec.structs.replace(Policy(), aliases={"m": "canonical"})
    step: Any = bed.step
    step.adopt(Active(policy=policy, rulebook=Rulebook(()), senders={}))
    bed.append(usage("b", 2), NOON)
    bed.handle(1)
    bed.flush(NOON)
    sums = {fact.scope: fact.sums.tokens for fact in facts(bed) if isinstance(fact, Partial)}
    assert sums == {"model:m": 1, "model:canonical": 2}


def test_a_duplicate_with_other_content_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The first one counts; that a later one says something else is a metric and a line, also after a restart."""
    registry = CollectorRegistry()
    found = partition(registry=registry)
    found.append(usage("a", 100), NOON)
    found.append(usage("a", 100), NOON)
    found.append(usage("a", 300), NOON)
    found.handle(3)
    found.flush(NOON)
    assert total(found) == 100
    assert registry.get_sample_value("blastdoor_differing_duplicates_total") == 1
    assert "1 events up to t.usage/0/2 have ids of earlier ones" in caplog.text
    found.make = partition().make  # another process has metrics of its own
    found.start()
    found.append(usage("a", 7), NOON)
    found.handle(1)
    found.flush(NOON)
    assert total(found) == 100
