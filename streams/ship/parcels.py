"""A line becomes a parcel: the Kafka topic, key and value of what it says, or of the dead letter that says why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rules.calls import Calls
from rules.dead_letter import DeadLetter
from rules.intake.reader import Intake, are_alike
from rules.intake.wire import encode
from rules.moment import Millis
from rules.records import Calibration, Clock, Control, Reading, Reason, Record, Refusal, Rejected, Usage
from streams.ship.lines import LINE_LIMIT, Block, Line
from streams.ship.sources import Form
from streams.ship.unwrap import WRAPPED

if TYPE_CHECKING:
    from streams.topics import Topics  # brings aiokafka, which who only reads lines does without

DEAD = "dead letters"
USAGE = "usage"
CLOCK = "clock"
WRONG_CLOCK = Rejected(Reason.WRONG_TOPIC, "only `ship --clock event` may move the clock")

_KINDS: dict[type[Record], str] = {
    Usage: USAGE,
    Refusal: "refusals",
    Reading: "readings",
    Calibration: "calibrations",
    Control: "controls",
}


class Parcel(NamedTuple):
    """One record for Kafka. Without a partition the key decides. `kind` is what a summary counts it as."""

    kind: str
    topic: str
    key: bytes
    value: bytes
    origin: str = ""
    partition: int | None = None
    trace: bytes = b""  # a traceparent, for whoever follows calls through everything


class LineReader:
    """Reads the lines of one source in its form."""

    def __init__(self, intake: Intake, form: Form) -> None:
        self._read = intake.read_log if form is Form.LOG else intake.read
        self._read_batch = None if form is Form.LOG else intake.read_batch
        self._read_usage = None if form is Form.LOG else intake.read_usage_lines

    def read(self, line: Line) -> Record | Rejected | None:
        """None: blank, of another program, or of no consequence."""
        if line.is_too_large:
            return Rejected(Reason.TOO_LARGE, f"a line of {line.size:,} bytes; up to {LINE_LIMIT:,} are read")
        return self._read(line.body) if line.body.strip() else None

    def read_usage(self, cuts: Sequence[Line | Block]) -> Calls | None:
        """Events of usage, if nothing else stands in these lines and none of them is wrapped."""
        if self._read_usage is None or not cuts or any(cut.is_too_large for cut in cuts):
            return None
        data, count = b"\n".join([cut.body for cut in cuts]), sum(cut.length for cut in cuts)
        alike = are_alike(data, count)
        if data.startswith(WRAPPED) or (not alike and WRAPPED in data):
            return None
        return self._read_usage(data, count, alike=alike)

    def read_all(self, lines: Sequence[Line]) -> Sequence[Record | Rejected | None]:
        """The same of many lines."""
        if self._read_batch is None or any(line.is_too_large or not line.body.strip() for line in lines):
            return [self.read(line) for line in lines]
        return self._read_batch([line.body for line in lines])


class Addresser:
    """Knows which topic and key each record has."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def parcel(self, found: Record | Rejected, line: Line, origin: str, now: Millis) -> Parcel:
        """Usage and refusals are keyed by their id, so that a twin meets its twin; readings and calibrations by model
        and controls by scope, so that those of one stay in order; dead letters by origin."""
        topics = self._topics
        match found:
            case Usage() | Refusal():
                return Parcel(_KINDS[type(found)], topics.usage, found.id.encode(), encode(found))
            case Reading() | Calibration():
                return Parcel(_KINDS[type(found)], topics.balances, found.model.encode(), encode(found), origin)
            case Control():
                return Parcel(_KINDS[type(found)], topics.controls, found.scope.encode(), encode(found), origin)
            case Clock():
                return self._dead(WRONG_CLOCK, line, origin, now)
            case Rejected():
                return self._dead(found, line, origin, now)

    def clock(self, at: Millis, partitions: int) -> list[Parcel]:
        """The clock for every partition of what the worker reads."""
        value = encode(Clock(at=at))
        sources = (self._topics.usage, self._topics.balances, self._topics.controls)
        return [
            Parcel(CLOCK, topic, b"clock", value, partition=partition)
            for topic in sources
            for partition in range(partitions)
        ]

    def _dead(self, rejected: Rejected, line: Line, origin: str, now: Millis) -> Parcel:
        letter = DeadLetter.of(line.body, rejected, origin, now, size=line.size)
        return Parcel(DEAD, self._topics.dead_letters, letter.key, letter.encode())
