"""What the site has made of the load, read from its topics and its Redis, beside the ledger of what was sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from blastdoor_gateway.contract import Decision

from rules.alerts import Alert, Kind
from rules.facts import Partial
from streams.alert_records import read
from tests.faults.load import LIMITED, MODELS
from tests.faults.site import PATIENCE, eventually
from tests.streams.delivery.conftest import read_all

if TYPE_CHECKING:
    from tests.faults.site import Site


@dataclass
class Totals:
    """Tokens and calls by model; a difference says where."""

    tokens: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)


async def metered(site: Site) -> Totals:
    """The sum over partitions and days of what `facts` says last."""
    newest: dict[bytes, Partial] = {}
    for record in await read_all(site.kafka, site.topics.facts, site.partitions):
        if record.value is None or b'"partial"' not in record.value[:20]:
            continue
        partial = msgspec.json.decode(record.value, type=Partial)
        if not partial.scope.startswith("model:"):
            continue
        known = newest.get(record.key)
        if known is None or (known.incarnation, known.offset) <= (partial.incarnation, partial.offset):
            newest[record.key] = partial
    totals = Totals()
    for partial in newest.values():
        totals.tokens[partial.scope.removeprefix("model:")] += partial.sums.tokens
        totals.calls[partial.scope.removeprefix("model:")] += partial.sums.requests
    return totals


def decided(site: Site) -> dict[str, Decision]:
    """The decisions in Redis."""
    with site.redis.client() as client:
        found = {model: client.hgetall(site.keys.decision(f"model:{model}")) for model in MODELS}
    return {model: Decision.from_hash(stored) for model, stored in found.items() if stored}


async def check(site: Site) -> None:
    """Once all has arrived: every total is the number of distinct ids, the newest decision is in Redis, every alert was
    raised and told once, and every unreadable record is one dead letter."""
    ledger = site.load.ledger

    async def arrived() -> bool:
        return {model: decision.counted for model, decision in decided(site).items()} == ledger.tokens

    await eventually(arrived, "decisions with the tokens that were sent", lambda: _difference(site), PATIENCE)
    totals = await metered(site)
    assert totals.tokens == ledger.tokens
    assert totals.calls == ledger.calls
    await eventually(lambda: _newest_in_redis(site), "the newest decisions in Redis", site.last_words)
    await _alerts_once(site)

    async def kept() -> bool:
        letters = await read_all(site.kafka, site.topics.dead_letters, site.partitions)
        return len({letter.key for letter in letters}) == ledger.unreadable

    await eventually(kept, f"{ledger.unreadable} dead letters", site.last_words)


def _difference(site: Site) -> str:
    counted = {model: decision.counted for model, decision in decided(site).items()}
    sent = site.load.ledger.tokens
    return (
        f"counted - sent: { {model: (counted.get(model) or 0) - sent[model] for model in sent} }\n{site.last_words()}"
    )


async def _newest_in_redis(site: Site) -> bool:
    """The topic holds entries of the history; Redis never holds less."""
    versions: dict[str, tuple[int, int]] = {}
    for record in await read_all(site.kafka, site.topics.decisions, site.partitions):
        decision = Decision.from_json(record.value)
        if decision.scope.removeprefix("model:") not in MODELS:
            continue
        versions[decision.scope] = max(versions.get(decision.scope, (0, 0)), decision.version)
    held = {decision.scope: decision.version for decision in decided(site).values()}
    return all(held.get(scope, (0, 0)) >= version for scope, version in versions.items())


async def alerts(site: Site) -> list[Alert]:
    """Every alert about a threshold, as often as it was put onto the topic."""
    records = await read_all(site.kafka, site.topics.alerts, site.partitions)
    found = [alert for record in records if isinstance(alert := read(record.key, record.value), Alert)]
    return [alert for alert in found if alert.kind is Kind.THRESHOLD]


async def _alerts_once(site: Site) -> None:
    """One occurrence, one id; a death, or a long sleep, between a receiver's answer and its record may repeat it."""
    if site.load.ledger.tokens[LIMITED] < site.pool:
        return
    raised: dict[str, float | None] = {}

    def told() -> list[str]:
        return [each.id for each in site.receiver.arrivals if each.id in raised]

    async def delivered() -> bool:
        raised.update({alert.id: alert.threshold for alert in await alerts(site)})
        return len(raised) >= 2 and set(told()) == set(raised)

    await eventually(delivered, "both alerts to arrive", site.last_words)
    assert sorted(each or 0 for each in raised.values()) == [0.8, 1.0]
    assert len(told()) <= len(raised) * (1 + len(site.deaths) + site.zombies)
