"""The last step: alerts from Kafka reach people, at least once, in order, with one id for all attempts.

An alert is put into state first; only when that is acknowledged do its channels get it, and what became of it goes into
state again. Between a channel's answer and that record a crash may repeat a delivery once, with the same id.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Protocol

import msgspec

from rules.alerts import Alert, Kind
from rules.policy import Alerting
from rules.routing import receivers
from streams.channels.gathering import Parcel
from streams.channels.lane import Lane
from streams.channels.messages import message
from streams.channels.outcome import Outcome, Progress
from streams.channels.sender import Note, Sender
from streams.channels.timing import Timing
from streams.delivery.step import Flush, Moment, Record, Restored
from streams.notify_ledger import Entry, Keep, Ledger

log = logging.getLogger(__name__)

NOWHERE = "none"  # stands for the channel where no channel is configured
DUPLICATE, UNREADABLE = "duplicate", "unreadable"
COUNTED = (*(progress.value for progress in Progress), DUPLICATE, UNREADABLE)
"""Every outcome an observer may be told, so that each can exist as a label value from the start."""

LARGEST = 256 * 1024  # bytes of an alert; ours are about one thousandth of that
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # it goes into a header, and into a signed text where a dot separates
_GREATEST = 10**18  # of a number in an alert


class Observer(Protocol):
    """Who counts. `waiting` as an outcome is a failed attempt that will be repeated."""

    def counted(self, channel: str, outcome: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Held:
    """A partition of ours. `touch` asks delivery for a flush."""

    ledger: Ledger
    incarnation: int
    touch: Callable[[], None]


class Notify:
    """Delivery step over the alerts topic. Rows: `alert|<id>` with the alert and its outcome per channel."""

    name = "notify"
    interval = 0.0

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
    ) -> None:
        self.topic = topic
        self._alerting = alerting
        self._zone = zone
        self._timing = timing
        self._observer = observer
        self._keep = keep or Keep()
        self._senders = dict(senders)
        self._lanes = {name: self._lane(name, sender) for name, sender in senders.items()}
        self._partitions: dict[int, Held] = {}

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
            self._dispatch(partition, entry)

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Take alerts up. A repeat of a known id is ignored."""
        held = self._partitions[partition]
        for record in records:
            alert = _read(record.value)
            if alert is None:
                self._count(NOWHERE, UNREADABLE)
                log.error("the record at %s/%d/%d is no alert", self.topic, partition, record.offset)
            elif alert.id in held.ledger:
                self._count(NOWHERE, DUPLICATE)
            else:
                self._take_up(held, record.offset, alert)

    def flush(self, partition: int, moment: Moment) -> Flush | None:  # noqa: ARG002 - delivery's time is the wall clock
        """What changed. Being called again means that the flush before was acknowledged: its alerts may go out."""
        held = self._partitions[partition]
        for entry in held.ledger.confirm():
            self._dispatch(partition, entry)
        rows = held.ledger.take(self._timing.now())
        if not rows:
            return None
        held.touch()  # the flush after this one lets its alerts go: let it be soon
        return Flush((), rows)

    def revoked(self, partition: int) -> None:
        """Somebody else's from now on."""
        if self._partitions.pop(partition, None) is not None:
            for lane in self._lanes.values():
                lane.drop(partition)

    async def close(self) -> None:
        """End what is under way; the next owner of the partitions goes on from the rows."""
        self._partitions.clear()
        for lane in self._lanes.values():
            await lane.close()

    def _take_up(self, held: Held, offset: int, alert: Alert) -> None:
        now, ledger = self._timing.now(), held.ledger
        channels = receivers(alert, self._alerting) or (NOWHERE,)
        outcome = Outcome(Progress.UNSENT, now, detail="too many alerts waiting") if ledger.crowded else None
        outcomes = {channel: outcome or self._first(channel, alert) for channel in channels}
        ledger.add(Entry(alert, now, (held.incarnation, offset), outcomes))
        for channel, first in outcomes.items():
            if first.final:
                self._tell(alert, channel, first)

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

    def _dispatch(self, partition: int, entry: Entry) -> None:
        """Hand an acknowledged alert to the channels it has yet to reach."""
        alerting = self._alerting
        note = Note(entry.alert, message(entry.alert, alerting.language, self._zone, alerting.dashboard))
        for channel in entry.waiting():
            if channel in self._lanes:
                attempts = entry.outcomes[channel].attempts
                self._lanes[channel].put(Parcel(partition, note, entry.heard, attempts))
            else:  # the policy changed since
                self._record(partition, entry.alert, channel, self._first(channel, entry.alert))

    def _lane(self, channel: str, sender: Sender) -> Lane:
        window = self._alerting.group / 1000
        most = sender.most if window else 1
        return Lane(sender, self._timing, self._reporter(channel), most=most, window=window if most > 1 else 0.0)

    def _reporter(self, channel: str) -> Callable[[Parcel, Outcome], None]:
        return lambda parcel, outcome: self._record(parcel.partition, parcel.note.alert, channel, outcome)

    def _record(self, partition: int, alert: Alert, channel: str, outcome: Outcome) -> None:
        self._tell(alert, channel, outcome)
        held = self._partitions.get(partition)
        if held is not None and alert.id in held.ledger:
            held.ledger.record(alert.id, channel, outcome)
            held.touch()

    def _tell(self, alert: Alert, channel: str, outcome: Outcome) -> None:
        """Count and log. No text of the alert: it holds names, and the row holds it all."""
        self._count(channel, outcome.progress.value)
        level, why = _LEVELS[outcome.progress], f": {outcome.detail}" if outcome.detail else ""
        what = f"{outcome.progress.value}, attempt {outcome.attempts}"
        log.log(level, "alert %s (%s) to %s: %s%s", alert.id[:12], alert.kind.value, channel, what, why)

    def _count(self, channel: str, outcome: str) -> None:
        self._observer.counted(channel, outcome)


_LEVELS = {
    Progress.DELIVERED: logging.INFO,
    Progress.WAITING: logging.WARNING,
    Progress.REFUSED: logging.ERROR,
    Progress.GAVE_UP: logging.ERROR,
    Progress.UNSENT: logging.ERROR,
    Progress.MUTED: logging.INFO,
}


def _read(value: bytes | None) -> Alert | None:
    if value is None or len(value) > LARGEST:
        return None
    try:
        alert = msgspec.json.decode(value, type=Alert)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    numbers = (alert.at, alert.grant, alert.used, alert.limit, alert.pool_low, alert.pool_high, alert.charged_high)
    sane = all(number is None or abs(number) <= _GREATEST for number in numbers)
    return alert if sane and _ID.fullmatch(alert.id) else None
