"""Readings and the alert of a stopped poll go to Kafka; every call returns after the acknowledgement."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rules.alerts import Alert, Kind, Severity, alert_id
from rules.calendar import Calendar
from rules.intake.wire import encode
from rules.moment import Millis
from rules.providers.answer import Failure
from rules.records import Reading, Usage
from streams.ship.outbox import Outbox
from streams.ship.parcels import Parcel
from streams.topics import ALERTS_PARTITION, Topics


class Sending:
    """All methods raise NotDelivered."""

    def __init__(self, outbox: Outbox, topics: Topics, calendar: Calendar, clock: Callable[[], Millis]) -> None:
        self._outbox = outbox
        self._topics = topics
        self._calendar = calendar
        self._clock = clock

    async def readings(self, found: Sequence[Reading]) -> None:
        """Keyed by model, so that those of one stay in order."""
        for reading in found:
            origin = f"poll:{reading.source}"
            parcel = Parcel("readings", self._topics.balances, reading.model.encode(), encode(reading), origin)
            await self._outbox.put(parcel)
        await self._outbox.settle()

    async def usage(self, found: Usage) -> None:
        """Keyed by its id, so that a repeat meets its twin."""
        await self._outbox.put(Parcel("usage", self._topics.usage, found.id.encode(), encode(found)))
        await self._outbox.settle()

    async def stopped(self, provider: str, failure: Failure) -> None:
        """One alert a day and cause, however many pollers find out."""
        now = self._clock()
        day = self._calendar.day(now)
        alert = Alert(
            id=alert_id("global", day, f"{Kind.POLL_STOPPED}:{provider}:{failure.code}", 0),
            kind=Kind.POLL_STOPPED,
            severity=Severity.CRITICAL,
            scope="global",
            at=now,
            window=day,
            reason=f"{provider} refuses to be asked for balances: {failure}",
            details={"provider": provider, "code": failure.code},
        )
        value = msgspec.json.encode(alert)
        await self._outbox.put(
            Parcel("alerts", self._topics.alerts, alert.id.encode(), value, partition=ALERTS_PARTITION)
        )
        await self._outbox.settle()
