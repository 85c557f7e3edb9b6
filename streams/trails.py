"""What a fact carries in its Kafka headers about the way it came: when the oldest usage record in it was sent, and a
W3C trace context. Metrics and traces need it; no decision depends on it, and a fact without it is as good.

    usage (timestamp, traceparent) ──meter──> fact (blastdoor-sent, traceparent) ──judge──> decision (traceparent)

Of the many calls behind one decision the last traced one gives its name to it. Traces are looked for only when asked
for: otherwise a batch costs one comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rules.intake.reader import Intake
from rules.moment import Millis
from rules.records import Usage
from streams.delivery.step import Headers, Output, Record

SENT = "blastdoor-sent"
TRACE = "traceparent"
_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_MODEL = b"model:"
_LONGEST = 55


class Trail(NamedTuple):
    """Where news of a scope came from."""

    sent: Millis | None = None
    trace: bytes | None = None

    @property
    def headers(self) -> Headers:
        """As a decision carries it on."""
        return () if self.trace is None else ((TRACE, self.trace),)

    def after(self, before: Trail | None) -> Trail:
        """Both together: the oldest record, the newest trace."""
        if before is None or before is self:
            return self
        times = [sent for sent in (before.sent, self.sent) if sent is not None]
        return Trail(min(times, default=None), self.trace or before.trace)


NO_TRAIL = Trail()


def read_trail(headers: Sequence[tuple[str, bytes]]) -> Trail:
    """The trail in a record's headers. What is not ours or is broken is left out."""
    found = dict(headers)
    sent, trace = found.get(SENT, b""), found.get(TRACE) or b""
    return Trail(
        int(sent) if sent.isdigit() and len(sent) < 16 else None,
        bytes(trace) if len(trace) == _LONGEST and _TRACEPARENT.fullmatch(trace) else None,
    )


class Departures:
    """A meter's partition: what the facts of its next flush carry. `traced` looks for traces, and says of what."""

    def __init__(self, traced: Callable[[bytes], Sequence[str]] | None) -> None:
        self._traced = traced
        self._sent: Millis | None = None
        self._traces: dict[bytes, bytes] = {}  # scope -> traceparent

    def note(self, records: Sequence[Record]) -> None:
        """A batch arrived."""
        if self._sent is None:
            self._sent = records[0].timestamp
        if self._traced is not None:
            for record in records:
                if record.headers and (trace := read_trail(record.headers).trace) is not None:
                    self._traces.update((scope.encode(), trace) for scope in self._traced(record.value or b""))

    def of(self, scope: str) -> Trail:
        """What the next flush carries about a scope."""
        return Trail(self._sent, self._traces.get(scope.encode()) if self._traces else None)

    def mark(self, outputs: Sequence[Output]) -> list[Output]:
        """The same outputs, those with news of a scope marked."""
        if self._sent is None:
            return list(outputs)
        sent = (SENT, b"%d" % self._sent)
        marked = [self._marked(output, sent) for output in outputs]
        if outputs:
            self._sent = None
            self._traces.clear()
        return marked

    def _marked(self, output: Output, sent: tuple[str, bytes]) -> Output:
        """Of tenants, who are many, the time is not worth its cost."""
        trace = self._traces.get(output.key.rsplit(b"|", 2)[0]) if self._traces else None
        headers: Headers = (sent,) if output.key.startswith(_MODEL) else ()
        headers += () if trace is None else ((TRACE, trace),)
        return output._replace(headers=headers) if headers else output


class Arrivals:
    """A judge's partition: the trails of scopes that were told of and not yet ruled on."""

    def __init__(self) -> None:
        self._trails: dict[str, Trail] = {}
        self._headers: Sequence[tuple[str, bytes]] = ()  # of the fact before: what was sent together has the same
        self._trail = NO_TRAIL

    def note(self, record: Record) -> None:
        """A fact arrived."""
        if record.headers and record.key:
            if record.headers != self._headers:
                self._headers, self._trail = record.headers, read_trail(record.headers)
            self.expect(record.key.rsplit(b"|", 2)[0].decode(errors="replace"), self._trail)

    def expect(self, scope: str, trail: Trail) -> None:
        """There is news of a scope."""
        self._trails[scope] = trail.after(self._trails.get(scope))

    def take(self, scope: str) -> Trail:
        """The trail of a scope that is ruled on."""
        return self._trails.pop(scope, NO_TRAIL)

    def clear(self) -> None:
        """All scopes were ruled on; those left brought no news."""
        self._trails.clear()


def scopes_of(intake: Intake, canonical: Callable[[str], str]) -> Callable[[bytes], Sequence[str]]:
    """Which scopes a usage record bears on."""

    def scopes(raw: bytes) -> Sequence[str]:
        found = intake.read(raw)
        if not isinstance(found, Usage):
            return ()
        return [f"model:{canonical(found.model)}", *([f"tenant:{found.tenant}"] if found.tenant else [])]

    return scopes
