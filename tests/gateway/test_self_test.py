"""Before the first call every configured layer is tried, and one that holds nothing keeps the gateway from starting."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from blastdoor_gateway import self_test
from blastdoor_gateway.admission import Request
from blastdoor_gateway.config import Budget, Engine, Gate, Rate, Spend
from blastdoor_gateway.coverage import ENOUGH, Coverage
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.scripts import ADMIT, script_of
from blastdoor_gateway.self_test import SelfTestError
from blastdoor_gateway.sync_guard import SyncGuard
from redis import Redis

Make = Callable[..., Guard]

EVERYTHING: dict[str, Any] = {
    "per_ip": Rate(10),
    "per_user": Rate(10),
    "default": Budget(daily_tokens=500_000, monthly_tokens=10_000_000),
    "spend": Spend(daily=500 * 10**9),
    "engine": Engine(),
}
CHECKS = ["kill", "per_ip", "per_user", "daily_tokens", "monthly_tokens", "model", "spend"]


async def test_every_configured_layer_is_asked(url: str, guard_on: Make) -> None:
    """Each refuses its trial."""
    checked = await guard_on(url, **EVERYTHING).self_test()
    assert [(found.check, found.passed) for found in checked] == [(check, True) for check in CHECKS]


async def test_what_is_not_configured_is_not_tried(url: str, guard_on: Make) -> None:
    """The kill switch always is."""
    assert [found.check for found in await guard_on(url, spend=None).self_test()] == ["kill"]
    one = guard_on(url, tenants={"acme": Budget(monthly_tokens=5)}, spend=Spend())
    assert [found.check for found in await one.self_test()] == ["kill", "monthly_tokens"]


async def test_real_calls_do_not_notice(url: str, guard_on: Make, redis: Redis) -> None:
    """Every key is the self-test's own and ends by itself; it may be repeated at once."""
    guard = guard_on(url, **EVERYTHING)
    for _ in range(3):
        await guard.self_test()
    keys = list(redis.scan_iter())
    assert keys
    assert [key for key in keys if not key.startswith("blastdoor-selftest:")] == []
    assert [key for key in keys if redis.ttl(key) < 0] == []


@pytest.mark.parametrize("check", CHECKS)
async def test_a_layer_that_was_never_hooked_in_is_found(
    url: str, guard_on: Make, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    """However it came to be left out: here of the script, or of what the script is given."""
    left_out = {"kill": "not is_plain", "daily_tokens": "rule and over ~= 'warn'",
                "monthly_tokens": "rule and over ~= 'warn'", "spend": "used + money > limit",
                "model": "decision_model ~= nobody and not model and unknown == 'closed'"}.get(check)  # fmt: skip
    if left_out is not None:
        assert ADMIT.text.count(f"if {left_out} then") == 1
        text = ADMIT.text.replace(f"if {left_out} then", "if false then")
        monkeypatch.setattr("blastdoor_gateway.questions.ADMIT", script_of("admit", text))
    else:
        monkeypatch.setattr("blastdoor_gateway.admit_call._pace", lambda *_: (1, 10**6))
    with pytest.raises(SelfTestError, match=f"not held against calls: .*{check}"):
        await guard_on(url, **EVERYTHING).self_test()


async def test_a_redis_that_is_away_proves_nothing(own_redis: Any, guard_on: Make) -> None:
    """The start goes on; what holds without Redis is decided elsewhere."""
    own_redis.stop()
    checked = await guard_on(own_redis.url, **EVERYTHING).self_test()
    assert {found.passed for found in checked} == {None}
    assert all(found.said.startswith("Redis: ") for found in checked)


def test_the_thin_guard_has_it_too(url: str) -> None:
    """With the same trials."""
    guard = SyncGuard.connect(url, Gate(wait_seconds=30.0, **EVERYTHING))
    assert [found.check for found in guard.self_test()] == CHECKS
    guard.close()


def test_what_was_tried_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """In one line, at the level it deserves."""
    caplog.set_level(logging.INFO, "blastdoor.gate")
    self_test.report((self_test.Checked("kill", True), self_test.Checked("spend", True)))
    self_test.report((self_test.Checked("kill", None, "Redis: down"),))
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told == [
        ("INFO", "self-test: asked before every call: kill, spend"),
        ("WARNING", "self-test: could not be tried: kill (Redis: down)"),
    ]


class TestCoverage:
    """A limit that needs to know who calls, where nobody says so."""

    def test_what_no_call_could_be_held_to_is_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """After a hundred calls, and never again."""
        coverage = Coverage(Gate(default=Budget(daily_tokens=5)))
        for _ in range(3 * ENOUGH):
            coverage.note(Request(request_id="r", model="m", tenant="t"))
        (record,) = caplog.records
        assert record.getMessage().endswith("per_ip (no address), per_user (no user)")

    def test_one_call_is_enough(self, caplog: pytest.LogCaptureFixture) -> None:
        """Others may be without."""
        coverage, request = Coverage(Gate()), Request(request_id="r", model="m")
        coverage.note(replace(request, user="u"))
        coverage.note(replace(request, address="10.0.0.1"))
        for _ in range(ENOUGH):
            coverage.note(request)
        assert (coverage.idle, caplog.records) == (set(), [])

    async def test_the_gate_notices(self, url: str, guard_on: Make) -> None:
        """Every admission is looked at."""
        guard = guard_on(url, per_user=Rate(10))
        await guard.admit(model="m")
        assert guard.core.coverage.idle == {"per_user"}
        await guard.admit(model="m", user="u")
        assert guard.core.coverage.idle == set()
