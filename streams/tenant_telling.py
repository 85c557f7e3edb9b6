"""A partition's tenant sheets on their way: a day's sums to judges, sheets to the roll-ups, rows to the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rules.alerts import Alert, Kind, Severity, alert_id
from rules.calendar import Day
from rules.facts import Tally
from rules.moment import Millis
from rules.rollup import Part
from rules.sheet_keeping import SheetKeeper
from rules.tenant_sheets import MOST_TENANTS, TenantSheets
from streams.alert_records import to_output
from streams.delivery.step import Output
from streams.facts_topic import FactsTopic
from streams.topics import Topics, facts_partition


class TenantTelling:
    """What the meter tells of tenants. Their rows are kept with every position, the rest may wait for a tick."""

    def __init__(self, partition: int, sheets: TenantSheets, facts: FactsTopic, topics: Topics) -> None:
        self._keeper = SheetKeeper(partition, sheets, facts.partitions)
        self._facts = facts
        self._sheets = sheets
        self._topic = topics.sheets
        self._alerts = topics.alerts
        self._outputs: list[Output] = []

    def restore(self, rows: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take up the rows that are ours; answers the others."""
        own = {name: row for name, row in rows.items() if self._keeper.owns(name)}
        self._keeper.restore(own)
        self._outputs = [self._tally(tally) for tally in self._keeper.tell_all()]
        return {name: row for name, row in rows.items() if name not in own}

    def gather(self, now: Millis) -> dict[str, Any]:
        """The rows that changed since the last call."""
        told = self._keeper.flush()
        self._outputs += [self._tally(tally) for tally in told.tallies]
        self._outputs += [self._part(part) for part in told.parts]
        self._outputs += [to_output(self._alerts, crowded(day, now)) for day in self._sheets.newly_crowded()]
        return {name: None if row is None else msgspec.Raw(msgspec.json.encode(row)) for name, row in told.rows.items()}

    def take(self) -> list[Output]:
        """What is to be sent."""
        taken, self._outputs = self._outputs, []
        return taken

    def drop_before(self, day: Day) -> dict[str, None]:
        """Forget days that no call can reach any more."""
        return self._keeper.drop_before(day)

    def _tally(self, tally: Tally) -> Output:
        partition = tally.group % self._facts.partitions
        return Output(self._facts.name, partition, tally.key.encode(), msgspec.json.encode(tally))

    def _part(self, part: Part) -> Output:
        partition = facts_partition(f"tenant:{part.tenant}", self._facts.partitions)
        return Output(self._topic, partition, part.key.encode(), msgspec.json.encode(part))


def crowded(day: Day, now: Millis) -> Alert:
    """More tenants than there is room for: told once a day, whichever partition finds it."""
    reason = f"{day} has more than {MOST_TENANTS:,} tenants in one partition: the others are counted together"
    return Alert(
        id=alert_id("engine", day, Kind.TENANTS_CROWDED.value, 0),
        kind=Kind.TENANTS_CROWDED,
        severity=Severity.WARNING,
        scope="engine",
        at=now,
        window=day,
        reason=reason,
    )
