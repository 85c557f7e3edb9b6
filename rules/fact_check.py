"""Whether a fact can be one of ours. Only our own code writes `facts`, but a topic is open to whoever reaches the
broker, and what a judge has once merged stays merged."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

import msgspec

from rules.calendar import Day
from rules.facts import METERED, Charge, Fact, Heard, Minutes, Partial, Scope, Tally, Watermark
from rules.moment import DAY, EARLIEST, HOUR, LATEST, Millis
from rules.records import Calibration, Control, Reason, Rejected

GREATEST = 10**18  # of a number: a million calls of the greatest size that the intake takes
TALLIED = 6  # amounts of a tenant
SOURCES = ("usage", "balances", "controls")

_decode = msgspec.json.Decoder(Fact).decode


def read_fact(raw: bytes, partitions: int, now: Millis) -> Fact | Rejected:
    """The fact, or why it is none.

    `partitions`: of every topic. `now`: nobody vouches for more than a day beyond it.
    """
    try:
        fact: Fact = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Rejected(Reason.NOT_JSON, f"no fact: {error}"[:200])
    fault = _fault(fact, partitions, now)
    return fact if fault is None else Rejected(Reason.BAD_VALUE, f"no fact of ours: {fault}")


def _fault(fact: Fact, partitions: int, now: Millis) -> str | None:
    if isinstance(fact, Heard):
        return _fault_of_heard(fact)
    if isinstance(fact, Charge):
        return _fault_of_charge(fact)
    if not 0 <= fact.partition < partitions:
        return "partition: there is none of this number"
    if isinstance(fact, Watermark):
        return _fault_of_mark(fact, now)
    if not _are_amounts(fact.incarnation, fact.offset):
        return "incarnation or offset: out of bounds"
    return _fault_of_tally(fact) if isinstance(fact, Tally) else _fault_of_sums(fact)


def _fault_of_sums(fact: Partial | Minutes) -> str | None:
    return _fault_of_scope(fact.scope) or (
        _fault_of_partial(fact) if isinstance(fact, Partial) else _fault_of_minutes(fact)
    )


def _fault_of_mark(mark: Watermark, now: Millis) -> str | None:
    if mark.source not in SOURCES:
        return "source: not known"
    if not _are_amounts(mark.incarnation, mark.position):
        return "incarnation or position: out of bounds"
    if abs(mark.apart) > LATEST:
        return "apart: out of bounds"
    return None if mark.at <= now + DAY and mark.since <= now + DAY else "at or since: lies in the future"


def _fault_of_partial(partial: Partial) -> str | None:
    if not _is_day(partial.day):
        return "day: not a date"
    amounts = msgspec.structs.astuple(partial.sums)
    if partial.seeds or partial.told:
        told = (number for each in partial.told.values() for number in msgspec.structs.astuple(each))
        amounts = (*amounts, *partial.seeds.values(), *told)
    return None if _are_amounts(*amounts) else "sums: out of bounds"


def _fault_of_tally(tally: Tally) -> str | None:
    if not _is_day(tally.day):
        return "day: not a date"
    sums = tally.tenants.values()
    fits = {*map(len, sums)} <= {TALLIED} and "" not in tally.tenants
    if not fits or (sums and not _are_amounts(min(map(min, sums)), max(map(max, sums)))):
        return "tenants: no sums of theirs"
    return None


def _fault_of_minutes(minutes: Minutes) -> str | None:
    if len(minutes.tokens) != 60 or not _are_amounts(*minutes.tokens):
        return "tokens: not the sums of sixty minutes"
    return None if EARLIEST <= minutes.hour * HOUR < LATEST else "hour: out of bounds"


def _fault_of_charge(charge: Charge) -> str | None:
    if not charge.model:
        return "model: has no name"
    if not _is_day(charge.day):
        return "day: not a date"
    *amounts, _ = msgspec.structs.astuple(charge)[3:]
    return None if _are_amounts(*charge.version, *amounts) else "amounts: out of bounds"


def _fault_of_heard(heard: Heard) -> str | None:
    _, slash, offset = heard.origin.rpartition("/")
    if not (slash and offset.isascii() and offset.isdigit()):
        return "origin: no place in Kafka"
    record = heard.record
    if not EARLIEST <= record.at < LATEST:
        return "record: its time is out of bounds"
    if isinstance(record, Control):
        return None  # the intake checked its scope
    if isinstance(record, Calibration) and not _is_day(record.day):
        return "record: its day is not a date"
    tokens = record.pool if isinstance(record, Calibration) else record.available
    return _fault_of_scope(heard.scope) or (None if _are_amounts(tokens) else "record: its tokens are out of bounds")


def _fault_of_scope(scope: Scope) -> str | None:
    kind, _, name = scope.partition(":")
    return None if kind in METERED and name else "scope: nothing of it is metered"


@lru_cache(maxsize=64)  # facts name the same few days over and over
def _is_day(day: Day) -> bool:
    try:
        return date.fromisoformat(day).isoformat() == day
    except ValueError:
        return False


def _are_amounts(*numbers: int) -> bool:
    return min(numbers) >= -1 and max(numbers) <= GREATEST
