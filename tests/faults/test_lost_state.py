"""A changelog is lost, whole: what its step knows again, what it does not, and which way that falls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from blastdoor_gateway.contract import Action

from streams.topics import admin_client
from tests.faults.audit import alerts, check, decided
from tests.faults.brokers import BROKERS
from tests.faults.load import LIMITED, MODELS
from tests.faults.site import eventually, site

if TYPE_CHECKING:
    from pathlib import Path

    from blastdoor_gateway.contract import Decision

    from tests.faults.site import Site

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(600)]

ALLOWING = (Action.ALLOW, Action.WARN)


async def start_from_nothing(here: Site, step: str) -> None:
    """As the manual says: stop all workers, delete the step's changelog, start them."""
    count = len(here.workers)
    for worker in list(here.workers):
        await here.remove_worker(worker)
    async with admin_client(here.kafka) as admin:
        await admin.delete_topics([f"{here.topics.prefix}.worker-{step}-changelog"])
    for _ in range(count):
        here.add_worker()


async def spend_it_all(here: Site) -> None:
    """Use the limited model until it is refused."""

    async def refused() -> bool:
        await here.load.send(500)
        return LIMITED in (known := decided(here)) and known[LIMITED].action is Action.BLOCK

    await eventually(refused, "the limited model to be refused", here.last_words)
    await check(here)


async def ruled_anew(here: Site, before: dict[str, Decision]) -> set[Action]:
    """Wait for newer decisions about every model with the same numbers; what the limited one said meanwhile."""
    said: set[Action] = set()

    async def alike() -> bool:
        known = decided(here)
        said.add(known[LIMITED].action)
        newer = all(known[model].version > before[model].version for model in MODELS)
        return newer and all(_numbers(known[model]) == _numbers(before[model]) for model in MODELS)

    await eventually(alike, "the same decisions again", here.last_words)
    return said


def _numbers(decision: Decision) -> tuple[object, ...]:
    return decision.action, decision.used, decision.limit, decision.counted


async def told(here: Site) -> Counter[str]:
    """How often each alert about a threshold arrived."""
    ids = {alert.id for alert in await alerts(here)}
    return Counter(arrival.id for arrival in here.receiver.arrivals if arrival.id in ids)


async def test_what_a_lost_changelog_costs(tmp_path: Path) -> None:
    """The judge has its sums and what an operator calibrated back from the facts; a spent model is never allowed
    meanwhile, and nobody hears of it a second time: what is raised again has the ids of before. Notify misses nothing,
    and tells once more, under its id, what the topic of alerts still has; no decision changes by that."""
    async with site(BROKERS["embedded"], tmp_path, workers=1, seed=3) as here:
        await here.settled()
        await here.calibrate()
        await spend_it_all(here)

        before = decided(here)
        await start_from_nothing(here, "judge")
        assert not (await ruled_anew(here, before)).intersection(ALLOWING)

        async def raised_again() -> bool:
            return sorted(Counter(alert.id for alert in await alerts(here)).values()) == [2, 2]

        await eventually(raised_again, "the alerts of today on their topic again", here.last_words)
        await here.load.send(500)
        await check(here)
        assert sorted((await told(here)).values()) == [1, 1]

        before = decided(here)
        await start_from_nothing(here, "notify")

        async def told_again() -> bool:
            return sorted((await told(here)).values()) == [2, 2]

        await eventually(told_again, "the alerts to arrive again", here.last_words)
        await ruled_anew(here, before)
