"""What a model's day costs: the tokens beyond its free pool, as bounds, and the money for them.

While the low end of the pool is not known, nobody vouches that a token is free: what is used meanwhile may be charged,
and the high estimate says so. It comes down again with the reading that bounds the pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rules.calendar import Day
from rules.counter import Counter
from rules.facts import Charge, Partial, Sums
from rules.pool_state import Bounds, Metered
from rules.prices import Prices, Tariff, cost, cost_of
from rules.ruling import Ruling

DAYS_KEPT = 2  # today, and the day before, whose usage may still come
MOST = 10**18  # nano-units; a sum beyond it stands for "more than anybody has"


class Charged(Struct, frozen=True, kw_only=True):
    """Tokens of a day that were charged, at least and at most, when `seen` were used in all.

    `known`, `used`: the high end and the usage of the day when the pool was bounded last. `room`: what was free then.
    """

    low: int = 0
    high: int = 0
    seen: int = 0
    known: int = 0
    used: int = 0
    room: int = 0


def charged(before: Charged, bounds: Bounds, metered: Metered, used: int) -> Charged:
    """With one more look at the pool. `used`: tokens metered on the day."""
    low, high = bounds.charged_low, bounds.charged_high
    if bounds.pool_low is None:
        high = max(high, before.known + max(0, used - before.used))
        return replace(before, low=low, high=high, seen=used, room=0)
    room = max(0, bounds.pool_low - metered.total)
    return Charged(low=low, high=high, seen=used, known=high, used=used, room=room)


def with_more(before: Charged, used: int) -> Charged:
    """With usage that was counted since that look, or that came late to a day which has ended: it takes what was free,
    and then costs."""
    return replace(before, high=before.high + max(0, used - before.seen - before.room))


def kept(days: Mapping[Day, Charged], day: Day, found: Charged) -> dict[Day, Charged]:
    """With a day's newest; older ones are forgotten."""
    known = {**days, day: found}
    return {each: known[each] for each in sorted(known)[-DAYS_KEPT:]}


def charges(model: str, days: Mapping[Day, Charged], counter: Counter, prices: Prices) -> list[Charge]:
    """What each of the days costs by now."""
    found = []
    for day, tokens in days.items():
        sums = _priced(counter.days.get(day, {}).values())
        found.append(charge(model, day, sums, with_more(tokens, sums.tokens), prices.of(model, day)))
    return found


def _priced(parts: Iterable[Partial]) -> Sums:
    """The sums that cost something."""
    sums = [part.sums for part in parts]
    return Sums(
        tokens=sum([each.tokens for each in sums]),
        prompt=sum([each.prompt for each in sums]),
        completion=sum([each.completion for each in sums]),
        cached=sum([each.cached for each in sums]),
        guarded=sum([each.guarded for each in sums]),
    )


def charge(model: str, day: Day, sums: Sums, tokens: Charged, tariff: Tariff) -> Charge:
    """A model's day in money. `apart`: of what no guarding gateway told, priced as the dearest it may have been."""
    high = min(tokens.high, sums.tokens)
    low, apart = min(tokens.low, high), max(0, sums.tokens - sums.guarded)
    return Charge(
        model=model,
        day=day,
        charged_low=low,
        charged_high=high,
        cost_low=min(MOST, cost_of(low, sums, tariff, dearest=False)),
        cost_charged=min(MOST, cost_of(high, sums, tariff, dearest=True)),
        cost_list=min(MOST, cost(sums, tariff)),
        apart_charged=min(MOST, cost_of(min(high, apart), sums, tariff, dearest=True)),
        apart_list=min(MOST, cost_of(apart, sums, tariff, dearest=True)),
        assumed=not tariff.known,
    )


def in_money(ruling: Ruling, found: Iterable[Charge]) -> Ruling:
    """The ruling with what its day costs."""
    for each in found:
        if each.day == ruling.day:
            money = {"charged_low": each.cost_low, "charged_high": each.cost_charged, "list": each.cost_list}
            return replace(ruling, money=money)
    return ruling
