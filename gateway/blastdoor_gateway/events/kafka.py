"""Events to Kafka, by aiokafka: the extra `kafka`."""

from __future__ import annotations

import asyncio
from typing import Any

from blastdoor_gateway.events.outbox import Batch


class KafkaCarrier:
    """Connects when the first event comes. `servers`: host:port,…"""

    def __init__(self, servers: str, topic: str = "blastdoor.usage", **options: Any) -> None:
        self._servers = servers
        self._topic = topic
        self._options = options  # of aiokafka's producer: security_protocol, sasl_…, ssl_context
        self._producer: Any = None

    async def deliver(self, batch: Batch) -> None:
        producer = await self._connected()
        sent = [await producer.send(self._topic, value, key=key) for key, value in batch]
        await asyncio.gather(*sent)

    async def close(self) -> None:
        if self._producer is not None:
            await self._producer.stop()

    async def _connected(self) -> Any:
        if self._producer is None:
            from aiokafka import AIOKafkaProducer  # noqa: PLC0415  (an extra)

            producer = AIOKafkaProducer(
                bootstrap_servers=self._servers, acks="all", linger_ms=5, request_timeout_ms=10_000, **self._options
            )
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            self._producer = producer
        return self._producer
