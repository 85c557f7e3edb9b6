"""What a look at one model finds that a person should see to, as long as it is so: a block that nobody heeds, packages
that end unused, tokens that were probably charged, a price that nobody gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.alerts import Kind, Severity
from rules.calendar import Calendar
from rules.episodes import Condition
from rules.evidence import residual
from rules.facts import Charge
from rules.moment import HOUR, MINUTE, Millis
from rules.outlook import daily_usage, needed_per_day, will_expire
from rules.policy import Watch
from rules.pool_state import Metered, PoolState
from rules.prices import in_words
from rules.ruling import Ruling

REFUSING = frozenset({"block", "kill"})
GRACE: Millis = 10 * MINUTE  # calls admitted before a block may still be running
RECENT: Millis = HOUR


def refused_since(before: Millis, ruling: Ruling) -> Millis:
    """Since when calls are to be refused; 0: they are not."""
    if ruling.action not in REFUSING:
        return 0
    return before or ruling.at


def concerns(
    state: PoolState, metered: Metered, ruling: Ruling, since: Millis, watch: Watch, calendar: Calendar
) -> Iterator[Condition]:
    """The conditions that hold now. `since`: calls are to be refused since then, or 0."""
    if since and (passed := _passed(metered, since, ruling.at)) > 0:
        yield _ignored(passed, since, ruling.at)
    if any(package.expires <= ruling.at + watch.expiring for package in state.packages):
        yield from _expiring(state, metered, ruling.at, watch.expiring, calendar)


def money_concerns(costs: Iterable[Charge], ruling: Ruling, currency: str) -> Iterator[Condition]:
    """What of the day's money a person should know. That it holds no more is no news: what was charged stays so."""
    for cost in costs:
        if cost.day != ruling.day:
            continue
        if cost.assumed and cost.cost_list:
            yield _unpriced(cost, currency)
        if cost.charged_high and ruling.pool_low is not None:
            yield _charged(cost, currency)


def _unpriced(cost: Charge, currency: str) -> Condition:
    return Condition(
        what=Kind.UNPRICED.value,
        kind=Kind.UNPRICED,
        severity=Severity.WARNING,
        reason=f"the policy has no price for {cost.model}: its tokens of the day are taken to cost "
        f"{in_words(cost.cost_list)} {currency} at list price",
        daily=True,
        unsaid=True,
    )


def _charged(cost: Charge, currency: str) -> Condition:
    """Once it is certain it is told anew."""
    least, most = in_words(cost.cost_low), in_words(cost.cost_charged)
    return Condition(
        what=Kind.CHARGED.value + (":surely" if cost.charged_low else ""),
        kind=Kind.CHARGED,
        severity=Severity.CRITICAL if cost.charged_low else Severity.WARNING,
        reason=f"{cost.charged_low:,} to {cost.charged_high:,} tokens went beyond the free pool, "
        f"for {least} to {most} {currency}",
        details={"tokens": f"{cost.charged_low:,} ~ {cost.charged_high:,}", "money": f"{least} ~ {most} {currency}"},
        daily=True,
        unsaid=True,
    )


def _passed(metered: Metered, since: Millis, now: Millis) -> int:
    """Tokens of calls that ended lately, and well after the block began."""
    return metered.total - metered.curve.begun_by(max(since + GRACE, now - RECENT))


def _ignored(passed: int, since: Millis, now: Millis) -> Condition:
    minutes = (now - since) // MINUTE
    return Condition(
        what=Kind.BLOCK_IGNORED.value,
        kind=Kind.BLOCK_IGNORED,
        severity=Severity.CRITICAL,
        reason=f"{passed:,} tokens were used lately, though calls are to be refused for {minutes:,} min now",
        details={"passed": str(passed)},
    )


def _expiring(
    state: PoolState, metered: Metered, now: Millis, horizon: Millis, calendar: Calendar
) -> Iterator[Condition]:
    per_day = daily_usage(metered, now)
    ending = [each for each in will_expire(state.packages, per_day, now) if each.expires <= now + horizon]
    tokens = sum(each.tokens for each in ending)
    if tokens <= residual(tokens):
        return
    needed = needed_per_day([each for each in state.packages if each.expires <= now + horizon], now)
    first = calendar.day(min(each.expires for each in ending))
    yield Condition(
        what=Kind.EXPIRING.value,
        kind=Kind.EXPIRING,
        severity=Severity.WARNING,
        reason=f"{tokens:,} tokens end unused from {first} on, at {per_day:,} a day; {needed:,} a day would use them",
        details={"tokens": str(tokens), "first_end": first, "per_day": str(per_day), "needed_per_day": str(needed)},
        unsaid=True,
    )
