"""One source partition's usage, folded into partials. The same fold runs in the worker, in `replay` and in the
simulator.

Rule 1: every event is decided once (duplicate, too late, in the future, counted), for all scopes alike.
Rule 2: a row takes an event only if its offset lies beyond the row's, so reading a stretch of the log again changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from rules.calendar import Calendar, Day
from rules.clocks import apart
from rules.duplicates import DuplicateWindow
from rules.facts import Minutes, Partial, Sums, Watermark
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.policy import Policy
from rules.records import Reason, Rejected, Usage

# A record may run ahead of the partition's clock by this much: clocks of gateways differ, a wrong year is a mistake.
AHEAD: Millis = 10 * MINUTE
MINUTES_AN_HOUR = 60
# Of one (model, day): a row must fit into a message, whatever keys a gateway makes up. Further keys seed nothing.
SEEDS_KEPT = 1_000
LONGEST_KEY_HASH = 64


class MeterCounts(Struct):
    """What became of the events, for metrics."""

    counted: int = 0
    duplicates: int = 0
    rejected: int = 0


class MeterClock(Struct):
    """A partition's own time: `now` is the latest instant its records vouch for, `since` is where complete metering
    began."""

    now: Millis | None = None
    since: Millis | None = None


class PartitionMeter:
    """The fold over one source partition. `incarnation` grows when the log under the offsets was replaced."""

    def __init__(
        self, partition: int, policy: Policy, incarnation: int = 0, window: DuplicateWindow | None = None
    ) -> None:
        self.partition = partition
        self.incarnation = incarnation
        self.clock = MeterClock()
        self.counts = MeterCounts()
        self.apart: Millis = 0  # seen since the last watermark was told
        self.duplicates = window if window is not None else DuplicateWindow()
        self.adopt(policy)
        self._partials: dict[tuple[str, Day], Partial] = {}
        self._minutes: dict[tuple[str, int], Minutes] = {}
        self._changed: dict[int, Partial | Minutes] = {}  # by identity: cheaper than a key for every event

    def adopt(self, policy: Policy) -> None:
        """Count what comes from now on under this policy; the accounting day must be the same."""
        self._policy = policy
        self._calendar: Calendar = policy.calendar()
        self._guards = frozenset(name for name, gateway in policy.gateways.items() if gateway.guard)

    def restore(self, rows: Iterable[Partial | Minutes], clock: MeterClock) -> None:
        """Take up the rows of an earlier life. All of them count as changed: the one before may have died before it
        told."""
        self.clock = clock
        for row in rows:
            if isinstance(row, Partial):
                self._partials[row.scope.removeprefix("model:"), row.day] = row
            else:
                self._minutes[row.scope.removeprefix("model:"), row.hour] = row
            self._changed[id(row)] = row

    def tick(self, now: Millis) -> None:
        """The partition's clock reaches `now`; it never goes back."""
        if self.clock.since is None:
            self.clock.since = now
        if self.clock.now is None or now > self.clock.now:
            self.clock.now = now

    def fold(self, offset: int, usage: Usage) -> Rejected | None:
        """Count one event. What is refused comes back with the reason and has changed nothing."""
        refused = self._refuse(usage.at)
        if refused is not None:
            self.counts.rejected += 1
            return refused
        if self.duplicates.seen(usage.id, offset):
            self.counts.duplicates += 1
            return None
        self.counts.counted += 1
        model = self._policy.canonical(usage.model)
        tokens = 0 if usage.cache_hit else usage.total_tokens
        self._count(self._partial(model, self._calendar.day(usage.at)), offset, usage, tokens)
        if tokens:
            self._count_minute(self._hour(model, usage.at // HOUR), offset, usage.at, tokens)
        return None

    def take_changes(self) -> list[Partial | Minutes]:
        """The rows changed since the last call, each absolute and a copy: the fold goes on in the originals."""
        changed = [row.snapshot() for row in self._changed.values()]
        self._changed.clear()
        return changed

    def pending(self) -> list[Partial | Minutes]:
        """The same without taking them: what a restart would need before they are told."""
        return [row.snapshot() for row in self._changed.values()]

    def forget(self) -> list[str]:
        """Drop rows that no event can reach any more; returns their keys."""
        if self.clock.now is None:
            return []
        oldest_day = self._calendar.day(self.clock.now - (self._policy.close_after_days + 1) * DAY)
        oldest_hour = (self.clock.now - self._longest_lag()) // HOUR - 2
        days = [at for at, row in self._partials.items() if row.day < oldest_day]
        hours = [at for at, row in self._minutes.items() if row.hour < oldest_hour]
        return [self._partials.pop(at).key for at in days] + [self._minutes.pop(at).key for at in hours]

    def watermark(self, position: int, at: Millis) -> Watermark:
        """What this partition vouches for once `position` is reached."""
        since = self.clock.since if self.clock.since is not None else at
        return Watermark("usage", self.partition, self.incarnation, position, at, since, self.apart)

    def compare(self, at: Millis, received: Millis) -> None:
        """Note how the time of an event stands to its receipt; one in a batch is enough. What is older than metering
        was sent in late."""
        ahead = apart(at, received)
        if ahead and at >= (self.clock.since or 0):
            self.apart = ahead

    def _refuse(self, at: Millis) -> Rejected | None:
        now = self.clock.now
        if now is None:
            return None
        if at > now + AHEAD:
            return Rejected(Reason.IN_FUTURE, f"the event is {(at - now) // MINUTE} min ahead of the clock")
        if at < now - self._policy.close_after_days * DAY and self._closed(at, now):
            return Rejected(
                Reason.TOO_LATE, f"its day {self._calendar.day(at)} was closed {self._policy.close_after_days} days ago"
            )
        return None

    def _closed(self, at: Millis, now: Millis) -> bool:
        return self._calendar.end(self._calendar.day(at)) <= now - self._policy.close_after_days * DAY

    def _longest_lag(self) -> Millis:
        return max(terms.lag_ceiling for terms in (self._policy.default, *self._policy.models.values()))

    def _partial(self, model: str, day: Day) -> Partial:
        row = self._partials.get((model, day))
        if row is None:
            row = self._partials[model, day] = Partial(
                f"model:{model}", self.partition, day, self.incarnation, -1, Sums()
            )
        return row

    def _hour(self, model: str, hour: int) -> Minutes:
        row = self._minutes.get((model, hour))
        if row is None:
            row = Minutes(f"model:{model}", self.partition, hour, self.incarnation, -1, [0] * MINUTES_AN_HOUR)
            self._minutes[model, hour] = row
        return row

    def _count(self, row: Partial, offset: int, usage: Usage, tokens: int) -> None:
        if not self._advance(row, offset):
            return
        sums = row.sums
        sums.requests += 1
        sums.tokens += tokens
        if usage.cache_hit:
            sums.cache_hits += 1
        else:
            sums.prompt += usage.prompt_tokens
            sums.completion += usage.completion_tokens
            sums.cached += usage.cached_tokens
        sums.failed += usage.status != "success"
        sums.estimated += usage.estimated
        if usage.source in self._guards:
            sums.guarded += tokens
        if usage.today is not None:
            self._seed(row.seeds, usage.key_hash, max(0, usage.today - usage.total_tokens))

    def _seed(self, seeds: dict[str, int], key_hash: str, start: int) -> None:
        if key_hash in seeds:
            seeds[key_hash] = min(start, seeds[key_hash])
        elif len(seeds) < SEEDS_KEPT and len(key_hash) <= LONGEST_KEY_HASH:
            seeds[key_hash] = start

    def _count_minute(self, row: Minutes, offset: int, at: Millis, tokens: int) -> None:
        if self._advance(row, offset):
            row.tokens[at // MINUTE % MINUTES_AN_HOUR] += tokens

    def _advance(self, row: Partial | Minutes, offset: int) -> bool:
        """Move the row's last offset; false if the row has this offset in it already."""
        if row.incarnation == self.incarnation and offset <= row.offset:
            return False
        row.incarnation, row.offset = self.incarnation, offset
        self._changed[id(row)] = row
        return True
