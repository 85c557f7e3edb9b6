"""What a worker takes over HTTP: events and orders, through one door and with one producer."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from rules.intake.reader import Intake
from rules.policy import Policy
from streams.api.controls import Controls
from streams.api.door import Door
from streams.api.events import Events
from streams.api.sink import Sink
from streams.metrics import Metrics
from streams.orders.archive import Archive
from streams.settings import Settings
from streams.ship.parcels import Addresser
from streams.topics import Topics
from streams.wall_clock import wall_clock


@dataclass(frozen=True, slots=True)
class WaysIn:
    """The handlers behind the door."""

    door: Door
    events: Events
    controls: Controls

    def routes(self) -> list[web.RouteDef]:
        return [*self.events.routes(), *self.controls.routes()]


def ways_in(settings: Settings, policy: Policy, partitions: int, metrics: Metrics) -> WaysIn:
    """All of them, for the senders of a policy."""
    topics, zone = Topics(settings.prefix), policy.calendar().zone
    door, sink = Door(policy.senders.values()), Sink(settings.kafka, partitions)
    archive = Archive(settings.kafka, topics, zone)
    return WaysIn(
        door,
        Events(door, Intake(zone), Addresser(topics), sink, metrics, wall_clock),
        Controls(door, zone, topics, archive, sink, metrics, wall_clock),
    )
