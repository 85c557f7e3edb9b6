"""What stock Faust agents and tables do with each pitfall: a worker run as a process by test_pitfalls.py.

Usage: stock.py KAFKA GROUP LIFE. In its first life mistakes are made and no Redis is there, in its second one
changelog is out of reach. Prints a line for each record handled, and the state of a topic when `end` comes on it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import faust
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

KAFKA, GROUP, LIFE = sys.argv[1], sys.argv[2], int(sys.argv[3])

app = faust.App(
    GROUP,
    broker=f"kafka://{KAFKA}",
    store="memory://",
    topic_partitions=2,
    broker_session_timeout=2.0,
    broker_heartbeat_interval=0.5,
    broker_commit_interval=3600,  # a commit comes when the story says so
    consumer_auto_offset_reset="earliest",
    stream_wait_empty=False,
    web_enabled=False,
    topic_disable_leader=True,
    table_standby_replicas=0,
)
redis = Redis(host="127.0.0.1", port=1, retry=Retry(NoBackoff(), 0))  # nobody is there


def say(*words: object) -> None:
    os.write(1, f"\n{' '.join(map(str, words))}\n".encode())  # beside what Faust makes of output


def topic(name: str) -> faust.TopicT:
    return app.topic(f"{GROUP}-{name}", value_type=bytes, value_serializer="raw")


def table(name: str, default: object = int) -> faust.Table:
    return app.Table(name, default=default, partitions=2)


tables = {name: table(name) for name in ("p1", "p2", "p3", "p4", "p5", "p8")}
rows = {name: table(name, lambda: [0, -1]) for name in ("p6", "p7")}


def tell(name: str) -> None:
    say("state", name, sum(tables[name].values()))


@app.agent(topic("p1"))
async def p1(stream: faust.StreamT) -> None:
    async for value in stream:
        if value == b"end":
            tell("p1")
        elif value == b"10" and LIFE == 1:
            say("handled", "p1")
            raise TypeError("a mistake in the agent")
        else:
            tables["p1"]["n"] += 1
            say("handled", "p1")


@app.agent(topic("p2"))
async def p2(stream: faust.StreamT) -> None:
    async for values in stream.take(10, within=0.2):
        if b"end" in values:
            tell("p2")
            continue
        say("handled", "p2")
        for _ in values:
            tables["p2"]["n"] += 1


def counting(name: str) -> None:
    @app.agent(topic(name), name=name)
    async def agent(stream: faust.StreamT) -> None:
        async for value in stream:
            if value == b"end":
                tell(name)
            else:
                tables[name]["n"] += 1
                say("handled", name)


def with_offset(name: str) -> None:
    @app.agent(topic(name), name=name)
    async def agent(stream: faust.StreamT) -> None:
        async for event in stream.events():
            count, last = rows[name]["n"]
            if event.value == b"end":
                say("state", name, count)
            elif event.message.offset > last:
                rows[name]["n"] = [count + 1, event.message.offset]
            say("handled", name)


@app.agent(topic("p8"))
async def p8(stream: faust.StreamT) -> None:
    async for value in stream:
        if value == b"end":
            tell("p8")
            continue
        say("handled", "p8")
        if LIFE == 1:
            await redis.set("n", "1")
        tables["p8"]["n"] += 1


@app.agent(topic("die"))
async def die(stream: faust.StreamT) -> None:
    async for life in stream:
        if life == str(LIFE).encode():
            names = {1: ("p1", "p2", "p8"), 2: ("p5",)}[LIFE]
            await app.consumer.commit(topics={f"{GROUP}-{name}" for name in names})
            os.kill(os.getpid(), signal.SIGKILL)


def hold_back(changelog: str) -> None:
    """From now on what is sent there never gets through."""
    send = app.producer.send

    async def held(topic: str, *arguments: object, **options: object) -> object:
        if topic == changelog:
            await asyncio.Event().wait()
        return await send(topic, *arguments, **options)

    app.producer.send = held


for simple in ("p3", "p4", "p5"):
    counting(simple)
for name in rows:
    with_offset(name)


@app.task
async def started() -> None:
    if LIFE == 2:
        hold_back(tables["p5"].changelog_topic_name)
    say("started")


faust.Worker(app, loglevel="WARNING", quiet=True).execute_from_commandline()
