"""The two kinds of usage events, by number: the same number is the same event, so every run reads the same log."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from rules.moment import Millis, to_rfc3339
from rules.policy import Policy

EVENTS_A_SECOND = 4_000  # of the clock inside the events, whatever the speed at which they are read
VARIETY = 10_007  # a prime: choices repeat after so many events, and not in step with anything else
REPEATED = 200  # of workload B every 200th event is one that was sent before
BEHIND = 104  # events between twins; a multiple of every number of partitions in use, as twins share theirs

_ZONE = Policy().calendar().zone


@dataclass(frozen=True, slots=True)
class Workload:
    """How to write event `number` that ended at the instant `at`."""

    name: str
    models: int
    write: Callable[[int, Millis], bytes]
    tokens: Callable[[int], int]
    repeats: bool = False

    def event(self, number: int, at: Millis) -> tuple[bytes, bytes]:
        """Key and value."""
        return b"req-%012d" % number, self.write(number, at)

    def original(self, number: int) -> int:
        """The number of the event that stands at this place."""
        return number - BEHIND if self.repeats and number % REPEATED == REPEATED - 1 else number


def written(at: Millis, cache: dict[int, str]) -> bytes:
    """The instant as it stands in an event; the text of a second is made once."""
    second, millis = divmod(at, 1000)
    text = cache.get(second)
    if text is None:
        text = cache[second] = to_rfc3339(second * 1000, _ZONE)
    return f"{text[:20]}{millis:03d}{text[23:]}".encode()


def zipf(choices: int, seed: int) -> list[int]:
    """`VARIETY` choices of which the n-th is 1/n as likely as the first."""
    weights = list(accumulate(1 / (n + 1) for n in range(choices)))
    return random.Random(seed).choices(range(choices), cum_weights=weights, k=VARIETY)


def sums_only() -> Workload:
    """A: 32 models, nothing but what is summed. 180 bytes an event."""
    seconds: dict[int, str] = {}

    def write(number: int, at: Millis) -> bytes:
        return (
            b'{"type":"usage","id":"req-%012d","ts":"%b","model":"model-%02d","prompt_tokens":1200,'
            b'"completion_tokens":%d,"total_tokens":%d,"source":"gate"}'
        ) % (number, written(at, seconds), number % 32, number % 300, 1200 + number % 300)

    return Workload("A", 32, write, lambda number: 1200 + number % 300)


def everything(models: int = 50) -> Workload:
    """B: many models and 5,000 tenants of very different size, with departments, users and knowledge bases; repeats."""
    seconds: dict[int, str] = {}
    names, tenants, users = zipf(models, 1), zipf(5_000, 2), zipf(40, 3)

    def write(number: int, at: Millis) -> bytes:
        tenant, user = tenants[number % VARIETY], users[number * 7 % VARIETY]
        return (
            b'{"type":"usage","id":"req-%012d","ts":"%b","model":"model-%02d","tenant":"tenant-%04d",'
            b'"department":"department-%d","user":"user-%04d-%02d","knowledge_base":"kb-%d","key_hash":"%08x",'
            b'"prompt_tokens":1200,"completion_tokens":%d,"total_tokens":%d,"cached_tokens":%d,"status":"%b",'
            b'"cache_hit":false,"source":"gate"}'
        ) % (
            number, written(at, seconds), names[number * 3 % VARIETY], tenant, user % 7, tenant, user, user % 5,
            tenant * 2_654_435_761 % 0xFFFFFFFF, number % 300, 1200 + number % 300, number % 1000,
            b"error" if number % 97 == 0 else b"success",
        )  # fmt: skip

    return Workload("B", models, write, lambda number: 1200 + number % 300, repeats=True)


WORKLOADS = {"A": sums_only, "B": everything}
