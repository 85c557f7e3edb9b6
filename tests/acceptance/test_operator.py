"""An operator's commands on real parts: what is ordered holds at the gate when the command ends, and is on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from blastdoor_gateway.config import Engine, Falls, Gate
from blastdoor_gateway.contract import Action
from blastdoor_gateway.guard import Guard
from click.testing import CliRunner, Result

from rules.moment import to_rfc3339
from streams.cli import main
from streams.wall_clock import wall_clock
from tests.acceptance.conftest import Deployment

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(180)]

ADDRESS = "203.0.113.7"


async def order(deployment: Deployment, *words: str) -> Result:
    """The command in a thread of its own: it brings its own event loop."""
    where = ["--kafka", deployment.stack.kafka]
    beside = [] if words[0] == "controls" else ["--redis", deployment.stack.redis, "--within", "60"]
    return await asyncio.to_thread(CliRunner().invoke, main, [*words, *where, *beside], env={"BLASTDOOR_POLICY": None})


async def test_orders_hold_when_the_command_ends(deploy: Callable[..., Any], tmp_path: Any) -> None:
    """A ban of a network and a kill refuse the next call, unban and resume let it pass; the same id again changes
    nothing, over HTTP as well; all of them are on record, once."""
    (tmp_path / "token").write_text("operator-token-0123456789")
    policy = tmp_path / "policy.yaml"
    policy.write_text("senders: {ops: {token: file:token, may: [controls]}}\n")
    reason = ["--why", "a drill", "--by", "lin"]
    gate = Gate(wait_seconds=5.0, engine=Engine(unknown=Falls.OPEN), per_ip=None, per_user=None)
    async with deploy(policy=str(policy)) as deployment:
        guard = Guard.connect(deployment.stack.redis, gate)

        async def passes() -> bool:
            return bool((await guard.admit(model="m", ip=ADDRESS, estimate=1)).allowed)

        try:
            found = [await passes()]
            for words in (
                ["ban", "ip:203.0.113.0/24", "--for", "2d"], ["unban", "ip:203.0.113.99/24"],
                ["kill", "--id", "k"], ["resume"],
            ):  # fmt: skip
                said = await order(deployment, *words, *reason)
                assert said.exit_code == 0, said.output
                found.append(await passes())
            assert found == [True, False, True, False, True]

            again = await order(deployment, "kill", "--id", "k", *reason)
            assert "nothing is done again" in again.stdout
            url = f"http://{deployment.stack.http[0]}/v1/controls"
            head = {"Authorization": "Bearer operator-token-0123456789", "Idempotency-Key": "k"}
            body = {"action": "kill", "scope": "global", "why": "a drill", "by": "lin"}
            async with aiohttp.ClientSession() as session:
                answers = [(await session.post(url, json=body, headers=head)).status]
                answers.append((await session.post(url, json=body | {"by": "ann"}, headers=head)).status)
            assert answers == [200, 409]
            assert await passes()

            told = await order(deployment, "controls", "--json")
            kept = [json.loads(line) for line in told.stdout.splitlines()]
            assert [each["action"] for each in kept] == ["ban", "unban", "kill", "resume"]
            assert {(each["by"], each["why"]) for each in kept} == {("lin", "a drill")}
        finally:
            await guard.close()


async def test_tokens_given_hold_when_the_command_ends(deploy: Callable[..., Any], tmp_path: Any) -> None:
    """A tenant that has used up its budget goes on after a top-up, stops at a lower quota, and goes on when a second
    top-up comes over HTTP; a kill closes it, a resume opens it; what nobody would heed is refused by both, at once."""
    (tmp_path / "token").write_text("operator-token-0123456789")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "senders: {ops: {token: file:token, may: [controls]}}\ntenants: {acme: {daily_tokens: 1000, over: block}}\n"
    )
    reason = ["--why", "bought", "--by", "lin"]
    gate = Gate(wait_seconds=5.0, engine=Engine(unknown=Falls.OPEN), per_ip=None, per_user=None)
    async with deploy(policy=str(policy)) as deployment, Guard.connect(deployment.stack.redis, gate) as guard:

        async def passes(tokens: int) -> bool:
            admission = await guard.admit(model="m", tenant="acme", estimate=tokens)
            await guard.cancel(admission)
            return bool(admission.allowed)

        event = {"type": "usage", "id": "u", "ts": to_rfc3339(wall_clock()), "model": "m", "tenant": "acme"}
        await deployment.produce(deployment.topics.usage, json.dumps(event | {"total_tokens": 1_000}).encode())
        await deployment.decided(lambda found: found.action is Action.BLOCK, scope="tenant:acme")
        assert not await passes(1)

        refused = await order(deployment, "topup", "user:acme/u1", "500", *reason)
        assert (refused.exit_code, "topup: of tenant" in refused.output) == (2, True)
        said = await order(deployment, "topup", "tenant:acme", "500", *reason)
        assert said.exit_code == 0, said.output
        assert [await passes(500), await passes(501)] == [True, False]
        said = await order(deployment, "quota", "acme", "700", "--for", "2h", *reason)
        assert said.exit_code == 0, said.output
        assert [await passes(200), await passes(201)] == [True, False]

        url = f"http://{deployment.stack.http[0]}/v1/controls"
        head = {"Authorization": "Bearer operator-token-0123456789", "Idempotency-Key": "invoice-42"}
        body = {"action": "topup", "scope": "tenant:acme", "tokens": 50, "why": "bought"}
        async with aiohttp.ClientSession(headers=head) as session:
            answers = [(await session.post(url, json=body | {"scope": "user:acme/u1"})).status]
            answers += [(await session.post(url, json=body)).status for _ in range(2)]
        assert answers == [400, 202, 200]
        taken = await deployment.decided(lambda found: "invoice-42" in found.orders, scope="tenant:acme")
        assert (taken.used, taken.limit) == (1_000, 1_250)
        assert [await passes(250), await passes(251)] == [True, False]

        for words, passing in ((["kill", "tenant:acme", "--for", "2h"], False), (["resume", "tenant:acme"], True)):
            said = await order(deployment, *words, *reason)
            assert said.exit_code == 0, said.output
            assert await passes(250) is passing
