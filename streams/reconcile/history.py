"""Our books by day and model, from the history of decisions on Kafka.

A decision is kept when something changes, so the last one of a day need not have the day's last token. What a day had
in total is told by the next one: what had been counted when that began, less what had been counted before.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiokafka import TopicPartition
from blastdoor_gateway.contract import Decision

from rules.calendar import Day
from rules.ledger import Amount
from rules.reconcile import Booked, Key
from streams.delivery.log import PartitionLog, ends
from streams.settings import Settings
from streams.topics import Topics, admin_client


async def read_books(settings: Settings, since: Day = "") -> dict[Key, Booked]:
    """The books of every day from `since` on. Raises BrokerUnavailable and what reading a log raises."""
    topic = Topics(settings.prefix).decisions
    async with admin_client(settings.kafka) as admin:
        counts = {found["topic"]: len(found["partitions"]) for found in await admin.describe_topics()}
    last: dict[Key, Decision] = {}
    partitions = [TopicPartition(topic, number) for number in range(counts.get(topic, 0))]
    for partition, end in (await ends(settings.kafka, partitions)).items() if partitions else ():
        async for records in PartitionLog(settings.kafka, partition).before(end, end):
            for record in records:
                _keep(last, record.value or b"")
    return {key: booked for key, booked in books(last.values()).items() if key[0] >= since}


def _keep(last: dict[Key, Decision], raw: bytes) -> None:
    """The newest decision of a model's day; what cannot be read is none of this version's."""
    try:
        decision = Decision.from_json(raw)
    except ValueError:
        return
    if decision.scope.startswith("model:"):
        key = (decision.day, decision.scope.removeprefix("model:"))
        if key not in last or last[key].version <= decision.version:
            last[key] = decision


def books(decisions: Iterable[Decision]) -> dict[Key, Booked]:
    """From the last decision of each day."""
    days: dict[str, dict[Day, Decision]] = {}
    for decision in decisions:
        days.setdefault(decision.scope.removeprefix("model:"), {})[decision.day] = decision
    found: dict[Key, Booked] = {}
    for model, by_day in days.items():
        ordered = sorted(by_day)
        for day, following in zip(ordered, [*ordered[1:], None], strict=True):
            found[day, model] = _booked(by_day[day], by_day[following] if following else None)
    return found


def _booked(decision: Decision, following: Decision | None) -> Booked:
    used, whole = decision.used or 0, False
    if following is not None and following.counter == decision.counter:
        used, whole = max(used, _base(following) - _base(decision)), True
    return Booked(
        used=used,
        charged=_amount(decision, "charged", Amount(decision.charged_low or 0, decision.charged_high or 0)),
        unexplained=_amount(decision, "unexplained", Amount(0, 0)),
        whole=whole,
    )


def _base(decision: Decision) -> int:
    """What had been counted when the decision's day began."""
    return (decision.counted or 0) - (decision.used or 0)


def _amount(decision: Decision, entry: str, otherwise: Amount) -> Amount:
    told = decision.ledger.get(entry)
    if isinstance(told, list) and len(told) == 2 and all(isinstance(end, int) for end in told):
        return Amount(*told)
    return otherwise
