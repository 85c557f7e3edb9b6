"""A gateway's own total of the day beside ours: told when calls are missing, and not for anything else."""

from __future__ import annotations

from itertools import count
from random import Random
from zlib import crc32

import pytest
from msgspec.structs import replace

from rules.alerts import Alert, Kind
from rules.calendar import Calendar
from rules.facts import SEEDS_KEPT, Minutes, Partial
from rules.judge import Judge
from rules.meter import PartitionMeter
from rules.moment import DAY, HOUR, MINUTE, SECOND, Millis
from rules.policy import Policy
from rules.records import Usage
from streams.policy_file import default_rulebook

POLICY = Policy()
MIDNIGHT = Calendar().start("2026-08-13")


class Gateway:
    """Counts its calls by day, and writes a line of each with the total so far."""

    def __init__(self, name: str = "g", ahead: Millis = 0) -> None:
        self._name, self._ahead, self._ids = name, ahead, count()
        self.totals: dict[int, int] = {}

    def call(self, at: Millis, tokens: int = 1_000, key_hash: str = "k", model: str = "m") -> Usage:
        day = (at + self._ahead - MIDNIGHT) // DAY
        self.totals[day] = self.totals.get(day, 0) + tokens
        name = f"{self._name}-{next(self._ids)}"
        return Usage(id=name, at=at, model=model, total_tokens=tokens, key_hash=key_hash, today=self.totals[day])


class Metering:
    """Lines go to two partitions by their id, so that a twin meets its twin; a judge looks every minute."""

    def __init__(self, since: Millis) -> None:
        self.alerts: list[Alert] = []
        self._judge = Judge(POLICY, default_rulebook(POLICY), usage_partitions=2)
        self._meters = [PartitionMeter(number, POLICY) for number in range(2)]
        self._offset = 0
        for meter in self._meters:
            meter.tick(since)

    def take(self, *lines: Usage) -> None:
        for line in lines:
            self._offset += 1
            self._meters[crc32(line.id.encode()) % 2].fold(self._offset, line)

    def restart(self) -> None:
        """Both meters anew, from their rows."""
        for number, old in enumerate(self._meters):
            rows = [replace(row) for row in (*old._partials.values(), *old._minutes.values())]
            self._meters[number] = PartitionMeter(number, POLICY)
            self._meters[number].restore(rows, old.clock)

    def look(self, now: Millis) -> list[Kind]:
        """What has been told of missing usage by now."""
        self._offset += 1
        for meter in self._meters:
            meter.tick(now)
            for row in meter.take_changes():
                self._judge.apply(row)
            self._judge.apply(meter.watermark(self._offset, now))
        self.alerts += [alert for outcome in self._judge.rule(now, every=True) for alert in outcome.alerts]
        kinds = [(alert.kind, [end.kind for end in alert.ends]) for alert in self.alerts]
        return [kind for kind, ends in kinds if Kind.USAGE_MISSING in (kind, *ends)]


def hours(begin: float, end: float) -> range:
    return range(MIDNIGHT + round(begin * HOUR), MIDNIGHT + round(end * HOUR), 5 * MINUTE)


def test_calls_that_never_arrive_are_told_with_the_numbers_and_so_is_their_coming() -> None:
    """A quarter of the lines of two hours is missing; in the evening it is found and shipped."""
    gateway, metering, lost = Gateway(), Metering(MIDNIGHT - HOUR), []
    for number, at in enumerate(hours(9, 14)):
        line = gateway.call(at, 10_000)
        if number % 4 == 0 and at < MIDNIGHT + 11 * HOUR:
            lost.append(line)
        else:
            metering.take(line)
        told = metering.look(at + SECOND)
        assert not told or at >= MIDNIGHT + 10 * HOUR
    assert told == [Kind.USAGE_MISSING]
    (alert,) = [alert for alert in metering.alerts if alert.kind is Kind.USAGE_MISSING]
    assert 10_000 <= int(alert.details["missing"]) <= 60_000
    metering.take(*lost)
    for at in hours(14, 16):
        told = metering.look(at)
    assert told == [Kind.USAGE_MISSING, Kind.RECOVERED]


