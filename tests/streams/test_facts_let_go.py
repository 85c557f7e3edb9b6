"""The topic of facts keeps what bears on something, and no model, tenant or day that is long gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rules.facts import Fact, Heard, Minutes, Partial, Sums, Tally, Watermark
from rules.moment import DAY, HOUR, MINUTE
from rules.records import Reading
from tests.streams.test_judge import POLICY, START, TOPICS, Bed

if TYPE_CHECKING:
    from streams.delivery.step import Output

CALENDAR = POLICY.calendar()


class Compacted(Bed):
    """A judge whose topic is compacted: what it lets go comes back to it as records without a value."""

    def __init__(self) -> None:
        super().__init__(event_clock=False, partitions=1)
        self.told: dict[bytes, bytes] = {}
        self.heard = 0

    def tell(self, *facts: Fact) -> None:
        for fact in facts:
            self._write(fact.key.encode(), msgspec.json.encode(fact))

    def rule(self) -> list[Output]:
        """Everything handled and flushed; what was let go by that."""
        self.partition.handle(len(self.partition.log))
        self.partition.flush(self.now)
        sent, self.partition.sent = self.partition.sent, []
        gone = [output for output in sent if output.topic == TOPICS.facts and output.value is None]
        for output in gone:
            self._write(output.key, b"")
        return gone

    def day(self, number: int, *models: str) -> None:
        """One day's usage of some models and a tenant, and a reading of the model `m`."""
        self.now = START + number * DAY
        day, hour, offset = CALENDAR.day(self.now), self.now // HOUR, 10 * number + 1
        for model in models:
            self.tell(Minutes(f"model:{model}", 0, hour, 0, offset, [500] * 2 + [0] * 58))
            self.tell(Partial(f"model:{model}", 0, day, 0, offset, Sums(tokens=1_000, requests=2)))
        self.tell(Tally(0, day, 7, 0, offset, {"t": [1_000, 2, 0, 0, 0, 0]}))
        reading = Reading(id=f"r{number}", at=self.now, model="m", available=1_000_000)
        self.tell(Heard("model:m", reading, f"balances/0/{number}"))
        for minutes in (5, 50):
            self.now += minutes * MINUTE
            self.tell(*(Watermark(source, 0, 0, offset + minutes, self.now, START) for source in ("usage", "balances")))
            self.rule()

    def _write(self, key: bytes, value: bytes) -> None:
        self.told.pop(key, None)
        if value:
            self.told[key] = value
        self.partition.append(value, self.now, key)
        if not value:
            record = self.partition.log[-1]
            self.partition.log[-1] = type(record)(record.offset, None, record.timestamp, key)  # type: ignore[arg-type]

    def kept(self) -> set[str]:
        """The keys of usage that compaction would leave."""
        return {key.decode() for key in self.told if not key.startswith((b"heard", b"watermark"))}


def test_days_that_are_closed_leave_the_topic() -> None:
    """After a fortnight as many keys stand there as after a week: those of open days."""
    judge, sizes = Compacted(), []
    for number in range(14):
        judge.day(number, "m")
        sizes.append(len(judge.kept()))
    assert len(set(sizes[6:])) == 1
    open_days = {CALENDAR.day(judge.now - ago * DAY) for ago in range(POLICY.close_after_days + 2)}
    assert {key.split("|")[2] for key in judge.kept() if not key.startswith("minutes")} == open_days
    hours = {int(key.rsplit("|", 1)[1]) for key in judge.kept() if key.startswith("minutes")}
    assert {CALENDAR.day(hour * HOUR) for hour in hours} == open_days


def test_a_model_that_is_gone_leaves_nothing_behind() -> None:
    """So does one that somebody made up and used once, and one of which only failed calls were told."""
    judge = Compacted()
    judge.day(0, "m", "made-up")
    judge.tell(Partial("model:failing", 0, CALENDAR.day(judge.now), 0, 5, Sums(requests=3, failed=3)))
    judge.rule()
    assert not [key for key in judge.kept() if "failing" in key]
    for number in range(1, 9):
        judge.day(number, "m")
    assert not [key for key in judge.kept() if "made-up" in key]


def test_what_is_left_is_enough_for_a_judge_that_knows_nothing() -> None:
    """From the compacted topic alone it says of today what the one says that has seen everything."""
    judge = Compacted()
    for number in range(10):
        judge.day(number, "m")
    after = Compacted()
    after.now = judge.now
    for key, value in judge.told.items():
        after._write(key, value)
    after.rule()
    seen, anew = ({each.scope: each for each in bed.desk.offered}["model:m"] for bed in (judge, after))
    assert (anew.used, anew.limit, anew.pool_low, anew.pool_high) == (
        seen.used, seen.limit, seen.pool_low, seen.pool_high,
    )  # fmt: skip
    assert seen.limit is not None


def test_what_is_told_again_of_closed_days_is_let_go_again() -> None:
    """A meter that starts tells all its rows: those of closed days count for nothing and do not stay."""
    judge = Compacted()
    for number in range(10):
        judge.day(number, "m")
    before, counted = judge.kept(), judge.desk.offered[-1].counted
    judge.tell(
        Partial("model:m", 0, CALENDAR.day(START), 0, 500, Sums(tokens=9_000)),
        Minutes("model:m", 0, START // HOUR, 0, 500, [9_000] + [0] * 59),
        Tally(0, CALENDAR.day(START), 7, 0, 500, {"t": [9_000, 1, 0, 0, 0, 0]}),
    )
    judge.rule()
    judge.now += MINUTE
    judge.tell(Watermark("usage", 0, 0, 501, judge.now, START))
    judge.rule()
    judge.rule()
    assert judge.kept() == before
    assert judge.desk.offered[-1].counted == counted


def test_a_tombstone_changes_no_ruling() -> None:
    """Whoever wrote it: what a judge has merged stands in its rows."""
    judge = Compacted()
    judge.day(0, "m")
    used = judge.desk.offered[-1].used
    for key in [*judge.told]:
        judge._write(key, b"")
    judge.rule()
    judge.partition.start()
    judge.rule()
    assert {each.scope: each for each in judge.desk.offered}["model:m"].used == used == 1_000


def test_killed_before_its_rows_are_kept_it_lets_go_again() -> None:
    """Keys go before the row that holds their sums, which a crash in between changes nothing about."""
    judge = Compacted()
    for number in range(5):
        judge.day(number, "m")
    judge.now = START + 5 * DAY
    judge.tell(Partial("model:m", 0, CALENDAR.day(judge.now), 0, 51, Sums(tokens=1_000)))
    judge.partition.handle(len(judge.partition.log))
    judge.partition.flush(judge.now, dies_after_outputs=True)
    first = [output.key for output in judge.partition.sent if output.topic == TOPICS.facts]
    judge.partition.sent = []
    again = [output.key for output in judge.rule()]
    assert first
    assert set(first) <= set(again)
    assert {each.scope: each for each in judge.desk.offered}["model:m"].counted == 6_000
