"""The two recordings that come with the package, and what is known about them from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path

from rules.calendar import Day
from rules.intake.reader import Intake
from rules.moment import Millis
from rules.records import Clock, Reading, Record, Refusal, Rejected, Usage
from streams.ship.entries import entries
from streams.ship.event_clock import Entry, merged

SAMPLES = ("incident-2026-08-12.log", "incident-2026-08-13.log")

CONSOLE: dict[Day, int] = {"2026-08-12": 2_293_004, "2026-08-13": 2_242_178}
"""The truth: free tokens at the start of the day, as the provider's web console showed them and as a reading confirmed
once it had caught up. No recording contains them; nothing but the comparison may look at them."""


@dataclass(frozen=True)
class Recordings:
    """All lines in order of time, with the clock between them."""

    entries: tuple[Entry | Clock, ...]

    @property
    def records(self) -> Iterator[Record]:
        """What was recorded, with the clock; for a replay."""
        for entry in self.entries:
            if isinstance(entry, Clock):
                yield entry
            elif entry.found is not None and not isinstance(entry.found, Rejected):
                yield entry.found

    @cached_property
    def ticks(self) -> tuple[Millis, ...]:
        """Every instant of the clock, in order."""
        return tuple(sorted({entry.at for entry in self.entries if isinstance(entry, Clock)}))

    @property
    def end(self) -> Millis:
        return self.ticks[-1]

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(record for record in self.records if isinstance(record, Reading))

    @cached_property
    def usage(self) -> tuple[Usage, ...]:
        return tuple(record for record in self.records if isinstance(record, Usage))

    @cached_property
    def refusals(self) -> tuple[Refusal, ...]:
        """Calls that the gateway of that time refused."""
        return tuple(record for record in self.records if isinstance(record, Refusal))

    @property
    def model(self) -> str:
        """All of it is about one model."""
        return self.readings[0].model

    @property
    def key_hash(self) -> str:
        """The one API key of that gateway."""
        return self.usage[0].key_hash


def read_recordings(zone: tzinfo) -> Recordings:
    """The samples of the package; times without a zone are of `zone`."""
    intake, folder = Intake(zone), files("streams").joinpath("samples")
    with ExitStack() as unpacked:
        samples = [unpacked.enter_context(as_file(folder.joinpath(name))) for name in SAMPLES]
        return Recordings(tuple(merged([entries(sample, intake, None, _in_silence) for sample in samples])))


def _in_silence(_source: Path, _position: int) -> None:
    """They are read in a moment."""