@pytest.mark.parametrize("begin", [-1.0, 10.5])
def test_late_lines_in_any_order_accuse_nobody(begin: float) -> None:
    """Up to 50 minutes late, twice, over two partitions and a restart, whether the day is metered from its beginning or
    not, and over the next midnight."""
    gateway, metering, chance = Gateway(), Metering(MIDNIGHT + round(begin * HOUR)), Random(3)
    lines = [gateway.call(at, chance.randrange(20_000)) for at in hours(9, 34)]
    lines = [line for line in lines if line.at >= MIDNIGHT + begin * HOUR]
    due = sorted((line.at + chance.randrange(50 * MINUTE), line) for line in lines for _ in range(2))
    for at in hours(9, 35):
        while due and due[0][0] <= at:
            metering.take(due.pop(0)[1])
        if at == MIDNIGHT + 15 * HOUR:
            metering.restart()
        assert metering.look(at) == []


def test_two_gateways_that_share_a_key_accuse_nobody() -> None:
    """Each counts for itself, so neither total is all; and one of them loses its counter."""
    gateways, metering = [Gateway("a"), Gateway("b")], Metering(MIDNIGHT - HOUR)
    for number, at in enumerate(hours(9, 14)):
        metering.take(*(gateway.call(at + index * SECOND, 9_000) for index, gateway in enumerate(gateways)))
        if number == 20:
            gateways[0].totals.clear()
        assert metering.look(at + MINUTE) == []


@pytest.mark.parametrize("ahead", [-2 * MINUTE, 2 * MINUTE])
def test_a_call_that_a_gateway_counts_on_the_other_side_of_midnight_accuses_nobody(ahead: Millis) -> None:
    """Its clock and that of its lines differ."""
    gateway, metering = Gateway(ahead=ahead), Metering(MIDNIGHT - HOUR)
    for at in range(MIDNIGHT + 22 * HOUR, MIDNIGHT + 28 * HOUR, MINUTE):
        metering.take(gateway.call(at, 5_000))
        assert metering.look(at + SECOND) == []


def test_two_names_of_one_model_are_two_counters() -> None:
    """A gateway counts by the name it knows; what it had counted by each is in the seed."""
    policy = Policy(aliases={"m-ga": "m"})
    meter, plain, dated = PartitionMeter(0, policy), Gateway("a"), Gateway("b")
    plain.call(MIDNIGHT + HOUR, 500_000)
    dated.call(MIDNIGHT + HOUR, 70_000)
    meter.fold(1, plain.call(MIDNIGHT + 2 * HOUR))
    meter.fold(2, dated.call(MIDNIGHT + 2 * HOUR, model="m-ga"))
    (partial,) = [row for row in meter.take_changes() if not isinstance(row, Minutes)]
    assert partial.seeds == {"k": 500_000, "m-ga/k": 70_000}


def test_a_counter_that_began_anew_seeds_nothing() -> None:
    """A call of 23:59:59 that the gateway already counts as the next day's does not take back what it had counted."""
    meter, gateway = PartitionMeter(0, POLICY), Gateway(ahead=2 * SECOND)
    gateway.call(MIDNIGHT + HOUR, 500_000)
    for number, at in enumerate((15 * HOUR, 16 * HOUR, 24 * HOUR - SECOND)):
        meter.fold(number, gateway.call(MIDNIGHT + at))
    (partial,) = [row for row in meter.take_changes() if isinstance(row, Partial)]
    assert partial.seeds == {"k": 500_000}


def test_keys_beyond_those_that_are_kept_accuse_nobody() -> None:
    """A partition that keeps no more keys may have counted what another one is told of."""
    metering = Metering(MIDNIGHT - HOUR)
    metering.look(MIDNIGHT + 9 * HOUR)
    for number in range(3 * SEEDS_KEPT):
        metering.take(Gateway(f"g{number}").call(MIDNIGHT + 9 * HOUR, 1, f"k{number}"))
    metering.look(MIDNIGHT + 10 * HOUR)
    gateways = [(Gateway(f"h{number}"), f"k{number + 2 * SEEDS_KEPT}") for number in range(40)]
    for at in hours(10, 12):
        metering.take(*(gateway.call(at + SECOND, 2_000, key) for gateway, key in gateways))
        assert metering.look(at + MINUTE) == []
