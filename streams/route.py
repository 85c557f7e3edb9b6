"""The route: readings and controls, keyed as their producers like, go onto `facts` under the one name of their
scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rules.facts import Heard, Scope, Watermark
from rules.intake.reader import Intake
from rules.meter import AHEAD, MeterClock
from rules.moment import MINUTE, Millis
from rules.policy import Policy
from rules.records import Calibration, Clock, Control, ControlAction, Reading, Reason, Rejected
from rules.rollup import tenant_of
from rules.stored_rows import as_stored
from rules.switch import addressed
from streams.active import Active
from streams.dead_letters import DeadLetters
from streams.delivery.step import Flush, Moment, Output, Record, Restored
from streams.facts_topic import FactsTopic
from streams.receipt import Receipt
from streams.stamps import sent_at
from streams.topics import facts_partition
from streams.wall_clock import wall_clock

CLOCK_ROW = "clock"


class Route:
    """Delivery step over `balances` or `controls` (`source` says which). Keeps no state but the partition's clock."""

    interval = 0.0
    lot = 500

    def __init__(
        self,
        source: str,
        topic: str,
        dead_letters: DeadLetters,
        facts: FactsTopic,
        policy: Policy,
        *,
        sheets: str,
        event_clock: bool,
        clock: Callable[[], Millis] = wall_clock,
    ) -> None:
        self.name = f"route-{source}"
        self.topic = topic
        self._source = source
        self._dead_letters = dead_letters
        self._facts = facts
        self._sheets = sheets
        self._policy = policy
        self._event_clock = event_clock
        self._clock = clock
        self._intake = Intake(policy.calendar().zone)
        self._partitions: dict[int, Routed] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Go on from the partition's clock."""
        clock: MeterClock = as_stored(CLOCK_ROW, restored.rows.get(CLOCK_ROW, {}), MeterClock)
        self._partitions[partition] = Routed(clock, restored.incarnation, Receipt(self._clock))

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Put what is understood onto facts; the rest becomes dead letters."""
        routed = self._partitions[partition]
        for record in records:
            self._take(routed, partition, record)

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        """What was heard, then the watermark that vouches for it."""
        routed = self._partitions[partition]
        routed.receipt.reach(moment)
        if not self._event_clock and moment.at_end:
            self._mark(routed, partition, moment.position, moment.now - self._policy.lateness)
        if not routed.outputs:
            return None
        outputs, routed.outputs = routed.outputs, []
        return Flush(outputs, {CLOCK_ROW: msgspec.to_builtins(routed.clock)})

    def revoked(self, partition: int) -> None:
        """Somebody else's from now on."""
        self._partitions.pop(partition, None)

    def adopt(self, active: Active) -> None:
        """Records from the next batch on are named by this policy."""
        self._policy = active.policy

    def _take(self, routed: Routed, partition: int, record: Record) -> None:
        found: Any = self._intake.read(record.value or b"")
        if isinstance(found, Clock):
            if self._event_clock:
                routed.clock.now = max(found.at, routed.clock.now or found.at)
                self._mark(routed, partition, record.offset + 1, routed.clock.now)
            return
        heard = self._hear(routed, found, record, f"{self.topic}/{partition}/{record.offset}")
        if isinstance(heard, Heard):
            routed.outputs.append(self._addressed(heard))
        elif heard is not None:
            routed.outputs.append(self._dead_letters.keep(partition, record, heard))

    def _hear(self, routed: Routed, found: Any, record: Record, origin: str) -> Heard | Rejected | None:
        if found is None or isinstance(found, Rejected):
            return found
        if not isinstance(found, Reading | Calibration | Control):
            return Rejected(Reason.WRONG_TOPIC, "belongs onto another topic")
        now = routed.clock.now if self._event_clock else sent_at(record.timestamp, found.at, self._clock())
        if now is not None and found.at > now + AHEAD:
            return Rejected(Reason.IN_FUTURE, f"the record is {(found.at - now) // MINUTE} min ahead of the clock")
        received = None if self._event_clock else routed.receipt.of(record, found.at)
        scope = self._scope(found)
        return scope if isinstance(scope, Rejected) else Heard(scope, self._named(found), origin, received)

    def _addressed(self, heard: Heard) -> Output:
        """To the judge of its scope; what is to be forgotten goes to who keeps it."""
        if not isinstance(heard.record, Control) or heard.record.action is not ControlAction.FORGET:
            return self._facts.to_scope(heard.scope, heard)
        tenant = tenant_of(heard.scope)
        partition = facts_partition(f"tenant:{tenant}", self._facts.partitions)
        return Output(self._sheets, partition, heard.key.encode(), msgspec.json.encode(heard))

    def _scope(self, found: Reading | Calibration | Control) -> Scope | Rejected:
        return addressed(found) if isinstance(found, Control) else f"model:{self._policy.canonical(found.model)}"

    def _named(self, found: Reading | Calibration | Control) -> Reading | Calibration | Control:
        return (
            found
            if isinstance(found, Control)
            else msgspec.structs.replace(found, model=self._policy.canonical(found.model))
        )

    def _mark(self, routed: Routed, partition: int, position: int, at: Millis) -> None:
        mark = Watermark(self._source, partition, routed.incarnation, position, at, at)
        if mark != routed.mark:
            routed.mark = mark
            routed.outputs.extend(self._facts.to_all(mark))


class Routed:
    """A partition's clock with what its next flush will tell."""

    def __init__(self, clock: MeterClock, incarnation: int, receipt: Receipt) -> None:
        self.clock = clock
        self.incarnation = incarnation
        self.receipt = receipt
        self.outputs: list[Output] = []
        self.mark: Watermark | None = None
