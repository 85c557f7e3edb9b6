"""How fast `blastdoor replay` reads a recording: the command as people give it, from its start to its last line."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.processes import ROOT, module
from bench.rows import Row
from bench.workloads import everything
from rules.intake.wire import encode
from rules.moment import MINUTE, Millis
from rules.records import Reading

MODELS = 8
EVENTS_A_SECOND = 50  # of a busy gateway: 4.3 million a day
READ_EVERY = 5 * MINUTE
BEGIN: Millis = 1_786_550_400_000


def replay(events: int) -> Row:
    """A recording of a few hours, its readings compared under every formula."""
    with TemporaryDirectory(prefix="blastdoor-bench-") as directory:
        path = Path(directory) / "recording.jsonl"
        records = _write(path, events)
        began = time.monotonic()
        subprocess.run(
            module("streams", "replay", path, "--json"), cwd=ROOT, check=True, stdout=subprocess.DEVNULL, timeout=600
        )
        seconds = time.monotonic() - began
    what = f"{records:,} records of {MODELS} models, {EVENTS_A_SECOND}/s, with its start"
    return Row(name="replay", rate=records / seconds, what=what)


def _write(path: Path, events: int) -> int:
    workload, records, read = everything(MODELS), events, BEGIN
    with path.open("wb") as file:
        for place in range(events):
            number = workload.original(place)
            at = BEGIN + place * 1000 // EVENTS_A_SECOND
            while at >= read:
                for model in range(MODELS):
                    file.write(_reading(model, read, events - place) + b"\n")
                    records += 1
                read += READ_EVERY
            file.write(workload.event(number, BEGIN + number * 1000 // EVENTS_A_SECOND)[1] + b"\n")
    return records


def _reading(model: int, at: Millis, left: int) -> bytes:
    name = f"model-{model:02d}"
    return encode(Reading(id=f"bal-{name}-{at}", at=at, model=name, available=left * 2_000))
