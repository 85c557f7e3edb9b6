"""The way to the engine that the settings name."""

from __future__ import annotations

from blastdoor_gateway.events.http import HttpCarrier
from blastdoor_gateway.events.kafka import KafkaCarrier
from blastdoor_gateway.events.outbox import Outbox
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.settings import Settings


def outbox_from(settings: Settings, observer: Observer | None) -> Outbox | None:
    """Kafka where it is named, else the HTTP intake, else none: then nobody is told of usage. Raises ConfigError."""
    if settings.kafka:
        topic, options = f"{settings.gate.prefix}.usage", settings.security.options()
        return Outbox(KafkaCarrier(settings.kafka, topic, **options), observer)
    if settings.intake:
        return Outbox(HttpCarrier(settings.intake, settings.token), observer)
    return None
