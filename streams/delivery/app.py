"""A Faust app with this delivery, and how steps are declared on it."""

from __future__ import annotations

import logging

import faust
from faust.tables.manager import TableManager
from faust.types import StreamT
from yarl import URL

from streams.delivery.delivery import Delivery
from streams.delivery.step import Observer, Step
from streams.delivery.table import RawTable
from streams.delivery.transport import BatchTransport
from streams.kafka import faust_credentials


class PromptTables(TableManager):
    """Without Faust's second of waiting for agents: all are declared before the app starts."""

    logger = logging.getLogger("faust.delivery")

    async def on_start(self) -> None:
        if not self.should_stop:
            await self._update_channels()
            await self.recovery.start()


class DeliveryApp(faust.App):
    """Made by `build_app`."""

    logger = logging.getLogger("faust.delivery")
    delivery: Delivery
    fetch_max_wait_ms: int

    def _new_transport(self) -> BatchTransport:
        return BatchTransport(self.conf.broker_consumer, self)

    def _create_directories(self) -> None:
        """None: tables live in memory."""


def build_app(
    name: str,
    *,
    kafka: str,
    partitions: int,
    session_timeout: float = 6.0,
    fetch_max_wait_ms: int = 500,
    commit_interval: float = 1.0,
    observer: Observer | None = None,
) -> DeliveryApp:
    """An app in the consumer group `name`. `partitions`: of all its topics. `session_timeout` in seconds.

    Nothing of it listens on a socket.
    """
    app = DeliveryApp(
        name,
        broker=[URL(f"kafka://{server.strip()}") for server in kafka.split(",")],
        broker_credentials=faust_credentials(),
        store="memory://",
        topic_partitions=partitions,
        table_standby_replicas=0,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=False,
        broker_session_timeout=session_timeout,
        broker_heartbeat_interval=session_timeout / 4,
        broker_rebalance_timeout=30.0,
        broker_commit_interval=commit_interval,
        web_enabled=False,
        autodiscover=False,
        TableManager=PromptTables,
    )
    app.delivery = Delivery(kafka, observer or Observer())
    app.fetch_max_wait_ms = fetch_max_wait_ms
    return app


def deliver(app: DeliveryApp, step: Step) -> None:
    """Declare a step: its Faust agent on its topic, its Faust table for its rows."""
    partitions = app.conf.topic_partitions
    table = RawTable(app, name=step.name, partitions=partitions)
    app.tables.add(table)
    app.delivery.add(step, table)
    topic = app.topic(step.topic, partitions=partitions, key_type=bytes, value_type=bytes)

    @app.agent(topic, name=step.name)
    async def agent(stream: StreamT[bytes]) -> None:  # Faust subscribes to its topic; records take the short way
        async for _ in stream:
            pass
