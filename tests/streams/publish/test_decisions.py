"""How long a decision's key lives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from blastdoor_gateway.contract import Action, Decision

from rules.moment import DAY, HOUR, MINUTE, SECOND
from streams.publish.decisions import LIFE, lifetime

Make = Callable[..., Decision]
NOON = 1_786_593_600_000  # 2026-08-13T12:00:00+08:00
TONIGHT, LATER, BEFORE = (
    "2026-08-14T00:00:00.000+08:00",
    "2026-08-31T12:00:00.000+08:00",
    "2026-08-13T11:00:00.000+08:00",
)


@pytest.mark.parametrize(
    ("action", "until", "lives"),
    [
        pytest.param(Action.ALLOW, TONIGHT, LIFE, id="two days, so that an engine may be away overnight"),
        pytest.param(Action.ALLOW, LATER, LIFE, id="an allowance never longer than two days"),
        pytest.param(Action.UNKNOWN, None, LIFE, id="two days without an end, too"),
        pytest.param(Action.BLOCK, TONIGHT, LIFE, id="a block of today as long as any"),
        pytest.param(Action.BLOCK, LATER, 18 * DAY, id="a block of a month to its end"),
        pytest.param(Action.DEGRADE, LATER, 18 * DAY, id="a month's budget that is used up, too"),
        pytest.param(Action.BLOCK, None, LIFE, id="a block always ends"),
        pytest.param(Action.KILL, TONIGHT, 12 * HOUR, id="a kill to its own end"),
        pytest.param(Action.KILL, LATER, 18 * DAY, id="a long kill, too"),
        pytest.param(Action.KILL, None, 0, id="a kill without end until somebody ends it"),
        pytest.param(Action.KILL, BEFORE, MINUTE, id="a kill that has ended waits for the next decision"),
    ],
)
def test_lives_as_long_as_it_should(decide: Make, action: Action, until: str | None, lives: int) -> None:
    """Two days for most; what stops calls for good outlives the engine."""
    assert lifetime(decide(action=action, until=until), NOON) == lives


def test_two_days() -> None:
    """The number that the contract promises."""
    assert LIFE == 48 * 3600 * SECOND
