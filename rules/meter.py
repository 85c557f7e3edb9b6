"""One source partition's usage, folded into partials. The same fold runs in the worker, in `replay` and in the
simulator.

Rule 1: every event is decided once (duplicate, too late, in the future, counted), for all scopes alike.
Rule 2: a row takes an event only if its offset lies beyond the row's, so reading a stretch of the log again changes
nothing.
Rule 3: how the log is cut into batches changes nothing. A row names the offset of the last event in it, so what is told
again after a crash is at most what was told before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import TypeVar

from msgspec import Struct

from rules.calendar import Calendar, Day
from rules.calls import Call
from rules.clocks import apart
from rules.duplicates import DuplicateWindow, Window
from rules.facts import AROUND_MIDNIGHT, SEEDS_KEPT, Minutes, Partial, Sums, Told, Watermark
from rules.lots import Lot, Total
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.policy import Policy
from rules.records import Reason, Rejected, Usage
from rules.tenant_sheets import TenantSheets

# A record may run ahead of the partition's clock by this much: clocks of gateways differ, a wrong year is a mistake.
AHEAD: Millis = 10 * MINUTE
MINUTES_AN_HOUR = 60
LONGEST_KEY_HASH = 64
SUCCEEDED = (None, "success")
Item = TypeVar("Item")


class MeterCounts(Struct):
    """What became of the events, for metrics."""

    counted: int = 0
    duplicates: int = 0
    rejected: int = 0
    differing: int = 0  # of the duplicates: those with other tokens or another model than the event before


class MeterClock(Struct):
    """A partition's own time: `now` is the latest instant its records vouch for, `since` is where complete metering
    began."""

    now: Millis | None = None
    since: Millis | None = None


class PartitionMeter:
    """The fold over one source partition. `incarnation` grows when the log under the offsets was replaced. `by_tenant`:
    whether usage is wanted by tenant, too."""

    def __init__(
        self,
        partition: int,
        policy: Policy,
        incarnation: int = 0,
        window: Window | None = None,
        tenants: TenantSheets | None = None,
        *,
        by_tenant: bool = True,
    ) -> None:
        self.partition = partition
        self.incarnation = incarnation
        self.clock = MeterClock()
        self.counts = MeterCounts()
        self.apart: Millis = 0  # seen since the last watermark was told
        self.duplicates: Window = window if window is not None else DuplicateWindow()
        self.tenants = tenants if tenants is not None else TenantSheets()
        self._by_tenant = by_tenant
        self.adopt(policy)
        self._partials: dict[tuple[str, Day], Partial] = {}
        self._minutes: dict[tuple[str, int], Minutes] = {}
        self._changed: dict[int, Partial | Minutes] = {}  # by identity: cheaper than a key for every event
        self._untold: dict[int, Partial] = {}  # of those, what `take_partials` has not given yet
        self._highest = -1  # offset of this incarnation in any row

    def adopt(self, policy: Policy) -> None:
        """Count what comes from now on under this policy; the accounting day must be the same."""
        self._policy = policy
        self._calendar: Calendar = policy.calendar()
        self._guards = frozenset(name for name, gateway in policy.gateways.items() if gateway.guard)
        self.tenants.adopt(policy.tenants, self._guards)

    def restore(self, rows: Iterable[Partial | Minutes], clock: MeterClock) -> None:
        """Take up the rows of an earlier life. All of them count as changed: the one before may have died before it
        told."""
        self.clock = clock
        for row in rows:
            if isinstance(row, Partial):
                self._partials[row.scope.removeprefix("model:"), row.day] = row
                self._untold[id(row)] = row
            else:
                self._minutes[row.scope.removeprefix("model:"), row.hour] = row
            self._changed[id(row)] = row
            if row.incarnation == self.incarnation:
                self._highest = max(self._highest, row.offset)

    def tick(self, now: Millis) -> None:
        """The partition's clock reaches `now`; it never goes back."""
        if self.clock.since is None:
            self.clock.since = now
        if self.clock.now is None or now > self.clock.now:
            self.clock.now = now

    def fold(self, offset: int, usage: Usage) -> Rejected | None:
        """Count one event. What is refused comes back with the reason and has changed nothing."""
        return self._fold(offset, usage, usage.at)

    def fold_batch(
        self, offsets: Sequence[int], calls: Sequence[Call], ats: Sequence[Millis], times: Sequence[Millis] = ()
    ) -> list[tuple[int, Rejected]]:
        """Count events in the order of the log; answers those refused, by their index.

        `ats`: when each call ended. `times`: what the clock reaches before each of them; without it the clock stands.
        """
        sent = (times[0], max(times)) if times else None
        if not self._is_plain(offsets[0], min(ats), max(ats), sent):
            return list(self._fold_singly(offsets, calls, ats, times))
        for time in sent or ():
            self.tick(time)
        self._take(offsets, calls, ats)
        return []

    def fold_lot(self, lot: Lot) -> bool:
        """Count a lot that is read already. False: nothing was done, as it has to be looked at call by call."""
        day = self._calendar.day(lot.first)
        plain = self._is_plain(lot.offsets[0], lot.first, lot.last, lot.sent)
        if not plain or self._calendar.day(lot.last) != day:
            return False
        for time in lot.sent or ():
            self.tick(time)
        unread = self._by_tenant and not self.tenants.has(self.incarnation, lot.offsets[0])
        counted = lot.count(day if unread else None, self._policy.canonical)
        for model, minute, offset, sums in counted.groups:
            self._add(model, day, minute, sums, offset)
        for total in counted.totals:
            self._compare_totals(self._partial(total.model, day), total)
        self._note_outcomes(len(lot.offsets) - counted.duplicates, counted.duplicates, counted.differing)
        self._reach(lot.offsets[-1])
        return True

    def take_partials(self) -> list[Partial]:
        """The sums changed since they were last taken, here or with all rows. The fold goes on in them."""
        changed, self._untold = list(self._untold.values()), {}
        return changed

    def take_rows(self) -> list[Partial | Minutes]:
        """All rows changed since the last call. The fold goes on in them."""
        changed, self._changed, self._untold = list(self._changed.values()), {}, {}
        for row in changed:
            if isinstance(row, Partial):
                row.unplaced = 0  # its minutes are among the rows
        return changed

    def take_changes(self) -> list[Partial | Minutes]:
        """The same, each a copy."""
        return [row.snapshot() for row in self.take_rows()]

    def pending(self) -> list[Partial | Minutes]:
        """The rows changed without taking them: what a restart would need before they are told."""
        return list(self._changed.values())

    def forget(self) -> list[str]:
        """Drop rows that no event can reach any more; returns their keys."""
        oldest_day = self.oldest_day()
        if self.clock.now is None or oldest_day is None:
            return []
        oldest_hour = (self.clock.now - self._longest_lag()) // HOUR - 2
        days = [at for at, row in self._partials.items() if row.day < oldest_day]
        hours = [at for at, row in self._minutes.items() if row.hour < oldest_hour]
        return [self._partials.pop(at).key for at in days] + [self._minutes.pop(at).key for at in hours]

    def oldest_day(self) -> Day | None:
        """The first day for which an event may still come; None before the first event."""
        if self.clock.now is None:
            return None
        return self._calendar.day(self.clock.now - (self._policy.close_after_days + 1) * DAY)

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

    def _is_plain(self, offset: int, first: Millis, last: Millis, sent: tuple[Millis, Millis] | None) -> bool:
        """Whether no row has any event from `offset` on already, and none can be refused for its time, in any order.

        `first`, `last`: when they ended; `sent`: when the first one was sent, and the latest.
        """
        if offset <= self._highest:
            return False
        times: Sequence[Millis] = sent or ()
        clocks: list[Millis] = [*times[:1], *(() if self.clock.now is None else (self.clock.now,))]
        if not clocks:
            return True
        earliest, latest = max(clocks), max([*clocks, *times])
        return last <= earliest + AHEAD and first >= latest - self._policy.close_after_days * DAY

    def _fold_singly(
        self, offsets: Sequence[int], calls: Sequence[Call], ats: Sequence[Millis], times: Sequence[Millis]
    ) -> Iterator[tuple[int, Rejected]]:
        for index, (offset, call, at) in enumerate(zip(offsets, calls, ats, strict=True)):
            if times:
                self.tick(times[index])
            refused = self._fold(offset, call, at)
            if refused is not None:
                yield index, refused

    def _fold(self, offset: int, call: Call, at: Millis) -> Rejected | None:
        refused = self._refuse(at)
        if refused is not None:
            self.counts.rejected += 1
            return refused
        self._take([offset], [call], [at])
        return None

    def _take(self, offsets: Sequence[int], calls: Sequence[Call], ats: Sequence[Millis]) -> None:
        """Count what was accepted. The hot path: what is done for every single event stands here and in `_summed`."""
        newest = offsets[-1]
        unread = self._by_tenant and not self.tenants.has(self.incarnation, offsets[0])
        before = self.duplicates.differing
        fresh = self.duplicates.of_calls(calls, offsets)
        if not all(fresh):
            offsets, calls, ats = _of(offsets, fresh), _of(calls, fresh), _of(ats, fresh)
        self._note_outcomes(len(calls), len(fresh) - len(calls), self.duplicates.differing - before)
        counted = False  # of many calls all are, of one perhaps not
        for minute, of_minute, at_offsets in _by_minute(offsets, calls, ats):
            day = self._calendar.day(minute * MINUTE)  # days begin with a minute
            names = [call.model for call in of_minute]
            last = dict(zip(names, at_offsets, strict=True))
            models: dict[str, list[Call]] = {name: [] for name in last}
            for name, call in zip(names, of_minute, strict=True):
                models[name].append(call)
            for name, of_model in models.items():
                model = self._policy.canonical(name)
                counted = self._add(model, day, minute, self._summed(of_model), last[name])
                if unread:
                    self.tenants.fold(day, model, of_model)
        for total, day in self._totals(calls, ats) if counted else ():
            self._compare_totals(self._partial(total.model, day), total)
        self._reach(newest)

    def _totals(self, calls: Sequence[Call], ats: Sequence[Millis]) -> Iterator[tuple[Total, Day]]:
        """What gateways tell of their own totals, in the order of the log: each is compared with the last."""
        for call, at in zip(calls, ats, strict=True):
            if call.today is not None:
                model, tokens = self._policy.canonical(call.model), call.total_tokens or 0
                total = Total(call.model, model, at, call.today, tokens, call.key_hash or "")
                yield total, self._calendar.day(at)

    def _note_outcomes(self, counted: int, duplicates: int, differing: int) -> None:
        self.counts.counted += counted
        self.counts.duplicates += duplicates
        self.counts.differing += differing

    def _reach(self, offset: int) -> None:
        """All up to here is counted."""
        self.tenants.reached = max(self.tenants.reached, (self.incarnation, offset))
        self._highest = max(self._highest, offset)

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

    def _add(self, model: str, day: Day, minute: int, sums: Sums, offset: int) -> bool:
        """Add one model's calls of one minute. False: the row has them already."""
        row, tokens = self._partial(model, day), sums.tokens
        counted = self._advance(row, offset)
        if counted:
            self._untold[id(row)] = row
            row.sums.add(sums)
            row.unplaced += tokens
        if tokens:
            sheet = self._hour(model, minute // MINUTES_AN_HOUR)
            if self._advance(sheet, offset):
                sheet.tokens[minute % MINUTES_AN_HOUR] += tokens
        return counted

    def _summed(self, calls: Sequence[Call]) -> Sums:
        """The hot path: everything that is summed of a call, in one loop over plain numbers."""
        tokens = prompt = completion = cached = cache_hits = failed = estimated = guarded = 0
        guards = self._guards
        for call in calls:
            if call.cache_hit:
                cache_hits += 1
            else:
                tokens += call.total_tokens or 0
                prompt += call.prompt_tokens or 0
                completion += call.completion_tokens or 0
                cached += call.cached_tokens or 0
                if call.source in guards:
                    guarded += call.total_tokens or 0
            if call.status not in SUCCEEDED:
                failed += 1
            if call.estimated:
                estimated += 1
        return Sums(tokens, len(calls), prompt, completion, cached, cache_hits, failed, estimated, guarded)

    def _compare_totals(self, row: Partial, total: Total) -> None:
        """Note what the gateway says it has counted. A total that is newer and lower began anew: it seeds nothing."""
        at, today, tokens = total.at // MINUTE * MINUTE, total.today, total.tokens
        # a gateway counts by the name it knows
        key = total.key_hash if row.scope == f"model:{total.given}" else f"{total.given}/{total.key_hash}"
        known, start = row.told.get(key), max(0, today - tokens)
        if known is None:
            if len(row.told) < SEEDS_KEPT and len(key) <= LONGEST_KEY_HASH:
                row.told[key] = Told(at, today, tokens)
                row.seeds[key] = min(start, row.seeds.get(key, start))
            return
        is_newer = (at, today) >= (known.at, known.today)
        began_anew = is_newer and today < known.today
        if start < row.seeds[key] and not began_anew and at < self._calendar.end(row.day) - AROUND_MIDNIGHT:
            row.seeds[key] = start
        newest = (at, today) if is_newer else (known.at, known.today)
        row.told[key] = Told(*newest, known.counted + tokens)

    def _advance(self, row: Partial | Minutes, offset: int) -> bool:
        """Move the row's last offset; false if the row has this offset in it already."""
        if row.incarnation != self.incarnation:
            row.incarnation, row.offset = self.incarnation, offset
        elif offset > row.offset:
            row.offset = offset
        elif offset <= self._highest:
            return False  # read again; an offset of this batch may lie before one that was just counted
        self._changed[id(row)] = row
        return True


def _of(column: Sequence[Item], chosen: Sequence[bool]) -> list[Item]:
    return list(compress(column, chosen))


def _in(order: Sequence[int], column: Sequence[Item]) -> list[Item]:
    return [column[index] for index in order]


Stretch = tuple[int, Sequence[Call], Sequence[int]]
"""A minute, calls that ended in it, and their offsets."""


def _by_minute(offsets: Sequence[int], calls: Sequence[Call], ats: Sequence[Millis]) -> Iterable[Stretch]:
    """Calls by the minute in which they ended; as a rule a batch is of one, and in order of time."""
    if not ats:
        return
    if min(ats) // MINUTE != max(ats) // MINUTE and ats != sorted(ats):
        order = sorted(range(len(ats)), key=lambda index: ats[index] // MINUTE)  # within a minute as it was
        offsets, calls, ats = _in(order, offsets), _in(order, calls), _in(order, ats)
    start = 0
    while start < len(ats):
        minute = ats[start] // MINUTE
        stop = bisect_left(ats, minute + 1, start, key=lambda at: at // MINUTE)
        yield minute, calls[start:stop], offsets[start:stop]
        start = stop
