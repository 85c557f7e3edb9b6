"""When an order counts as seen."""

from __future__ import annotations

from typing import Any

import pytest
from blastdoor_gateway.contract import Action, Decision, Keys
from redis.asyncio import Redis

from rules.records import Calibration, Control, ControlAction
from streams.orders.effect import Sight, shows

TAKEN = ("earlier", "o")


def decision(n: int = 1, action: Action = Action.ALLOW, **fields: Any) -> Decision:
    return Decision(
        scope="global", action=action, rule="r", reason="", day="2026-08-13", decided_at="", version=(1, n), **fields
    )


def control(action: ControlAction) -> Control:
    return Control(id="o", at=0, by="lin", why="x", action=action, scope="global")


@pytest.mark.parametrize(
    ("action", "before", "after", "shown"),
    [
        pytest.param("kill", decision(), decision(2), False, id="calls are still allowed"),
        pytest.param("kill", decision(), decision(2, orders=TAKEN), False, id="a newer word holds"),
        pytest.param("kill", decision(), decision(2, Action.KILL), False, id="closed by somebody else"),
        pytest.param("kill", decision(), decision(2, Action.KILL, orders=TAKEN), True, id="closed"),
        pytest.param("kill", None, decision(2, orders=TAKEN, mode="observe"), True, id="nothing binds"),
        pytest.param("kill", None, None, False, id="nothing was ever decided"),
        pytest.param("resume", decision(1, Action.KILL), decision(1, Action.KILL), False, id="still closed"),
        pytest.param("resume", decision(1, Action.KILL), decision(2, orders=TAKEN), True, id="open again"),
        pytest.param("resume", None, decision(2, Action.KILL, orders=TAKEN), True, id="something else closes it"),
        pytest.param("ban", None, decision(1, Action.BLOCK, orders=TAKEN), True, id="banned"),
        pytest.param("unban", decision(1, Action.BLOCK), None, True, id="nothing is said of it any more"),
        pytest.param("topup", decision(), decision(), False, id="nothing new"),
        pytest.param("set_quota", decision(), decision(2), False, id="decided anew, of something else"),
        pytest.param("topup", None, decision(orders=TAKEN), True, id="taken"),
    ],
)
def test_a_control_shows_in_what_gateways_read(
    action: str, before: Decision | None, after: Decision | None, shown: bool
) -> None:
    """By the order's id; closing as a refusal besides, opening also where nothing is decided any more."""
    assert shows(control(ControlAction(action)), before, after) is shown


def test_a_calibration_shows_by_its_id_or_by_the_pool() -> None:
    """A decision that only counts more usage is no sign of it."""
    told = Calibration(id="c", at=0, model="m", day="2026-08-13", pool=7)
    assert not shows(told, decision(pool_low=5), decision(2, pool_low=5))
    assert shows(told, decision(pool_low=5), decision(2, pool_low=6))
    assert shows(told, None, decision(readings=("c",)))
    assert not shows(told, None, None)


@pytest.mark.embedded
async def test_a_damaged_decision_shows_nothing(redis_url: str) -> None:
    """What cannot be read is not taken for the effect; a Redis that is not there neither."""
    keys = Keys("effect-damaged")
    redis = Redis.from_url(redis_url, decode_responses=True)
    await redis.hset(keys.decision("global"), mapping={"schema": "99"})
    sight = Sight(redis, keys, control(ControlAction.UNBAN))
    await sight.begin()
    assert (await sight.wait(0.2)).shown is False
    await redis.aclose()
    nowhere = Redis.from_url("redis://127.0.0.1:1/0", decode_responses=True)
    assert (await Sight(nowhere, keys, control(ControlAction.UNBAN)).wait(0.2)).shown is False
    await nowhere.aclose()
