"""What a worker takes and shows over HTTP: events and orders with one producer, and what may be looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web
from blastdoor_gateway.contract import Keys

from rules.intake.reader import Intake
from rules.moment import Millis
from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.api.controls import Controls
from streams.api.door import Door
from streams.api.events import Events
from streams.api.explained import Reasons
from streams.api.pages import page_routes
from streams.api.sink import Sink
from streams.api.views import Views
from streams.explaining.history import History
from streams.metrics import Metrics
from streams.orders.archive import Archive
from streams.publish.client import open_redis
from streams.settings import Settings
from streams.ship.parcels import Addresser
from streams.topics import Topics
from streams.usage.decided import Decided
from streams.usage.index import RollupIndex
from streams.wall_clock import wall_clock


@dataclass(frozen=True, slots=True)
class WaysIn:
    """The handlers behind the door."""

    door: Door
    events: Events
    controls: Controls
    views: Views
    index: RollupIndex
    decided: Decided

    def routes(self) -> list[web.RouteDef]:
        return [*self.events.routes(), *self.controls.routes(), *self.views.routes(), *page_routes()]

    async def close(self) -> None:
        """Send what is under way, and let go of connections."""
        await self.events.close()
        await self.index.close()
        await self.decided.close()


def ways_in(
    settings: Settings,
    policy: Policy,
    rulebook: Rulebook,
    partitions: int,
    metrics: Metrics,
    complete_until: Callable[[], Millis | None],
) -> WaysIn:
    """All of them, for the senders and viewers of a policy. `complete_until`: how far usage has been metered."""
    topics, zone = Topics(settings.prefix), policy.calendar().zone
    door, sink = Door(policy.senders.values()), Sink(settings.kafka, partitions)
    archive = Archive(settings.kafka, topics, zone)
    index = RollupIndex(settings.kafka, topics.rollups, partitions)
    decided = Decided(open_redis(settings.redis), Keys(settings.prefix, settings.legacy_prefix))
    reasons = Reasons(History(settings.kafka, topics, event_clock=settings.event_clock))
    return WaysIn(
        door,
        Events(door, Intake(zone), Addresser(topics), sink, metrics, wall_clock),
        Controls(door, zone, topics, archive, sink, metrics, wall_clock),
        Views(policy, rulebook, index, decided, reasons, metrics, wall_clock, complete_until),
        index,
        decided,
    )
