"""A ruling as people and programs read it: what stands in the history, and what in gauges."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from rules.account import Account
from rules.calendar import Calendar
from rules.ledger import Amount, Ledger
from rules.moment import DAY, HOUR, MINUTE
from rules.outlook import Outlook, Unused
from rules.pool_state import Bounds
from rules.ruling import Ruling
from streams.decision import to_decision
from streams.metrics import Metrics
from streams.ruling_metrics import show_account

CALENDAR = Calendar()
NOON = CALENDAR.start("2026-08-13") + 12 * HOUR
RULING = Ruling(
    scope="model:m", at=NOON, day="2026-08-13", until=CALENDAR.end("2026-08-13"), action="allow", rule="r", reason="s",
    severity=None, formula="interval", policy="p", wall="pool", limit=9, used=1, base=0, counter="1", guarded={},
    bounds=Bounds(pool_low=1, pool_high=2, lag_bound=30 * MINUTE),
)  # fmt: skip
NOTHING = Amount(0, 0)
LEDGER = Ledger(
    day="2026-08-13", opening=Amount(499_900, 500_100), returns=Amount(100_000, 100_000), used=60_000, charged=NOTHING,
    expired=Amount(5_000, 7_000), unexplained=NOTHING, closing=Amount(532_900, 535_100),
    carried=Amount(499_800, 500_000),
)  # fmt: skip
AHEAD: dict[str, Any] = {
    "expected_return": 100_000,
    "returned": 100_000,
    "overdue": False,
    "runs_out_at": NOON + 3 * HOUR,
    "will_expire": (Unused("p1", NOON + DAY, 4_000), Unused("p2", NOON + 2 * DAY, 6_000)),
    "needed_per_day": 66_667,
}
ACCOUNT = Account(ledger=LEDGER, outlook=Outlook(**AHEAD))
UNKNOWN = Account(
    ledger=None, outlook=Outlook(**AHEAD | {"expected_return": None, "runs_out_at": None, "will_expire": ()})
)


def told(account: Account | None) -> dict[str, Any]:
    return dict(json.loads(to_decision(RULING, (1, 1), CALENDAR.zone, account).to_json()))


def test_an_entry_of_the_history_tells_the_days_account() -> None:
    """The ledger with both ends of each amount, and what is to come."""
    found = told(ACCOUNT)
    assert found["ledger"] == {
        "day": "2026-08-13", "opening": [499_900, 500_100], "returns": [100_000, 100_000], "used": 60_000,
        "charged": [0, 0], "expired": [5_000, 7_000], "unexplained": [0, 0], "closing": [532_900, 535_100],
        "carried": [499_800, 500_000], "meets": True,
    }  # fmt: skip
    assert (found["expected_return"], found["returned"], found["return_overdue"]) == (100_000, 100_000, False)
    assert found["runs_out_at"] == "2026-08-13T15:00:00.000+08:00"
    assert found["needed_per_day"] == 66_667
    assert found["will_expire"]["p1"] == {"expires": "2026-08-14T12:00:00.000+08:00", "tokens": 4_000}


def test_what_is_unknown_is_no_field() -> None:
    """Neither of an unknown pool nor of a step of usage."""
    assert {"expected_return", "runs_out_at"} & told(UNKNOWN).keys() == set()
    assert told(UNKNOWN)["ledger"] == {}
    assert {"expected_return", "returned", "return_overdue", "needed_per_day"} & told(None).keys() == set()


def test_redis_is_spared_the_account() -> None:
    """No gateway needs it: the hash is the same with and without."""
    with_it, without = (to_decision(RULING, (1, 1), CALENDAR.zone, account) for account in (ACCOUNT, None))
    assert with_it.to_hash() == without.to_hash()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def test_the_account_is_shown_in_gauges(registry: CollectorRegistry) -> None:
    """Each amount of the ledger at both ends, each expectation by itself."""
    show_account(Metrics(registry), "model:m", ACCOUNT)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"blastdoor_{name}", {"model": "m"} | labels)

    assert value("ledger_tokens", entry="opening", bound="low") == 499_900
    assert value("ledger_tokens", entry="closing", bound="high") == 535_100
    assert value("expected_return_tokens") == value("returned_tokens") == 100_000
    assert value("return_overdue") == 0
    assert value("pool_runs_out_timestamp_seconds") == (NOON + 3 * HOUR) / 1000
    assert value("will_expire_tokens") == 10_000
    assert value("needed_tokens_per_day") == 66_667


def test_a_gauge_that_becomes_unknown_is_gone(registry: CollectorRegistry) -> None:
    """An old number would be believed."""
    metrics = Metrics(registry)
    show_account(metrics, "model:m", ACCOUNT)
    show_account(metrics, "model:m", UNKNOWN)
    names = {sample.name for family in registry.collect() for sample in family.samples if sample.labels.get("model")}
    gone = {"blastdoor_ledger_tokens", "blastdoor_expected_return_tokens", "blastdoor_pool_runs_out_timestamp_seconds"}
    assert names & gone == set()
    assert "blastdoor_returned_tokens" in names
