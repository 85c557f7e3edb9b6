"""The floor under every latency here: a bare consumer that sees probes of one partition come by.

python -m bench.listener KAFKA TOPIC MAX_WAIT_MS LAST_PROBE FILE
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition

from bench.probes import PREFIX

MARK = PREFIX.encode()


async def main(kafka: str, topic: str, max_wait: int, last: int, file: str) -> None:
    seen: dict[int, float] = {}
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, fetch_max_wait_ms=max_wait, auto_offset_reset="latest")
    await consumer.start()
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    await consumer.position(partition)
    print("listening", flush=True)
    while last not in seen:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            now = time.time()
            seen |= {int(each.key[len(MARK) :]): now for each in records if each.key.startswith(MARK)}
    Path(file).write_text(json.dumps(seen))  # noqa: ASYNC240 - all is over
    await consumer.stop()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
