"""What travels on the internal `facts` topic, keyed so that compaction keeps every partial.

A partial is an absolute sum, never an increment: the higher (incarnation, offset) of a source partition wins, the
total is the sum over partitions. That is a G-counter, so replays, restarts, re-cut batches and zombies change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from rules.calendar import Calendar, Day
from rules.moment import HOUR, MINUTE, Millis
from rules.records import Calibration, Control, Reading

Scope = str
"""`model:<name>`, `tenant:<name>`, `user:<tenant>/<name>`, `ip:<net>` or `global`."""

GLOBAL: Scope = "global"

METERED = ("model", "tenant")
"""Kinds of scope that have partials."""


def kind_of(scope: Scope) -> str:
    """model, tenant, user, ip or global."""
    return scope.partition(":")[0]


MINUTES = "minutes|"
HEARD_SLOTS = 65_536
# Of one (model, day): a row must fit into a message, whatever keys a gateway makes up. Further keys say nothing.
SEEDS_KEPT = 1_000
# A gateway may count a call on the other side of midnight than its line says.
AROUND_MIDNIGHT: Millis = 5 * MINUTE


class Sums(Struct, array_like=True):
    """Whole-number sums over the distinct usage events of one (source partition, scope, day)."""

    tokens: int = 0  # what counts against a pool; a cache hit adds none
    requests: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_hits: int = 0
    failed: int = 0
    estimated: int = 0
    guarded: int = 0  # the part of `tokens` that came from gateways declared `guard: true`
    saved: int = 0  # tokens of answers that a cache gave; counted by tenant only

    def add(self, more: Sums) -> None:
        """Add other events' sums, field by field."""
        self.tokens += more.tokens
        self.requests += more.requests
        self.prompt += more.prompt
        self.completion += more.completion
        self.cached += more.cached
        self.cache_hits += more.cache_hits
        self.failed += more.failed
        self.estimated += more.estimated
        self.guarded += more.guarded


class Told(Struct, frozen=True, array_like=True):
    """The newest running total of the day that a gateway told, and what was counted of the calls that told one."""

    at: Millis
    today: int
    counted: int


class Partial(Struct, tag="partial", tag_field="type"):
    """The sums of one source partition for a scope and day, up to and including `offset`."""

    scope: Scope
    partition: int
    day: Day
    incarnation: int
    offset: int
    sums: Sums
    seeds: dict[
        str, int
    ] = {}  # key hash -> smallest `today - tokens` seen: what a gateway had counted before metering began
    told: dict[str, Told] = {}  # by key hash as well
    unplaced: int = 0  # the part of `sums.tokens` whose minutes are not told yet; they follow within a second

    @property
    def key(self) -> str:
        return f"{self.scope}|{self.partition}|{self.day}"

    def snapshot(self) -> Partial:
        """A copy that shares nothing that changes."""
        return replace(self, sums=replace(self.sums), seeds=dict(self.seeds), told=dict(self.told))


class Tally(Struct, tag="tally", tag_field="type"):
    """What tenants used on a day, in one source partition up to and including `offset`: a partial for each of a group.

    `tenants`: tokens, requests, cached, cache hits, guarded, saved.
    """

    partition: int
    day: Day
    group: int
    incarnation: int
    offset: int
    tenants: dict[str, list[int]]

    @property
    def key(self) -> str:
        return f"tally|{self.partition}|{self.day}|{self.group}"

    def partials(self, known: Mapping[str, list[int]] = MappingProxyType({})) -> Iterator[Partial]:
        """One by one, without those whose sums are `known`."""
        for tenant, amounts in self.tenants.items():
            if known.get(tenant) == amounts:
                continue
            tokens, requests, cached, hits, guarded, saved = amounts
            sums = Sums(tokens, requests, cached=cached, cache_hits=hits, guarded=guarded, saved=saved)
            yield Partial(f"tenant:{tenant}", self.partition, self.day, self.incarnation, self.offset, sums)


class Minutes(Struct, tag="minutes", tag_field="type"):
    """Tokens of a model by minute in one hour of the epoch (`hour * 3_600_000` ms is its start), up to and including
    `offset`."""

    scope: Scope
    partition: int
    hour: int
    incarnation: int
    offset: int
    tokens: list[int]  # 60 sums

    @property
    def key(self) -> str:
        return f"{MINUTES}{self.scope}|{self.partition}|{self.hour}"

    def snapshot(self) -> Minutes:
        """A copy that shares nothing that changes."""
        return replace(self, tokens=list(self.tokens))


class Watermark(Struct, tag="watermark", tag_field="type"):
    """A source partition has been read up to `position`, and everything before the instant `at` has arrived.

    `since`: usage of this partition is complete from there on (a gap moves it forward). None of the three goes back.
    `apart`: by how much times of usage differed from its receipt since the last one (`rules.clocks`).
    """

    source: str  # usage, balances, controls
    partition: int
    incarnation: int
    position: int
    at: Millis
    since: Millis
    apart: Millis = 0

    @property
    def key(self) -> str:
        return f"watermark|{self.source}|{self.partition}"


class Charge(Struct, frozen=True, tag="charge", tag_field="type", kw_only=True):
    """What a model's day costs, for the scope `global`: absolute, and the one with the higher version counts. Money is
    in nano-units: `list` for every token, `charged` for those beyond the free pool, `apart_…` for what no guarding
    gateway told."""

    model: str
    day: Day
    version: tuple[int, int] = (0, 0)  # as of a decision: a former owner's never wins
    charged_low: int = 0  # tokens
    charged_high: int = 0
    cost_low: int = 0
    cost_charged: int = 0
    cost_list: int = 0
    apart_charged: int = 0
    apart_list: int = 0
    assumed: bool = False  # the model has no price: the policy's assumption

    @property
    def scope(self) -> Scope:
        return GLOBAL

    @property
    def key(self) -> str:
        return f"{GLOBAL}|model:{self.model}|{self.day}"


class Heard(Struct, tag="heard", tag_field="type"):
    """A reading, calibration or control, with the place in Kafka (or a file) where it stood."""

    scope: Scope
    record: Reading | Calibration | Control
    origin: str  # topic/partition/offset
    received: Millis | None = None  # None: a recording, which says nothing of it

    @property
    def key(self) -> str:
        # A ring per source partition: the compacted topic stays bounded, and nothing is overwritten that a judge still
        # has to read.
        source, offset = self.origin.rsplit("/", 1)
        return f"heard|{source}|{int(offset) % HEARD_SLOTS}"


Timed = Partial | Minutes | Tally | Watermark | Heard
"""What comes from outside and has its place in time."""

Stored = Partial | Minutes | Tally | Watermark | Charge
"""What is absolute, and stored as it was merged."""

Fact = Stored | Heard


def leaving(keys: Iterable[str], calendar: Calendar) -> Iterator[str]:
    """The keys that leave the topic when a judge lets go of these rows.

    Minutes stay there as long as the sums of their day: without them a judge that begins anew could not tell when those
    were used, and would allow less for a while. An hour that two days share goes with the later one.
    """
    for key in keys:
        if key.startswith(MINUTES):
            continue
        yield key
        if kind_of(key) == "model":
            scope, partition, day = key.rsplit("|", 2)
            hours = range(calendar.start(day) // HOUR, calendar.end(day) // HOUR)
            yield from (f"{MINUTES}{scope}|{partition}|{hour}" for hour in hours)
