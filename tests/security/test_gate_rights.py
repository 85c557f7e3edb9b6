"""A gate's own user of Redis: it admits and settles with the rights that the page gives it, and writes no decision."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blastdoor_gateway.admission import Do, Outage
from blastdoor_gateway.cache.question import Audience
from blastdoor_gateway.config import Budget, Engine, Gate, Rate, Spend
from blastdoor_gateway.contract import Action, Decision, Keys
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.unasked import Unasked
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from streams.embedded.server import free_port
from tests.security.conftest import ROOT

pytestmark = pytest.mark.redis7

PASSWORD = "gate-s3cret-0123"
PATIENCE = 30.0
KEYS = Keys()


def documented() -> str:
    """The rights that the page gives to the user `gate`."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^user gate on >PASSWORD (.*?)^```", page, re.MULTILINE | re.DOTALL)
    return " ".join(found.split())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis with an engine's user, who may do anything, and a gate's."""
    directory, port = tmp_path_factory.mktemp("gate-redis"), free_port()
    users = directory / "users.acl"
    users.write_text(f"user default on nopass ~* +@all\nuser gate on >{PASSWORD} {documented()}\n")
    place: list[str | Path] = ["--port", str(port), "--bind", "127.0.0.1", "--dir", directory, "--save", ""]
    process = subprocess.Popen(
        [str(shutil.which("redis-server")), *place, "--aclfile", users], stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + PATIENCE
    with Redis(port=port) as client:
        while not _answers(client):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
    yield port
    process.kill()
    process.wait()


def _answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisConnectionError:
        return False


@pytest.fixture
def engine(server: int) -> Iterator[Redis]:
    """As the engine sees it, with decisions and a heartbeat."""
    with Redis(port=server, decode_responses=True) as client:
        client.flushall()
        plain: dict[str, Any] = {
            "action": Action.ALLOW, "rule": "r", "reason": "because", "day": "2026-08-13", "version": (1, 1),
            "decided_at": "2026-08-13T12:00:00+08:00", "counter": "c", "counted": 0, "used": 0, "ceiling": 10**9,
            "limit": 10**9,
        }  # fmt: skip
        for scope in ("model:m", "tenant:t", "global"):
            client.hset(KEYS.decision(scope), mapping=Decision(scope=scope, **plain).to_hash())
        client.hset(KEYS.engine, mapping={"at_ms": time.time_ns() // 1_000_000})
        yield client


@pytest.fixture
async def guard(server: int) -> Any:
    gate = Gate(
        wait_seconds=PATIENCE, per_ip=Rate(10), per_user=Rate(10), default=Budget(daily_tokens=1_000_000),
        spend=Spend(daily=10**15), engine=Engine(),
    )  # fmt: skip
    found = Guard.connect(f"redis://gate:{PASSWORD}@127.0.0.1:{server}/0", gate)
    yield found
    await found.close()


@pytest.mark.usefixtures("engine")
async def test_it_can_do_all_that_a_gate_does(guard: Guard) -> None:
    """Every script, with every layer on and the older keys kept."""
    assert {found.check for found in await guard.self_test() if not found.passed} == set()
    admission = await guard.admit(model="m", tenant="t", user="u", ip="10.0.0.1", estimate=100)
    assert (admission.action, admission.local) == (Do.PROCEED, False)
    settlement = await guard.settle(admission, 70)
    assert (settlement.outcome, settlement.used_today) == ("settled", 70)
    assert await guard.top_up("t", "day", 5, grant_id="g") == 5
    assert not isinstance(await guard.standing("t"), Outage)
    question = guard.question("what is the travel policy of this company", Audience(tenant="t"))
    assert await guard.remember(question, "see the handbook")
    unasked = Unasked(KEYS, lambda: 0)
    unasked.note(Outage.SLOW)
    assert not isinstance(await guard._link.ask(unasked.report()), Outage)


def test_it_cannot_write_what_others_decide_by(server: int, engine: Redis) -> None:
    """Neither directly nor by a script; nor can it look around or break things."""
    decision = KEYS.decision("model:m")
    before = engine.hgetall(decision)
    script = "return redis.call('HSET', ARGV[1], 'action', 'allow')"
    forbidden: list[tuple[Any, ...]] = [
        *(("HSET", key, "action", "allow") for key in (decision, KEYS.engine, KEYS.legacy_written("m"))),
        *(("DEL", key) for key in (decision, KEYS.engine)),
        ("SET", KEYS.balance_at_sync("m"), "1"),
        ("EVAL", script, 0, decision),
        ("EVAL", script, 1, decision, decision),
        *((name,) for name in ("FLUSHALL", "FLUSHDB", "SHUTDOWN")),
        ("KEYS", "*"),
        ("CONFIG", "GET", "*"),
        ("ACL", "LIST"),
        ("GET", "somebody:else"),
    ]
    with Redis(port=server, username="gate", password=PASSWORD) as gate:
        assert gate.hget(decision, "rule") == b"r"
        for command in forbidden:
            with pytest.raises(ResponseError, match=r"no permissions|can't access"):
                gate.execute_command(*command)
    assert engine.hgetall(decision) == before
