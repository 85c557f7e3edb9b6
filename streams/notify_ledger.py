"""One partition's alerts and what became of them: the rows that outlive a restart. Knows no network and no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from rules.alerts import Alert
from rules.moment import DAY, Millis
from streams.channels.outcome import Outcome

PREFIX = "alert|"


@dataclass(frozen=True, slots=True)
class Keep:
    """How long and how many finished alerts are remembered, so that a repeat of one is recognised; oldest out."""

    time: Millis = 30 * DAY  # as long as the topic keeps them
    number: int = 10_000
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

    def waiting(self) -> list[str]:
        """The channels it has yet to reach."""
        return [channel for channel, outcome in self.outcomes.items() if not outcome.final]


class Ledger:
    """Entries by alert id, with those changed since the last flush."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._entries: dict[str, Entry] = {}
        self._finished: dict[str, Millis] = {}  # id -> when, oldest first
        self._changed: dict[str, None] = {}
        self._fresh: list[str] = []  # heard of since the last flush
        self._flushed: list[str] = []  # in the flush under way

    @classmethod
    def restored(cls, rows: Mapping[str, Any], keep: Keep) -> tuple[Self, int]:
        """A ledger from its rows, and how many rows could not be read."""
        ledger = cls(keep)
        read = [_entry(row) for key, row in rows.items() if key.startswith(PREFIX)]
        entries = [entry for entry in read if entry is not None]
        ledger._entries = {entry.alert.id: entry for entry in sorted(entries, key=lambda entry: entry.place)}
        done = sorted((entry for entry in entries if entry.finished), key=lambda entry: entry.ended)
        ledger._finished = {entry.alert.id: entry.ended for entry in done}
        return ledger, len(read) - len(entries)

    def __contains__(self, alert_id: str) -> bool:
        return alert_id in self._entries

    @property
    def crowded(self) -> bool:
        """Whether as many alerts are under way as may be."""
        return len(self._entries) - len(self._finished) >= self._keep.waiting

    def waiting(self) -> list[Entry]:
        """Entries not finished, in the order of sending."""
        return [entry for entry in self._entries.values() if not entry.finished]

    def add(self, entry: Entry) -> None:
        """A new alert."""
        self._entries[entry.alert.id] = entry
        self._fresh.append(entry.alert.id)
        self._touch(entry)

    def record(self, alert_id: str, channel: str, outcome: Outcome) -> None:
        """What became of an alert in a channel."""
        entry = self._entries[alert_id]
        entry.outcomes[channel] = outcome
        self._touch(entry)

    def confirm(self) -> list[Entry]:
        """The new alerts of the flush before, which are kept by now: safe to send."""
        flushed, self._flushed = self._flushed, []
        return [self._entries[alert_id] for alert_id in flushed if alert_id in self._entries]

    def take(self, now: Millis) -> dict[str, Any]:
        """The rows that changed since the last time; None for those to forget."""
        forgotten = list(self._outdated(now))
        for alert_id in forgotten:
            del self._entries[alert_id], self._finished[alert_id]
            self._changed.pop(alert_id, None)
        rows = {PREFIX + alert_id: msgspec.to_builtins(self._entries[alert_id]) for alert_id in self._changed}
        self._changed = {}
        self._flushed, self._fresh = self._fresh, []
        return rows | {PREFIX + alert_id: None for alert_id in forgotten}

    def _touch(self, entry: Entry) -> None:
        self._changed[entry.alert.id] = None
        if entry.finished:
            self._finished[entry.alert.id] = entry.ended

    def _outdated(self, now: Millis) -> Iterable[str]:
        excess = len(self._finished) - self._keep.number
        for number, (alert_id, ended) in enumerate(self._finished.items()):
            if number >= excess and now - ended <= self._keep.time:
                return
            yield alert_id


def _entry(row: Any) -> Entry | None:
    try:
        return msgspec.convert(row, Entry)
    except msgspec.ValidationError:
        return None
