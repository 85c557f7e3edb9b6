"""The judge's step: whatever dies, the same rulings and each alert once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from blastdoor_gateway.contract import Decision
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest

from rules.alerts import Alert, Kind
from rules.facts import Fact, Heard, Partial, Sums, Watermark
from rules.moment import HOUR, MINUTE
from rules.policy import Policy
from rules.records import Reading
from streams.delivery.step import Moment
from streams.judge import JudgeStep
from streams.metrics import Metrics
from streams.policy_file import default_rulebook, load_policy
from streams.topics import Topics, facts_partition
from tests.streams.partition import Partition

START = 1_786_593_600_000 - HOUR
TOPICS = Topics("t")
POLICY: Policy = load_policy(None)
RULEBOOK = default_rulebook(POLICY)
USAGE_PARTITIONS = 2


@dataclass
class Desk:
    """A publisher that only remembers."""

    offered: list[Decision] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    def offer(self, decision: Decision, _legacy: object = None, _sent: object = None) -> None:
        self.offered.append(decision)

    def forget(self, scope: str) -> None:
        self.forgotten.append(scope)


class Bed:
    """A judge's partition on a wall clock that the test moves, or on event time."""

    def __init__(self, *, event_clock: bool, partitions: int = USAGE_PARTITIONS) -> None:
        self.desk = Desk()
        self.partitions = partitions
        self.now = START
        self.event_clock = event_clock
        self.metrics = Metrics()
        self.partition = Partition(self.make)

    def make(self) -> JudgeStep:
        desk: Any = self.desk
        step = JudgeStep(
            TOPICS,
            self.partitions,
            POLICY,
            RULEBOOK,
            desk,
            self.metrics,
            event_clock=self.event_clock,
            clock=lambda: self.now,
        )
        self.step = step
        return step

    def add(self, *facts: Fact) -> None:
        for fact in facts:
            self.partition.append(msgspec.json.encode(fact), self.now)

    def alerts(self) -> list[Alert]:
        sent = [output for output in self.partition.sent if output.topic == TOPICS.alerts]
        return [msgspec.json.decode(output.value or b"", type=Alert) for output in sent]

    def finish(self) -> Decision:
        self.partition.handle(len(self.partition.log))
        self.partition.flush(self.now)
        return self.desk.offered[-1]


def minute_of_story(number: int, used: tuple[int, int]) -> list[Fact]:
    """What two usage partitions and one balance poller tell in one minute."""
    at = START + number * MINUTE
    told: list[Fact] = []
    for partition, tokens in enumerate(used):
        told.append(Partial("model:m", partition, "2026-08-13", 0, number, Sums(tokens=tokens)))
        told.append(Watermark("usage", partition, 0, number, at, START))
        told.extend(Watermark(source, partition, 0, number, at, at) for source in ("balances", "controls"))
    told.insert(0, Heard("model:m", Reading(id=f"r{number}", at=at, model="m", available=1_000_000), f"b/0/{number}"))
    return told


def story(length: int) -> list[Fact]:
    """An hour of nothing, then usage that runs beyond the limit of about 990,000 tokens."""
    quiet = [fact for number in range(0, 61, 20) for fact in minute_of_story(number, (0, 0))]
    busy = [
        fact for number in range(61, 61 + length) for fact in minute_of_story(number, (50_000 * (number - 60),) * 2)
    ]
    return quiet + busy


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("handle"), st.integers(1, 30)),
        st.tuples(st.sampled_from(["flush", "tell"]), st.booleans()),
        st.tuples(st.just("crash"), st.just(0)),
    ),
    max_size=20,
)


def run(steps: list[tuple[str, int]], *, event_clock: bool) -> Bed:
    bed = Bed(event_clock=event_clock)
    bed.add(*story(15))
    bed.now = START + 75 * MINUTE
    for step, argument in steps:
        if step == "handle":
            bed.partition.handle(argument)
        elif step == "crash":
            bed.partition.start()
        else:
            bed.partition.flush(bed.now, whole=step == "flush", dies_after_outputs=bool(argument))
    bed.finish()
    return bed


