"""The functions that the scripts share, each by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from blastdoor_gateway.money import Price, Tokens
from blastdoor_gateway.scripts import functions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

Run = Callable[..., Any]

# Takes a lease: tokens, day, id, end.
TAKE = """local lease = ARGV[1] .. '|' .. ARGV[2] .. '|' .. ARGV[3]
    local seen = look(KEYS[1], lease, '#' .. ARGV[2], '#' .. string.sub(ARGV[2], 1, 7))
    hold(seen, tonumber(ARGV[1]), tonumber(ARGV[4]))"""

many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

MOMENTS = st.datetimes(datetime.fromisoformat("1970-01-01"), datetime.fromisoformat("2199-12-31"))
ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.fixture
def run(redis: Redis) -> Run:
    """Runs a piece of Lua after the functions, with KEYS and ARGV."""
    redis.flushall()

    def evaluate(code: str, keys: list[str] | None = None, *args: object) -> Any:
        return redis.eval(f"{functions()}\n{code}", len(keys or []), *(keys or []), *map(str, args))

    return evaluate


@many
@given(moment=MOMENTS, zone=ZONES)
def test_an_instant_is_read_as_python_reads_it(run: Run, moment: datetime, zone: timezone) -> None:
    """RFC 3339 text of any zone, with any digits of a second, is the instant that Python sees in it."""
    text = moment.replace(tzinfo=zone).isoformat()
    expected = (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert run("return written(instant(ARGV[1]))", [], text) == str(expected)


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-08-13", "2026-08-13T12:00:00", "2026-08-13T12:00:00+8"])
def test_what_is_no_instant_is_none(run: Run, text: str) -> None:
    """Text without a date, a time or a zone is no instant."""
    assert run("return instant(ARGV[1]) == nil and 'none'", [], text) == "none"


@many
@given(tokens=st.integers(0, 10**9), price=st.integers(0, 10**10))
def test_costs_are_exact(run: Run, tokens: int, price: int) -> None:
    """What tokens cost is rounded up and exact to the nano-unit, as far as a call and a price can go."""
    expected = Price(price, price, price).cost(Tokens(tokens, tokens))
    if expected < 2**53:
        assert run("return written(cost(tonumber(ARGV[1]), tonumber(ARGV[2])))", [], tokens, price) == str(expected)


@pytest.mark.parametrize(
    ("text", "number"), [("12", "12"), ("-3", "-3"), ("1e3", ""), ("1.5", ""), ("", ""), ("9" * 17, "")]
)
def test_only_whole_numbers_are_numbers(run: Run, text: str, number: str) -> None:
    """A number that is not whole, or too large to be exact, is damage."""
    assert run("local n = whole(ARGV[1]) return n and written(n) or ''", [], text) == number


def test_ten_at_once_and_then_one_every_six_seconds(run: Run) -> None:
    """10/min: ten calls pass at once, the eleventh waits 6 s, and after 6 s one passes."""
    call = """local wait, after = rate_of(number_at(KEYS[1]), 6000000, 10, tonumber(ARGV[1]))
        if wait == 0 then put_rate(KEYS[1], after, tonumber(ARGV[1])) end return wait"""
    start = 1_786_593_600_000_000
    assert [run(call, ["rate"], start) for _ in range(12)] == [0] * 10 + [6_000_000] * 2
    assert [run(call, ["rate"], start + 6_000_000) for _ in range(2)] == [0, 6_000_000]


def test_a_rate_forgets_a_clock_that_was_put_back(run: Run) -> None:
    """After the clock was put back a day nobody waits longer than a full burst takes."""
    call = "local wait = rate_of(number_at(KEYS[1]), 6000000, 10, tonumber(ARGV[1])) return wait"
    start = 1_786_593_600_000_000
    run("put_rate(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[1]) - 1000000)", ["rate"], start)
    assert run(call, ["rate"], start - 86_400_000_000) == 6_000_000


def test_leases_and_totals_agree(run: Run, redis: Redis) -> None:
    """What is held is the sum of the leases, by day and month; giving back twice gives back once."""
    told = (
        "return {written(held(KEYS[1], '')), written(held(KEYS[1], '2026-08-13')), written(held(KEYS[1], '2026-09'))}"
    )
    run(TAKE, ["held"], 100, "2026-08-13", "r|1", 5000)
    run(TAKE, ["held"], 100, "2026-08-13", "r|1", 6000)
    run(TAKE, ["held"], 7, "2026-09-01", "r2", 9000)
    assert run(told, ["held"]) == ["107", "100", "7"]
    run("release(KEYS[1], ARGV[1]) release(KEYS[1], ARGV[1])", ["held"], "100|2026-08-13|r|1")
    assert run(told, ["held"]) == ["7", "0", "7"]
    run("sweep(KEYS[1], 9000)", ["held"])
    assert redis.exists("held") == 0


def test_a_sweep_takes_only_what_has_ended(run: Run) -> None:
    """A lease is given back at its end, not before; totals are never taken for leases."""
    run(TAKE, ["held"], 100, "2026-08-13", "a", 5000)
    run(TAKE, ["held"], 20, "2026-08-13", "b", 5001)
    assert run("sweep(KEYS[1], 5000) return written(held(KEYS[1], ''))", ["held"]) == "20"


def test_damage_is_not_believed(run: Run, redis: Redis) -> None:
    """A key of another type counts as empty, and a hold on it starts anew."""
    redis.set("held", "x")
    redis.hset("rate", "a", "b")
    taken = "sweep(KEYS[1], 1) hold(look(KEYS[1], '5|d|r', '#d', '#d'), 5, 9) return written(held(KEYS[1], ''))"
    assert run(taken, ["held"]) == "5"
    assert run("return written(number_at(KEYS[1]))", ["rate"]) == "0"


def test_own_counts_are_never_less_than_what_the_engine_has_of_them(run: Run, redis: Redis) -> None:
    """A lost own counter begins at `counted_gate`; one that is ahead stays, and only the difference is added."""
    used = """local d = {counted = 1000, counted_gate = cjson.decode(ARGV[1])}
        local today = unknown_of(KEYS[1], number_at(KEYS[1]), d, 'today')
        return written(d.counted + today + unknown_of(KEYS[2], number_at(KEYS[2]), d, 'yesterday'))"""
    assert run(used, ["today", "yesterday"], json.dumps({"today": 600, "yesterday": 50})) == "1000"
    assert (redis.get("today"), redis.get("yesterday")) == ("600", "50")
    redis.incrby("today", 30)
    assert run(used, ["today", "yesterday"], json.dumps({"today": 600, "yesterday": 50})) == "1030"
    assert run(used, ["today", "yesterday"], json.dumps({"today": 700, "yesterday": 50})) == "1000"


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"schema": "1", "action": "allow"}, "none"),
        ({"schema": "2", "action": "allow"}, "unknown-schema"),
        ({"action": "allow"}, "damaged-decision"),
        ({"schema": "1", "action": "alow"}, "damaged-decision"),
        ({"schema": "1", "action": "allow", "ceiling": "1e6"}, "damaged-decision"),
        ({"schema": "1", "action": "allow", "counted_gate": "[1"}, "damaged-decision"),
        ({"schema": "1", "action": "allow", "prices": '{"input":"1"}'}, "damaged-decision"),
        ({"schema": "1", "action": "allow", "until": "soon"}, "damaged-decision"),
    ],
)
def test_a_decision_is_understood_or_not_used(run: Run, redis: Redis, fields: dict[str, str], fault: str) -> None:
    """A newer schema or a damaged field is named, never guessed at."""
    redis.hset("decision", mapping=fields)
    assert run("return decision_at(KEYS[1], 0).fault or 'none'", ["decision"]) == fault
