"""A v6 gate that reads our two numbers never admits beyond our limit, and is not held back without need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rules.calendar import Calendar
from rules.legacy import CLOSED_BEFORE, LegacyInput, Pair, ceiling, day_change, expiry, pair
from rules.moment import HOUR, MINUTE, SECOND

STATIC_LIMIT = 2_000_000  # the gate's own wall
TOKENS = st.integers(0, 5_000_000)
SIGNED = st.integers(-5_000_000, 5_000_000)
MIDNIGHT = 1_786_550_400_000  # 2026-08-13T00:00:00+08:00

PLAIN = LegacyInput(
    models=("m",), action="allow", limit=1_900_000, pool_low=2_242_178, used=665_268, balance=1_726_526,
    day="2026-08-13", at=MIDNIGHT + 11 * HOUR,
)  # fmt: skip
INPUTS = st.builds(
    LegacyInput, models=st.just(("m",)), action=st.sampled_from(["allow", "warn"]), limit=SIGNED, pool_low=SIGNED,
    used=TOKENS, balance=st.none() | SIGNED, day=st.just("2026-08-13"), at=st.just(MIDNIGHT),
    apart=st.integers(0, 1_000_000), gate_buffer=st.integers(0, 200_000),
)  # fmt: skip


def admits(numbers: Pair, usage: int, reserve: int, buffer: int) -> bool:
    """The v6 gate's own sentence."""
    return usage + reserve < min(STATIC_LIMIT, sum(numbers) - buffer)


@given(INPUTS, TOKENS, TOKENS, TOKENS)
def test_the_gate_never_admits_beyond_our_limit(known: LegacyInput, counted: int, since: int, reserve: int) -> None:
    """Our count, plus what gates counted since, plus the reserve of an admitted call, stays under the limit."""
    if admits(pair(known, counted), counted + since, reserve, known.gate_buffer):
        assert known.limit is not None
        assert known.used is not None
        assert max(known.used, counted) + since + reserve < known.limit
        assert counted + since + reserve + known.apart < known.limit


@given(INPUTS, TOKENS, TOKENS)
def test_the_sum_never_exceeds_the_pool(known: LegacyInput, counted: int, smaller: int) -> None:
    """A gate with a smaller buffer than the policy says still stops inside the free pool."""
    numbers = pair(known, counted)
    assert known.pool_low is not None
    assert min(numbers) >= 0
    assert sum(numbers) <= max(0, known.pool_low)
    assert not admits(numbers, counted, smaller, 0) or counted + smaller < known.pool_low


@given(INPUTS, TOKENS)
def test_the_gate_reaches_our_limit(known: LegacyInput, counted: int) -> None:
    """Where the pool leaves room for the gate's buffer and the gate counts all usage, its limit is ours."""
    assert known.limit is not None
    assert known.used is not None
    roomy = replace(
        known, apart=0, limit=abs(known.limit), pool_low=abs(known.limit) + known.gate_buffer,
        used=min(known.used, counted),
    )  # fmt: skip
    assert sum(pair(roomy, counted)) - roomy.gate_buffer == roomy.limit


@given(INPUTS, TOKENS, TOKENS)
def test_a_sum_that_misses_keys_only_tightens(known: LegacyInput, counted: int, missed: int) -> None:
    """Keys found later can raise the numbers, never lower them."""
    assert sum(pair(known, counted - missed)) <= sum(pair(known, counted))


@given(INPUTS, TOKENS)
def test_the_balance_is_shown_as_it_is(known: LegacyInput, counted: int) -> None:
    """`balance_at_sync` is the provider's number, as far as the total allows; the rest stands in the other key."""
    numbers = pair(known, counted)
    assert numbers.balance_at_sync == min(max(0, known.balance or 0), sum(numbers))


@pytest.mark.parametrize("action", ["block", "degrade", "kill", "unknown", "", "ALLOW"])
def test_whatever_is_not_allow_closes(action: str) -> None:
    """A gate that knows two numbers cannot degrade; it refuses."""
    assert pair(replace(PLAIN, action=action), 665_268) == Pair(0, 0)