def comparable(decision: Decision) -> dict[str, str]:
    """What gateways read of it: whether it is an entry of the history, too, depends on where a crash was."""
    return {name: text for name, text in decision.to_hash().items() if name not in {"version", "counter"}}


@pytest.mark.parametrize("event_clock", [False, True])
@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_crashes_anywhere_change_no_ruling(event_clock: bool, steps: list[tuple[str, int]]) -> None:
    """The last decision and the alerts, by their ids, are those of a run without crashes."""
    plain, shaken = run([], event_clock=event_clock), run(steps, event_clock=event_clock)
    assert comparable(shaken.desk.offered[-1]) == comparable(plain.desk.offered[-1])
    if event_clock:  # on a wall clock what is seen in between depends on when one looks
        assert {alert.id for alert in shaken.alerts()} == {alert.id for alert in plain.alerts()}


def test_usage_is_told_at_once_and_bounds_once_a_second() -> None:
    """Sums alone move what was used and nothing else; minutes and watermarks wait for the next look at everything."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    bed.now = START + 64 * MINUTE
    before = bed.finish()
    bed.add(Partial("model:m", 0, "2026-08-13", 0, 900, Sums(tokens=999_000), unplaced=849_000))
    at_once = bed.finish()
    assert at_once.used == (before.used or 0) + 849_000
    assert (at_once.limit, at_once.pool_high) == (before.limit, before.pool_high)
    bed.add(*minute_of_story(64, (999_000, 150_000)))
    bed.now += MINUTE
    assert bed.finish().used == at_once.used


def test_what_was_used_at_once_is_blocked_at_once() -> None:
    """A limit holds against sums whose minutes are still to come, and people hear of it."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    bed.now = START + 64 * MINUTE
    assert bed.finish().action == "allow"
    bed.add(Partial("model:m", 0, "2026-08-13", 0, 900, Sums(tokens=3_000_000), unplaced=2_850_000))
    assert bed.finish().action == "block"
    assert [alert.threshold for alert in bed.alerts() if alert.threshold] == [0.8, 1.0]


def test_rows_are_given_with_what_was_told_and_otherwise_once_in_a_while() -> None:
    """A flush in between that tells nobody anything keeps its rows for the next whole one."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    bed.finish()
    bed.add(Partial("model:m", 0, "2026-08-13", 0, 900, Sums(tokens=151_000), unplaced=1_000))
    bed.partition.handle(1)
    moment = Moment(len(bed.partition.log), True, bed.now, whole=False)
    assert bed.step.flush(0, moment) is None
    flush = bed.step.flush(0, moment._replace(whole=True))
    assert flush is not None
    assert "model:m|0|2026-08-13" in flush.rows


def test_one_alert_each_at_80_and_at_100_percent() -> None:
    """However far usage runs beyond the limit, each threshold is announced once, and not again after a restart."""
    bed = Bed(event_clock=True)
    bed.add(*story(50))
    bed.finish()
    bed.partition.start()
    bed.add(*minute_of_story(111, (3_000_000, 3_000_000)))
    bed.finish()
    assert [alert.threshold for alert in bed.alerts() if alert.threshold] == [0.8, 1.0]


def test_versions_grow_over_restarts_even_if_the_clock_went_back() -> None:
    """A later owner's decisions are newer, whatever its machine's clock says."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    before = bed.finish().version
    bed.now -= HOUR
    bed.partition.start()
    assert bed.finish().version > before


def test_a_higher_version_in_redis_is_outbid() -> None:
    """If Redis holds a newer version of a scope that is ours, we publish above it."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    bed.finish()
    held = (bed.now + 5 * HOUR, 7)
    bed.step.outbid("model:m", held)
    assert bed.desk.offered[-1].version > held


def test_a_revoked_partition_is_no_longer_renewed() -> None:
    """What another worker decides about is forgotten here."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    bed.finish()
    bed.step.revoked(0)
    assert bed.desk.forgotten == ["model:m"]


