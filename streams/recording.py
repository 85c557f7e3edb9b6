"""Recordings as records in order of time, with the clock between them: what `replay` judges and `ship` sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from pathlib import Path

from rules.intake.reader import Intake
from rules.records import Calibration, Clock, Reading, Record, Rejected
from streams.ship.entries import Progress, entries
from streams.ship.event_clock import Entry, merged

_LOCATED = (Reading, Calibration)


class Recording:
    """Several files as one recording. While `records` is consumed, what cannot be read is counted, and where readings
    stand is noted."""

    def __init__(self, files: Sequence[Path], zone: tzinfo, progress: Progress | None = None) -> None:
        self.rejected = 0
        self.found = 0
        self.complaint = ""  # of the first that could not be read: file:line and why
        self.origins: dict[str, str] = {}  # reading or calibration id -> file:line
        self._files = files
        self._intake = Intake(zone)
        self._progress = progress or (lambda _source, _position: None)

    @property
    def records(self) -> Iterator[Record]:
        """The records. Raises UnreadableSource."""
        for entry in merged([entries(file, self._intake, None, self._progress) for file in self._files]):
            found = entry if isinstance(entry, Clock) else entry.found
            if isinstance(found, Rejected):
                self.rejected += 1
                if not self.complaint and isinstance(entry, Entry):
                    self.complaint = f"{entry.source}:{entry.line.number}: {found.detail}"
            elif found is not None:
                self.found += not isinstance(found, Clock)
                if isinstance(found, _LOCATED) and isinstance(entry, Entry):
                    self.origins.setdefault(found.id, f"{entry.source}:{entry.line.number}")
                yield found