@pytest.mark.parametrize("field", ["limit", "pool_low", "used"])
def test_the_unknown_closes(field: str) -> None:
    """No limit, no pool or no count is never read as room."""
    assert pair(replace(PLAIN, **{field: None}), 665_268) == Pair(0, 0)


def test_the_day_of_the_recording() -> None:
    """2026-08-13, 11:22: the sum is our limit plus the gate's buffer, not the balance plus the usage of v6."""
    assert ceiling(PLAIN) == 1_950_000
    assert pair(PLAIN, 665_268) == Pair(1_726_526, 223_474)
    assert pair(PLAIN, 565_268) == Pair(1_726_526, 123_474)  # 100,000 tokens no gate has counted
    assert pair(replace(PLAIN, apart=100_000), 700_000) == Pair(1_726_526, 123_474)
    assert pair(replace(PLAIN, pool_low=1_000_000), 665_268) == Pair(1_000_000, 0)


@given(st.integers(0, 48 * HOUR), st.sampled_from(["Asia/Shanghai", "UTC", "Europe/Amsterdam"]))
def test_numbers_end_before_either_day_does(offset: int, zone: str) -> None:
    """With a policy in another zone both day changes close the gate: ours resets the limit, the gate's its count."""
    at, ours = MIDNIGHT + offset, Calendar(zone, "17:00")
    end = expiry(at, ours, 365 * 24 * HOUR)
    assert end == day_change(at, ours) - CLOSED_BEFORE
    for days in (ours, Calendar("Asia/Shanghai")):
        assert days.day(end) == days.day(min(at, end))
        assert days.day(end + CLOSED_BEFORE - 1) == days.day(at)


def test_the_last_two_seconds_are_closed() -> None:
    """Two seconds before midnight the numbers have ended already; right after it they hold again."""
    days, lease = Calendar("Asia/Shanghai"), 30 * MINUTE
    assert expiry(MIDNIGHT - 2_001, days, lease) == MIDNIGHT - 2_000
    assert expiry(MIDNIGHT - 2_000, days, lease) <= MIDNIGHT - 2_000
    assert expiry(MIDNIGHT - 1, days, lease) < MIDNIGHT - 1
    assert expiry(MIDNIGHT, days, lease) == MIDNIGHT + lease


def test_numbers_nobody_renews_end() -> None:
    """Without an engine the gate closes after the lease."""
    noon = MIDNIGHT + 12 * HOUR
    assert expiry(noon, Calendar(), 30 * MINUTE) == noon + 30 * MINUTE
    assert expiry(noon, Calendar(), 10 * SECOND) == noon + 10 * SECOND


STEPS = st.lists(
    st.tuples(st.sampled_from(["gate", "elsewhere", "event", "reading"]), st.integers(0, 40_000)), max_size=60
)


@given(STEPS, st.integers(0, 600_000), st.integers(0, 100_000), st.booleans())
def test_a_day_of_a_gate(steps: list[tuple[str, int]], pool: int, reserve: int, late: bool) -> None:
    """Closed loop: calls through the gate and past it, events that arrive late, numbers written on every change.

    Whatever the order, each admitted call, with its reserve, fits under the limit as we count at that moment.
    """
    limit, counted, used, waiting = pool - 10_000, 0, 0, 0
    known = replace(PLAIN, limit=limit, pool_low=pool, used=0, balance=pool)
    numbers = pair(known, 0)
    for what, tokens in steps:
        if what == "gate" and admits(numbers, counted, reserve, known.gate_buffer):
            assert max(used, counted) + reserve < limit
            counted += min(tokens, reserve)
            waiting += min(tokens, reserve)
        elif what == "elsewhere":
            used += tokens
        elif what == "reading":
            known = replace(known, balance=max(0, pool - tokens))
        if what == "event" or not late:
            used, waiting = used + waiting, 0
        known = replace(known, used=used)
        numbers = pair(known, counted)
