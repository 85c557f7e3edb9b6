"""A Faust agent as its documentation writes them, at its fastest: raw bytes, msgspec, sums in no table."""

from __future__ import annotations

import os
import sys
from collections import Counter

import faust
import msgspec
from faust.types import StreamT

from bench.consumers.measure import Stopwatch

kafka, topic_name, partitions, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


class Call(msgspec.Struct):
    """What is summed."""

    model: str
    total_tokens: int


app = faust.App(
    f"stock-{topic_name}",
    broker=f"kafka://{kafka}",
    store="memory://",
    topic_partitions=partitions,
    topic_disable_leader=True,
    consumer_auto_offset_reset="earliest",
    stream_wait_empty=False,
    broker_session_timeout=6.0,
    broker_heartbeat_interval=1.5,
    web_enabled=False,
)
topic = app.topic(topic_name, value_serializer="raw")
decode, sums, watch = msgspec.json.Decoder(Call).decode, Counter[str](), Stopwatch(wanted)


@app.agent(topic)
async def count(stream: StreamT[bytes]) -> None:
    """Sum by model."""
    async for value in stream:
        call = decode(value)
        sums[call.model] += call.total_tokens
        if watch.take(1):
            watch.report()
            os._exit(0)  # enough is known; leaving the group takes seconds


faust.Worker(app, loglevel="ERROR", quiet=True, redirect_stdouts=False).execute_from_commandline()
