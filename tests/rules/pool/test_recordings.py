"""The two incidents on record: what the old formulas did, and what the bounds say about the same readings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).parents[3] / "streams" / "samples"
LINE = re.compile(
    r"^(?P<day>\S+) (?P<time>\S+),(?P<ms>\d{3}) .*?"
    r"(?:\[Usage\] [^ ]+: \+(?P<tokens>\d+)|Checking \S+ \(Bal: (?P<balance>[\d,]+))"
)


def lines(day: str) -> Iterator[tuple[str, int | None, int | None]]:
    """(time, tokens, None) of usage and (time, None, balance) of readings, in order."""
    for line in (SAMPLES / f"incident-{day}.log").read_text(encoding="utf-8").splitlines():
        found = LINE.match(line)
        if found:
            when = f"{found['day']}T{found['time']}.{found['ms']}+08:00"
            balance = found["balance"]
            yield when, int(found["tokens"] or 0), int(balance.replace(",", "")) if balance else None


@pytest.fixture
def replayed(observed):
    def replay(day: str):
        model, seen = observed(), {}
        for when, tokens, balance in lines(day):
            model.since = model.since or model.at(when)
            if balance is None:
                model.use(when, tokens)
            else:
                model.read(when, balance)
                seen[when[11:19]] = {
                    "low": model.low,
                    "high": model.high,
                    "bounds": model.bounds,
                    **{name: model.limit(name).tokens for name in ("interval", "v4", "v5", "v6")},
                }
        return model, seen

    return replay


def test_the_pool_of_08_13_lies_between_the_ends_and_they_are_close(replayed) -> None:
    """At 11:22 the console's 2,242,178 is between the ends, 700 apart at most, with 665,268 used."""
    model, seen = replayed("2026-08-13")
    found = seen["11:22:00"]
    assert model.days["2026-08-13"] == 665_268
    assert found["low"] <= 2_242_178 <= found["high"]
    assert found["high"] - found["low"] <= 700


def test_v6_was_too_high_by_what_was_not_yet_settled(replayed) -> None:
    """Balance + usage said 2,391,794 at 11:22, 149,616 more than there was: the lag in tokens, and 14 minutes of it."""
    _, seen = replayed("2026-08-13")
    bounds = seen["11:22:00"]["bounds"]
    assert bounds.balance + bounds.usage == 2_391_794
    assert bounds.lag_tokens_low <= 2_391_794 - 2_242_178 == 149_616 <= bounds.lag_tokens_high
    assert bounds.lag_seconds == pytest.approx(14 * 60, abs=10)


def test_before_metering_has_run_for_the_lag_bound_there_is_no_low_end(replayed) -> None:
    """The first reading of the recording bounds the pool from above only."""
    _, seen = replayed("2026-08-13")
    first = seen["00:10:00"]
    assert first["low"] is None
    assert first["interval"] is None
    assert first["high"] >= 2_242_178
    assert first["bounds"].why


def test_a_quiet_spell_makes_both_ends_of_08_12_meet(replayed) -> None:
    """At 14:59:51 nothing has been used for longer than the lag bound, and the pool is known."""
    _, seen = replayed("2026-08-12")
    found = seen["14:59:51"]
    assert abs(found["low"] - 2_293_004) <= 700
    assert abs(found["high"] - 2_293_004) <= 700


def test_v4_blocked_wrongly_and_the_interval_does_not(replayed) -> None:
    """v4 took the remaining 596,869 for a limit and refused at 296,869 with 1,696,135 used; the cap bites for us."""
    model, seen = replayed("2026-08-12")
    found, used = seen["14:59:51"], model.days["2026-08-12"]
    assert used == 1_696_135
    assert found["v4"] == 296_869 <= used
    assert found["v5"] == 1_993_004
    assert found["interval"] == 2_000_000 > used + 16


def test_the_lagging_snapshot_of_13_36_does_not_raise_the_low_end(replayed) -> None:
    """The balance of 13:36 was half a million too high: the low end stays under the true pool, v6 goes over it."""
    _, seen = replayed("2026-08-12")
    found = seen["13:36:01"]
    assert found["low"] <= 2_293_004 < found["bounds"].balance + found["bounds"].usage == 2_800_128
