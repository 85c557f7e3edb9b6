"""The last step: alerts from Kafka reach people, at least once, in order, with one id for all attempts.

An alert is put into state first; only when that is acknowledged do its channels get it, and what became of it goes into
state again. Between a channel's answer and that record a crash may repeat a delivery once, with the same id.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from rules.alerts import Alert, Kind
from rules.day_book import DayBook
from rules.moment import Millis
from rules.policy import Alerting
from rules.routing import receivers
from streams.active import Active
from streams.alert_records import Resend, read, to_output
from streams.channels.gathering import Parcel
from streams.channels.lane import Lane
from streams.channels.messages import message
from streams.channels.outcome import Outcome, Progress
from streams.channels.sender import Note, Sender
from streams.channels.timing import Timing
from streams.day_shelf import DayShelf
from streams.delivery.step import Flush, Moment, Output, Record, Restored
from streams.notify_ledger import Entry, Keep, Ledger
from streams.topics import ALERTS_PARTITION
from streams.watchman import ROW, Watchman

log = logging.getLogger(__name__)

NOWHERE = "none"  # stands for the channel where no channel is configured
DUPLICATE, UNREADABLE = "duplicate", "unreadable"
COUNTED = (*(progress.value for progress in Progress), DUPLICATE, UNREADABLE)
"""Every outcome an observer may be told, so that each can exist as a label value from the start."""


class Observer(Protocol):
    """Who counts. `waiting` as an outcome is a failed attempt that will be repeated."""

    def counted(self, channel: str, outcome: str) -> None: ...

    def kept(self, tally: Mapping[tuple[str, Progress], int]) -> None:
        """How many alerts stand where, by channel and progress."""


class Told(Struct, frozen=True, kw_only=True):
    """An entry in the history: what became of an alert in a channel. Key: id and channel."""

    id: str
    kind: str
    scope: str
    channel: str
    outcome: Progress
    at: Millis
    attempts: int
    detail: str


@dataclass(frozen=True, slots=True)
class Held:
    """A partition of ours. `touch` asks delivery for a flush."""

    ledger: Ledger
    incarnation: int
    touch: Callable[[], None]
    told: list[Told] = field(default_factory=list)  # since the last flush


class Notify:
    """Delivery step over the alerts topic. Rows: `alert|<id>` with the alert and its outcome per channel."""

    name = "notify"
    interval = 0.0
    lot = 500

    def __init__(
        self,
        topic: str,
        senders: Mapping[str, Sender],
        alerting: Alerting,
        *,
        zone: tzinfo,
        timing: Timing,
        observer: Observer,
        keep: Keep | None = None,
        history: str = "",
        watchman: Watchman | None = None,
        shelf: DayShelf | None = None,
    ) -> None:
        """`history`: topic of what became of alerts; empty for none. The owner of the alerts' partition has the
        `watchman` look around, and the `shelf` gather the books of days for the digest."""
        self.topic = topic
        self._alerting = alerting
        self._zone = zone
        self._timing = timing
        self._observer = observer
        self._keep = keep or Keep()
        self._history = history
        self._watchman = watchman
        self._shelf = shelf
        self._senders = dict(senders)
        self._lanes = {name: self._lane(name, sender) for name, sender in senders.items()}
        self._partitions: dict[int, Held] = {}
        self._closing: set[asyncio.Task[None]] = set()  # lanes of an earlier policy

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Go on with what was under way; whatever is in a restored row is acknowledged."""
        self.revoked(partition)
        ledger, unreadable = Ledger.restored(restored.rows, self._keep)
        for _ in range(unreadable):
            self._count(NOWHERE, UNREADABLE)
        if unreadable:
            log.error("%d rows of alerts in partition %d cannot be read and are left out", unreadable, partition)
        self._partitions[partition] = Held(ledger, restored.incarnation, restored.touch)
        for entry in ledger.waiting():
            self._dispatch(partition, entry, entry.waiting())
        if self._watchman is not None and partition == ALERTS_PARTITION:
            self._watchman.begin(restored.rows.get(ROW), restored.touch, restored.fail)
        if self._shelf is not None and partition == ALERTS_PARTITION:
            self._shelf.begin(restored.rows)
        self._show()

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Take alerts up. A repeat of a known id is ignored."""
        held = self._partitions[partition]
        for record in records:
            found = read(record.key, record.value)
            if isinstance(found, Resend):
                self._send_again(held, record.offset, found)
            elif isinstance(found, DayBook):
                if self._shelf is not None:
                    self._shelf.hear(found)
            elif found is None:
                self._count(NOWHERE, UNREADABLE)
                log.error("the record at %s/%d/%d is no alert", self.topic, partition, record.offset)
            elif found.id in held.ledger:
                self._count(NOWHERE, DUPLICATE)
            else:
                self._take_up(held, record.offset, found)

    def flush(self, partition: int, moment: Moment) -> Flush | None:  # noqa: ARG002 - delivery's time is the wall clock
        """What changed. Being called again means that the flush before was acknowledged: its alerts may go out."""
        held = self._partitions[partition]
        for due in held.ledger.confirm():
            self._dispatch(partition, due.entry, due.channels)
        found, beside = self._beside(partition)
        rows = held.ledger.take(self._timing.now()) | beside
        if not rows:
            return None
        held.touch()  # the flush after this one lets its alerts go: let it be soon
        self._show()
        outputs = [*found, *([self._entered(told) for told in held.told] if self._history else [])]
        held.told.clear()
        return Flush(outputs, rows)

    def adopt(self, active: Active) -> None:
        """Go on with these channels and terms. What waits for a channel waits for its new sender; what waits for one
        that is gone is told as such. A message under way may arrive twice, with one id."""
        waiting = {name: lane.hand_over() for name, lane in self._lanes.items()}
        self._closing |= {asyncio.create_task(lane.close()) for lane in self._lanes.values()}
        self._closing = {task for task in self._closing if not task.done()}
        self._alerting, self._senders = active.policy.alerts, dict(active.senders)
        self._lanes = {name: self._lane(name, sender) for name, sender in active.senders.items()}
        for name, parcels in waiting.items():
            for parcel in parcels:
                self._pass_on(name, parcel)
        if self._watchman is not None:
            self._watchman.adopt(self._alerting)
        if self._shelf is not None:
            self._shelf.adopt(self._alerting.digest)

    def _pass_on(self, channel: str, parcel: Parcel) -> None:
        if channel in self._lanes:
            self._lanes[channel].put(parcel)
        else:
            alert = parcel.note.alert
            self._record(parcel.partition, alert, channel, self._first(channel, alert))

    def _beside(self, partition: int) -> tuple[list[Output], dict[str, Any]]:
        """What watchman and shelf raise goes the way of every alert."""
        alerts: list[Alert] = []
        rows: dict[str, Any] = {}
        for one in (self._watchman, self._shelf) if partition == ALERTS_PARTITION else ():
            if one is not None:
                found, changed = one.take()
                alerts += found
                rows |= changed
        return [to_output(self.topic, alert) for alert in alerts], rows

    def revoked(self, partition: int) -> None:
        """Somebody else's from now on."""
        if self._watchman is not None and partition == ALERTS_PARTITION:
            self._watchman.end()
        if self._partitions.pop(partition, None) is not None:
            for lane in self._lanes.values():
                lane.drop(partition)
            self._show()

    async def close(self) -> None:
        """End what is under way; the next owner of the partitions goes on from the rows."""
        self._partitions.clear()
        if self._watchman is not None:
            await self._watchman.close()
        for lane in self._lanes.values():
            await lane.close()
        await asyncio.gather(*self._closing)

    def _take_up(self, held: Held, offset: int, alert: Alert) -> None:
        now, ledger = self._timing.now(), held.ledger
        channels = receivers(alert, self._alerting) or (NOWHERE,)
        outcome = Outcome(Progress.UNSENT, now, detail="too many alerts waiting") if ledger.crowded else None
        outcomes = {channel: outcome or self._first(channel, alert) for channel in channels}
        ledger.add(Entry(alert, now, (held.incarnation, offset), outcomes))
        for channel, first in outcomes.items():
            if first.final:
                self._tell(held, alert, channel, first)

    def _send_again(self, held: Held, offset: int, wish: Resend) -> None:
        """An operator wants it. Which alert, which channels and who is logged; the way is that of every alert."""
        if wish.id not in held.ledger:
            log.error("%s wants alert %s sent again, which is not known any more", wish.by, wish.id[:12])
            return
        place = (held.incarnation, offset)
        channels = held.ledger.reopen(wish.id, wish.channels, place, self._timing.now())
        log.info("%s wants alert %s sent again: to %s", wish.by, wish.id[:12], ", ".join(channels) or "no channel")

    def _first(self, channel: str, alert: Alert) -> Outcome:
        now = self._timing.now()
        if channel == NOWHERE:
            routed = bool(self._alerting.send or self._alerting.routes)
            return Outcome(Progress.MUTED if routed else Progress.UNSENT, now, detail="no channel for it")
        if channel not in self._lanes:
            return Outcome(Progress.UNSENT, now, detail="no such channel")
        if alert.kind is Kind.DIGEST and not self._senders[channel].reports:
            return Outcome(Progress.MUTED, now, detail="the channel takes no reports")
        return Outcome(Progress.WAITING, now)

    def _dispatch(self, partition: int, entry: Entry, channels: Iterable[str]) -> None:
        """Hand an acknowledged alert to the channels it has yet to reach."""
        alerting = self._alerting
        note = Note(entry.alert, message(entry.alert, alerting.language, self._zone, alerting.dashboard))
        for channel in channels:
            if channel in self._lanes:
                attempts = entry.outcomes[channel].attempts
                parcel = Parcel(partition, note, entry.heard, attempts)
                parcel.most = 1 if entry.alert.kind is Kind.DIGEST else parcel.most  # a report is read by itself
                self._lanes[channel].put(parcel)
            else:  # the policy changed since
                self._record(partition, entry.alert, channel, self._first(channel, entry.alert))

    def _lane(self, channel: str, sender: Sender) -> Lane:
        window = self._alerting.group / 1000
        most = sender.most if window else 1
        return Lane(sender, self._timing, self._reporter(channel), most=most, window=window if most > 1 else 0.0)

    def _reporter(self, channel: str) -> Callable[[Parcel, Outcome], None]:
        return lambda parcel, outcome: self._record(parcel.partition, parcel.note.alert, channel, outcome)

    def _record(self, partition: int, alert: Alert, channel: str, outcome: Outcome) -> None:
        held = self._partitions.get(partition)
        self._tell(held, alert, channel, outcome)
        if held is not None and alert.id in held.ledger:
            held.ledger.record(alert.id, channel, outcome)
            held.touch()

    def _tell(self, held: Held | None, alert: Alert, channel: str, outcome: Outcome) -> None:
        """Count, log, and enter what is final into the history. No text of the alert: the topic holds it all."""
        self._count(channel, outcome.progress.value)
        if held is not None and outcome.final:
            held.told.append(_history(alert, channel, outcome))
        level, why = _LEVELS[outcome.progress], f": {outcome.detail}" if outcome.detail else ""
        what = f"{outcome.progress.value}, attempt {outcome.attempts}"
        log.log(level, "alert %s (%s) to %s: %s%s", alert.id[:12], alert.kind.value, channel, what, why)

    def _entered(self, told: Told) -> Output:
        key = f"{told.id}|{told.channel}".encode()
        return Output(self._history, ALERTS_PARTITION, key, msgspec.json.encode(told))

    def _show(self) -> None:
        tally: Counter[tuple[str, Progress]] = Counter()
        for held in self._partitions.values():
            tally.update(held.ledger.tally)
        self._observer.kept(tally)

    def _count(self, channel: str, outcome: str) -> None:
        self._observer.counted(channel, outcome)


def _history(alert: Alert, channel: str, outcome: Outcome) -> Told:
    return Told(
        id=alert.id,
        kind=alert.kind.value,
        scope=alert.scope,
        channel=channel,
        outcome=outcome.progress,
        at=outcome.at,
        attempts=outcome.attempts,
        detail=outcome.detail,
    )


_LEVELS = {
    Progress.DELIVERED: logging.INFO,
    Progress.WAITING: logging.WARNING,
    Progress.REFUSED: logging.ERROR,
    Progress.GAVE_UP: logging.ERROR,
    Progress.UNSENT: logging.ERROR,
    Progress.MUTED: logging.INFO,
}
