"""The order commands: what they put onto Kafka, what they refuse, and what they say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from blastdoor_gateway.contract import Action, Decision, Keys
from click.testing import CliRunner, Result
from redis import Redis

from streams.cli import main
from tests.streams.ship.conftest import Target

REASON = ["--why", "a leaked key", "--by", "lin"]


def run(*arguments: str) -> Result:
    """The command in this process, on a loop of its own."""
    return CliRunner().invoke(main, list(arguments), env={"BLASTDOOR_POLICY": None})


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        pytest.param(["ban", "model", *REASON], "none of model:NAME", id="no scope"),
        pytest.param(["ban", "ip:1.2.3.4", "--for", "2 days", *REASON], "must be a length of time", id="no length"),
        pytest.param(["ban", "ip:1.2.3.4", "--until", "2020-01-01", *REASON], "lies in the past", id="a past end"),
        pytest.param(["ban", "ip:10.0.0.0/8", *REASON], "gateways look up addresses", id="too wide"),
        pytest.param(["kill", "model:m", *REASON], "a model is closed by a rule", id="a model"),
        pytest.param(["kill", "--for", "2h", "--until", "2099-01-01", *REASON], "give one of them", id="two ends"),
        pytest.param(["topup", "acme", "0", *REASON], "0 is not in the range", id="nothing to give"),
        pytest.param(["topup", "user:acme/u1", "5", *REASON], "topup: of tenant, not of user:acme/u1", id="of a user"),
        pytest.param(["quota", "acme", "many", *REASON], "is not a valid integer", id="no number"),
        pytest.param(["calibrate", "m", "7", "--day", "yesterday", *REASON], "is not a date", id="no day"),
        pytest.param(["kill", "--why", "   ", "--by", "lin"], "consists of white space", id="no reason"),
    ],
)  # fmt: skip
def test_what_is_no_order_is_refused_before_anything_is_sent(arguments: list[str], why: str) -> None:
    """Exit code 2 with the reason; no broker is asked."""
    found = run(*arguments, "--kafka", "127.0.0.1:1")
    assert found.exit_code == 2
    assert why in " ".join(found.output.split())


def test_without_a_broker_nothing_was_ordered() -> None:
    """Exit code 1 and one line."""
    found = run("kill", *REASON, "--kafka", "127.0.0.1:1", "--no-wait")
    assert (found.exit_code, "no Kafka broker answers" in found.output) == (1, True)


@pytest.mark.embedded
def test_orders_are_kept_with_who_when_and_why(target: Target) -> None:
    """`controls` lists each once, the oldest first, from the topics; the same id again does nothing again."""
    orders = [
        ["kill", "--id", "k-1"],
        ["ban", "ip:10.0.0.7/24", "--for", "2d"],
        ["topup", "acme", "5000"],
        ["calibrate", "m", "2242178", "--day", "2026-08-13"],
    ]
    for order in orders:
        found = run(*order, *REASON, "--no-wait", *target.options)
        assert (found.exit_code, found.stderr) == (0, ""), found.output
    repeated = run("kill", "--id", "k-1", *REASON, "--no-wait", *target.options)
    assert (repeated.exit_code, "nothing is done again" in repeated.stdout) == (0, True)
    other = run("resume", "--id", "k-1", *REASON, "--no-wait", *target.options)
    assert (other.exit_code, "another order" in other.output) == (1, True)

    told = [json.loads(line) for line in run("controls", "--json", *target.options).stdout.splitlines()]
    assert [each.get("action", each["type"]) for each in told] == ["kill", "ban", "topup", "calibration"]

    assert {(each["by"], each["why"]) for each in told} == {("lin", "a leaked key")}
    text = run("controls", *target.options).stdout
    assert "lin           topup 5,000 tenant:acme: a leaked key" in text
    assert text.endswith("4 orders, 4 shown\n")
    assert run("controls", "--scope", "global", *target.options).stdout.endswith("1 order, 1 shown\n")


@pytest.mark.embedded
def test_an_order_that_shows_nowhere_says_so(target: Target, redis_url: str) -> None:
    """Exit code 3: it stands on Kafka, and nobody has acted on it."""
    found = run("kill", *REASON, "--within", "0.2", "--redis", redis_url, *target.options)
    assert (found.exit_code, "no decision in Redis tells of it" in found.stderr) == (3, True)


@pytest.mark.embedded
async def test_an_order_that_shows_is_told_with_the_decision(target: Target, redis_url: str) -> None:
    """The command ends as soon as the decision is there, with what is now in force."""
    redis = Redis.from_url(redis_url, decode_responses=True)
    killed = Decision(
        scope="global", action=Action.KILL, rule="kill-switch", reason="closed by lin", day="2026-08-13",
        decided_at="2026-08-13T11:08:00.000+08:00", version=(1, 1),
        orders=("o-1",),
    )  # fmt: skip

    async def decide() -> None:
        while not await target.read_all(target.topics.controls):
            pass
        redis.hset(Keys(target.prefix).decision("global"), mapping=killed.to_hash())

    deciding = asyncio.create_task(decide())
    command: Callable[..., Any] = run
    words = ["kill", "--id", "o-1", *REASON, "--within", "60", "--redis", redis_url, *target.options]
    found = await asyncio.to_thread(command, *words)
    await deciding
    assert found.exit_code == 0, found.output
    assert "global is now kill: closed by lin" in found.stdout
