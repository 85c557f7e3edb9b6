"""Our worker reading a filled log: from outside, as a process of its own, by the metrics it shows anyway."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from bench.processes import ConsumerFailed, cpu_seconds, module, peak_mb
from streams.embedded import redis_server
from streams.embedded.children import Child
from streams.embedded.server import HOST, free_port

LOOK_EVERY = 0.5  # seconds
SETTLE_SECONDS = 3.0
FROM, TO = 0.1, 0.9  # of the log: the part that is measured, without start and end
LEAST_LOOKS = 3

COUNTER = "blastdoor_records_total"
_HANDLED = re.compile(rf'^{COUNTER}\{{step="meter"\}} ([0-9.e+]+)$'.encode(), re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Look:
    """All workers at an instant."""

    at: float
    handled: tuple[int, ...]  # by each
    cpu: float
    broker_cpu: float

    @property
    def events(self) -> int:
        return sum(self.handled)


@dataclass(frozen=True, slots=True)
class Reading:
    """How fast workers read a log together."""

    rate: float
    cpu_per_million: float
    broker_cpu_per_million: float
    peak_mb: float  # of one worker


class Workers:
    """Started workers in one group."""

    def __init__(self, children: Sequence[tuple[Child, str]], redis: str) -> None:
        self._children = children
        self.redis = redis

    def handled(self) -> tuple[int, ...]:
        """Usage events handled so far by each."""
        return tuple(self._handled(child, address) for child, address in self._children)

    def wait_for(self, events: int, within: float = 120.0) -> None:
        """Until so many usage events have been handled, and a moment longer."""
        deadline = time.monotonic() + within
        while sum(self.handled()) < events:
            self.check(time.monotonic() < deadline)
            time.sleep(LOOK_EVERY)
        time.sleep(SETTLE_SECONDS)

    def look(self, broker: int) -> Look:
        cpu = sum(cpu_seconds(child.pid) for child, _ in self._children)
        return Look(time.monotonic(), self.handled(), cpu, cpu_seconds(broker))

    @property
    def peak_mb(self) -> float:
        return max(peak_mb(child.pid) for child, _ in self._children)

    def _handled(self, child: Child, address: str) -> int:
        self.check(child.returncode is None)
        found = _HANDLED.search(_get(f"http://{address}/metrics?name[]={COUNTER}") or b"")
        return int(float(found[1])) if found else 0

    def check(self, well: bool) -> None:
        """Raises ConsumerFailed with what the workers wrote last unless all is well."""
        if not well:
            raise ConsumerFailed("\n".join(f"{child.name}: {child.tail(40)}" for child, _ in self._children))


@contextmanager
def working(kafka: str, prefix: str, policy: str, count: int = 1, counting: str = "auto") -> Iterator[Workers]:
    """`count` workers on a Redis of their own, stopped one after another (the embedded broker needs that)."""
    with TemporaryDirectory(prefix="blastdoor-bench-") as directory:
        path = Path(directory) / "policy.yaml"
        path.write_text(policy)
        store = redis_server.start()
        url = redis_server.url(store)
        children = [_start(number, kafka, url, prefix, path, counting) for number in range(count)]
        try:
            yield Workers(children, url)
        finally:
            for child, _ in children:
                child.stop(patience=20)
            store.child.stop()


def measure(workers: Workers, events: int, broker: int, within: float = 180.0) -> Reading:
    """The speed in the middle of the log, while all are at work."""
    looks: list[Look] = []
    deadline = time.monotonic() + within
    while not looks or looks[-1].events < events:
        time.sleep(LOOK_EVERY)
        looks.append(workers.look(broker))
        workers.check(time.monotonic() < deadline)
    middle = [look for look in looks if FROM * events <= look.events <= TO * events and all(look.handled)]
    if len(middle) < LEAST_LOOKS:
        raise ConsumerFailed(f"{events:,} events were read within {len(middle)} looks: too few to tell a speed")
    first, last = middle[0], middle[-1]
    millions = (last.events - first.events) / 1e6
    return Reading(
        rate=millions * 1e6 / (last.at - first.at),
        cpu_per_million=(last.cpu - first.cpu) / millions,
        broker_cpu_per_million=(last.broker_cpu - first.broker_cpu) / millions,
        peak_mb=workers.peak_mb,
    )


def _start(number: int, kafka: str, redis: str, prefix: str, policy: Path, counting: str) -> tuple[Child, str]:
    address = f"{HOST}:{free_port()}"
    argv = module("streams", "worker", "--kafka", kafka, "--redis", redis, "--http", address)
    return Child(
        f"worker-{number}", [*argv, "--prefix", prefix, "--policy", str(policy), "--counting", counting]
    ), address


def _get(url: str) -> bytes | None:
    try:
        with urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return bytes(answer.read())
    except (URLError, OSError):
        return None
