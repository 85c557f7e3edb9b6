"""A thousand malformed records on the topics themselves: each is kept with its reason, and none stops a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rules.dead_letter import DeadLetter
from rules.records import Reason
from tests.acceptance.conftest import Deployment, eventually
from tests.hostile import LIMIT, hostile_lines

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(120)]

GOOD = b'{"type":"usage","id":"good","ts":%d,"model":"m","total_tokens":7}'


async def test_hostile_records_are_kept_and_the_good_one_counts(deploy: Callable[..., Any]) -> None:
    """As many distinct dead-letter keys as malformed records, each with a reason, and the event after them counted."""
    lines = [line for line in hostile_lines(1000, seed=7) if len(line) <= LIMIT]
    async with deploy() as deployment:
        now = int((await deployment.redis.time())[0])
        for topic in (deployment.topics.usage, deployment.topics.balances, deployment.topics.controls):
            await deployment.produce(topic, *lines)
        await deployment.produce(deployment.topics.usage, GOOD % now)
        await deployment.decided(lambda decision: decision.counted == 7, model="m")
        letters = await eventually(lambda: _letters(deployment, 3 * len(lines)))
        assert len({record.key for record in letters}) == 3 * len(lines)
        found = [DeadLetter.decode(record.value) for record in letters]
        assert {letter.reason for letter in found} <= set(Reason)
        assert all(letter.detail for letter in found)
        assert deployment.stack.supervisors[0].last_death is None


async def _letters(deployment: Deployment, wanted: int) -> list[Any]:
    records = await deployment.records(deployment.topics.dead_letters)
    return records if len(records) >= wanted else []
