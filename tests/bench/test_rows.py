"""What a run writes is what is read of it again."""

from __future__ import annotations

import json
from pathlib import Path

from bench.rows import Circumstances, Row, read, write

RUN = Circumstances("tansu", "2 cores", "2026-11-30 05:00")


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Nothing is lost between a run and what quotes it, not even what was not measured."""
    rows = [Row(name="bare aiokafka", rate=400_000.0, ratio=1.0), Row(name="idle", p50_ms=20.0, harness_p99_ms=5.0)]
    write(rows, RUN, tmp_path / "results" / "latest.json")
    assert read(tmp_path / "results" / "latest.json") == (rows, RUN)


def test_the_json_is_a_list_of_objects(tmp_path: Path) -> None:
    """Programs find a row by its name, with the figures under the names that docs/performance.md gives them."""
    write([Row(name="workload B", rate=60_000.0, ratio=0.2, p50_ms=80.0, p99_ms=200.0)], RUN, tmp_path / "latest.json")
    (found,) = json.loads((tmp_path / "latest.json").read_text())
    wanted = {"name": "workload B", "rate": 60_000.0, "ratio": 0.2, "p50_ms": 80.0, "p99_ms": 200.0, "broker": "tansu"}
    assert wanted.items() <= found.items()
