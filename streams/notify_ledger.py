"""One partition's alerts and what became of them: the rows that outlive a restart. Knows no network and no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import msgspec

from rules.alerts import Alert
from rules.moment import DAY, Millis
from streams.channels.outcome import Outcome, Progress

PREFIX = "alert|"


@dataclass(frozen=True, slots=True)
class Keep:
    """How long and how many finished alerts are remembered, so that a repeat of one is recognised; oldest out."""

    time: Millis = 30 * DAY  # as long as the topic keeps them
    number: int = 10_000  # that arrived, and as many that did not: the ones must not push out the others
    waiting: int = 10_000  # more than this many under way: further ones are not taken up


class Entry(msgspec.Struct):
    """An alert with its outcome per channel. `place`, incarnation and offset of its record, is the order of sending."""

    alert: Alert
    heard: Millis
    place: tuple[int, int]
    outcomes: dict[str, Outcome]

    @property
    def finished(self) -> bool:
        return all(outcome.final for outcome in self.outcomes.values())

    @property
    def ended(self) -> Millis:
        """When the last channel was done with it."""
        return max((outcome.at for outcome in self.outcomes.values()), default=self.heard)

    @property
    def undelivered(self) -> list[str]:
        """The channels where it should have arrived and did not."""
        return [channel for channel, outcome in self.outcomes.items() if outcome.undelivered]

    def waiting(self) -> list[str]:
        """The channels it has yet to reach."""
        return [channel for channel, outcome in self.outcomes.items() if not outcome.final]


class Due(NamedTuple):
    """An entry that is kept by now, and the channels that are to get it."""

    entry: Entry
    channels: list[str]


class Ledger:
    """Entries by alert id, with those changed since the last flush."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._entries: dict[str, Entry] = {}
        self._arrived: dict[str, Millis] = {}  # finished everywhere: id -> when, oldest first
        self._missed: dict[str, Millis] = {}  # finished, but not arrived everywhere
        self._changed: dict[str, None] = {}
        self._fresh: list[Due] = []  # to be sent once they are kept
        self._flushed: list[Due] = []  # in the flush under way
        self.tally: Counter[tuple[str, Progress]] = Counter()  # (channel, progress) of all entries

    @classmethod
    def restored(cls, rows: Mapping[str, Any], keep: Keep) -> tuple[Self, int]:
        """A ledger from its rows, and how many rows could not be read."""
        ledger = cls(keep)
        read = [_entry(row) for key, row in rows.items() if key.startswith(PREFIX)]
        entries = [entry for entry in read if entry is not None]
        ledger._entries = {entry.alert.id: entry for entry in sorted(entries, key=lambda entry: entry.place)}
        for entry in sorted((entry for entry in entries if entry.finished), key=lambda entry: entry.ended):
            ledger._file(entry)
        ledger.tally.update((name, each.progress) for entry in entries for name, each in entry.outcomes.items())
        return ledger, len(read) - len(entries)

    def __contains__(self, alert_id: str) -> bool:
        return alert_id in self._entries

    @property
    def crowded(self) -> bool:
        """Whether as many alerts are under way as may be."""
        return len(self._entries) - len(self._arrived) - len(self._missed) >= self._keep.waiting

    @property
    def entries(self) -> Iterable[Entry]:
        """All of them, in the order of sending."""
        return self._entries.values()

    def waiting(self) -> list[Entry]:
        """Entries not finished, in the order of sending."""
        return [entry for entry in self._entries.values() if not entry.finished]

    def add(self, entry: Entry) -> None:
        """A new alert."""
        self._entries[entry.alert.id] = entry
        self.tally.update((name, outcome.progress) for name, outcome in entry.outcomes.items())
        self._fresh.append(Due(entry, entry.waiting()))
        self._touch(entry)

    def record(self, alert_id: str, channel: str, outcome: Outcome) -> None:
        """What became of an alert in a channel."""
        self._put(self._entries[alert_id], channel, outcome)

    def reopen(self, alert_id: str, channels: Collection[str], place: tuple[int, int], now: Millis) -> list[str]:
        """Send an alert again to channels that are done with it (none named: where it did not arrive); which ones."""
        entry = self._entries[alert_id]
        under_way = entry.waiting()
        wanted = [name for name in dict.fromkeys(channels) if name not in under_way]
        reopened = wanted if channels else entry.undelivered
        if reopened:
            entry.heard, entry.place = now, place
            for channel in reopened:
                self._put(entry, channel, Outcome(Progress.WAITING, now, detail="to be sent again"))
            self._fresh.append(Due(entry, reopened))
        return reopened

    def confirm(self) -> list[Due]:
        """The new alerts of the flush before, which are kept by now: safe to send."""
        flushed, self._flushed = self._flushed, []
        return [due for due in flushed if due.entry.alert.id in self._entries]

    def take(self, now: Millis) -> dict[str, Any]:
        """The rows that changed since the last time; None for those to forget."""
        forgotten = [*self._outdated(self._arrived, now), *self._outdated(self._missed, now)]
        for alert_id in forgotten:
            gone = self._entries.pop(alert_id)
            self.tally.subtract((name, outcome.progress) for name, outcome in gone.outcomes.items())
            self._arrived.pop(alert_id, None)
            self._missed.pop(alert_id, None)
            self._changed.pop(alert_id, None)
        rows = {PREFIX + alert_id: msgspec.to_builtins(self._entries[alert_id]) for alert_id in self._changed}
        self._changed = {}
        self._flushed, self._fresh = self._fresh, []
        return rows | {PREFIX + alert_id: None for alert_id in forgotten}

    def _put(self, entry: Entry, channel: str, outcome: Outcome) -> None:
        before = entry.outcomes.get(channel)
        if before is not None:
            self.tally[channel, before.progress] -= 1
        self.tally[channel, outcome.progress] += 1
        entry.outcomes[channel] = outcome
        self._touch(entry)

    def _touch(self, entry: Entry) -> None:
        self._changed[entry.alert.id] = None
        self._file(entry)

    def _file(self, entry: Entry) -> None:
        """Among those that wait, those that arrived, or those that did not."""
        self._arrived.pop(entry.alert.id, None)
        self._missed.pop(entry.alert.id, None)
        if entry.finished:
            (self._missed if entry.undelivered else self._arrived)[entry.alert.id] = entry.ended

    def _outdated(self, finished: Mapping[str, Millis], now: Millis) -> Iterable[str]:
        excess = len(finished) - self._keep.number
        for number, (alert_id, ended) in enumerate(finished.items()):
            if number >= excess and now - ended <= self._keep.time:
                return
            yield alert_id


def _entry(row: Any) -> Entry | None:
    try:
        return msgspec.convert(row, Entry)
    except msgspec.ValidationError:
        return None
