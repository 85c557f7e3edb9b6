"""Recordings as records in order of time, with the clock between them: what `replay` judges and `ship` sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from pathlib import Path

from rules.calls import Calls
from rules.intake.reader import Intake
from rules.records import Calibration, Clock, Reading, Record, Rejected
from streams.ship.entries import Progress, entries, stretches
from streams.ship.event_clock import Entry, Found, in_lots, merged
from streams.ship.lines import Line
from streams.ship.sources import origin_of

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
    def lots(self) -> Iterator[Record | Calls]:
        """The records; events of usage that follow one another come in one. Raises UnreadableSource."""
        if len(self._files) > 1:  # they have to be merged one by one
            yield from self.records
            return
        (file,) = self._files
        for found in in_lots(self._answers(file)):
            if found is not None and not isinstance(found, Rejected):
                yield found

    @property
    def records(self) -> Iterator[Record]:
        """The records. Raises UnreadableSource."""
        for entry in merged([entries(file, self._intake, None, self._progress) for file in self._files]):
            found = entry if isinstance(entry, Clock) else entry.found
            if isinstance(entry, Entry):
                self._note(found, entry.source, entry.line)
            if found is not None and not isinstance(found, Rejected):
                yield found

    def _answers(self, file: Path) -> Iterator[Sequence[Found] | Calls]:
        origin = origin_of(file)
        for stretch in stretches(file, self._intake, None, self._progress):
            if isinstance(stretch, Calls):
                self.found += len(stretch.ats)
                yield stretch
            else:
                for line, found in zip(stretch.lines, stretch.found, strict=True):
                    self._note(found, origin, line)
                yield stretch.found

    def _note(self, found: Found, origin: str, line: Line) -> None:
        if isinstance(found, Rejected):
            self.rejected += 1
            self.complaint = self.complaint or f"{origin}:{line.number}: {found.detail}"
        elif found is not None:
            self.found += not isinstance(found, Clock)
            if isinstance(found, _LOCATED):
                self.origins.setdefault(found.id, f"{origin}:{line.number}")