def test_a_revoked_partition_shows_no_gauges() -> None:
    """Two workers never show two answers about one model: what is no longer ours leaves the metrics."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    bed.finish()
    assert b'model="m"' in generate_latest(bed.metrics.registry)
    bed.step.revoked(0)
    gauges = [line for line in generate_latest(bed.metrics.registry).splitlines() if b'model="m"' in line]
    assert gauges == []


def test_the_history_tells_the_days_account_and_redis_does_not() -> None:
    """Every entry on the topics carries ledger and outlook; the key that gateways read does not grow."""
    bed = Bed(event_clock=True)
    bed.add(*story(5))
    decision = bed.finish()
    told = [output for output in bed.partition.sent if output.topic == TOPICS.decisions]
    entries = [Decision.from_json(output.value or b"") for output in told]
    assert all(entry.returned == 0 for entry in entries)
    assert entries[-1].ledger["used"] == decision.used
    assert entries[-1].ledger["meets"]
    assert "ledger" not in decision.to_hash()


def apart_for_minutes(partitions: int, last: int = 4) -> list[tuple[str, str]]:
    """(kind, scope) of what a judge of partition 0 tells of clocks: watermarks say for five minutes that they are apart
    and nothing after that, with a restart after each; it looks until minute `last`."""
    bed = Bed(event_clock=False, partitions=partitions)
    for number in range(last + 1):
        at, apart = START + number * MINUTE, 2 * MINUTE if number < 5 else 0
        bed.add(*(Watermark("usage", partition, 0, number, at, START, apart) for partition in (0, 1)[:partitions]))
        bed.now = at
        bed.partition.handle(2)
        bed.partition.flush(bed.now)
        bed.partition.start()
    told = [alert for alert in bed.alerts() if Kind.CLOCKS_APART in (alert.kind, *(end.kind for end in alert.ends))]
    return [(alert.kind.value, alert.scope) for alert in told]


def test_clocks_that_are_apart_are_told_once_and_by_one_judge() -> None:
    """Every partition of usage says so again and again, and all judges hear it: people hear it once, and once more when
    an hour has passed without."""
    one, other = (facts_partition("global", partitions) for partitions in (1, 2))
    assert (one, other) == (0, 1)
    assert apart_for_minutes(1) == [("clocks_apart", "engine")]
    assert apart_for_minutes(2) == []
    assert apart_for_minutes(1, last=70) == [("clocks_apart", "engine"), ("recovered", "engine")]


MARK = {
    "type": "watermark",
    "source": "usage",
    "partition": 0,
    "incarnation": 0,
    "position": 99,
    "at": START,
    "since": 1,
}
SUMS = {"scope": "model:m", "partition": 0, "incarnation": 0, "offset": 9}
HOURLY = SUMS | {"type": "minutes", "hour": START // HOUR}
DAILY = SUMS | {"type": "partial", "day": "2026-08-13"}
HEARD = {"type": "heard", "scope": "model:m", "origin": "t/0/1"}
CHARGE = {"type": "charge", "model": "m", "day": "2026-08-13", "version": [1, 1]}
FOREIGN: list[Any] = [
    b"not json", b"", b"\xff\xfe", b"[" * 100_000, b'{"type":"poem"}',
    MARK | {"at": 2**62}, MARK | {"since": 2**62}, MARK | {"source": "rumours"}, MARK | {"partition": USAGE_PARTITIONS},
    HOURLY | {"tokens": [1]}, HOURLY | {"hour": 2**62, "tokens": [1] * 60}, HOURLY | {"tokens": [2**63] * 60},
    DAILY | {"day": "soon", "sums": [5]}, DAILY | {"scope": "", "sums": [5]}, DAILY | {"sums": [-5]},
    DAILY | {"partition": -7, "sums": [5]}, DAILY | {"sums": [5], "seeds": {"k": 2**62}},
    HEARD | {"record": {"type": "balance", "id": "b", "at": 2**62, "model": "m", "available": 5}},
    HEARD | {"record": {"type": "balance", "id": "b", "at": START, "model": "m", "available": -(2**62)}},
    HEARD | {"record": {"type": "calibration", "id": "c", "at": START, "model": "m", "day": "soon", "pool": 5}},
    CHARGE | {"model": ""}, CHARGE | {"day": "soon"}, CHARGE | {"cost_list": -5}, CHARGE | {"version": [2**62, 1]},
    HEARD | {"origin": "x", "record": {"type": "balance", "id": "b", "at": START, "model": "m", "available": 5}},
]  # fmt: skip


@pytest.mark.parametrize("event_clock", [False, True])
@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda value: str(value)[:60])
def test_what_others_write_onto_facts_stops_nothing_and_bends_nothing(foreign: Any, event_clock: bool) -> None:
    """A record that cannot be ours becomes a dead letter, and the ruling is as it would have been without it."""
    plain, bent = Bed(event_clock=event_clock), Bed(event_clock=event_clock)
    bent.partition.append(foreign if isinstance(foreign, bytes) else msgspec.json.encode(foreign), START)
    for bed in (plain, bent):
        bed.add(*story(5))
    assert comparable(bent.finish()) == comparable(plain.finish())
    (letter,) = [output for output in bent.partition.sent if output.topic == TOPICS.dead_letters]
    assert letter.key == b"t.facts/0/0"


def test_a_forgotten_name_leaves_the_topic_and_the_metrics() -> None:
    """Its last decision is a tombstone, its gauges are gone, and its keys are not renewed any more."""
    bed = Bed(event_clock=False, partitions=1)
    bed.add(Partial("model:made-up", 0, "2026-08-13", 0, 1, Sums(tokens=7)), Watermark("usage", 0, 0, 1, START, START))
    bed.finish()
    assert b'model="made-up"' in generate_latest(bed.metrics.registry)
    bed.now = START + 8 * 24 * HOUR
    bed.add(Watermark("usage", 0, 0, 2, bed.now, START))
    bed.finish()
    told = [output.value for output in bed.partition.sent if output.topic == TOPICS.decisions_latest]
    assert told[-1] is None
    assert bed.desk.forgotten == ["model:made-up"]
    assert b'model="made-up"' not in generate_latest(bed.metrics.registry)
    assert not [key for key in bed.partition.rows if "made-up" in key]


def test_what_waits_is_written_once() -> None:
    """In event time each fact that waits has a row of its own: a flush writes what came and removes what is done."""
    bed = Bed(event_clock=True)
    waiting = [Partial("model:m", 0, "2026-08-13", 0, number, Sums(tokens=number)) for number in range(1, 6)]

    def rows() -> list[str]:
        bed.partition.handle(len(bed.partition.log))
        flush = bed.step.flush(0, Moment(bed.partition.handled, True, START))
        written = dict(flush.rows) if flush else {}
        bed.partition.rows |= {key: value for key, value in written.items() if value is not None}
        return sorted(key for key, value in written.items() if key.startswith("waiting|") and value is not None)

    bed.add(*waiting[:3])
    assert len(rows()) == 3
    bed.add(waiting[3])
    assert len(rows()) == 1
    bed.partition.position = bed.partition.handled
    bed.partition.start()
    bed.add(waiting[4])
    assert rows() == ["waiting|0000000000000005"]
    bed.add(*minute_of_story(9, (5, 5)))
    bed.partition.handle(len(bed.partition.log))
    bed.partition.flush(START)
    assert not [key for key in bed.partition.rows if key.startswith("waiting|")]
    assert bed.desk.offered[-1].used == 10


def test_a_row_of_an_earlier_version_goes_on_waiting() -> None:
    """What once stood in one row is taken up, and stands in rows of its own from then on."""
    bed = Bed(event_clock=True)
    fact = Partial("model:m", 0, "2026-08-13", 0, 1, Sums(tokens=7))
    bed.partition.rows = {"waiting": [msgspec.to_builtins(fact)]}
    bed.partition.start()
    bed.partition.flush(START)
    assert sorted(key for key in bed.partition.rows if key.startswith("waiting")) == ["waiting|0000000000000001"]
