"""The figures in the READMEs are those of a run, not of a hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.readme import BEGIN, END, READMES, figures, quoted
from bench.rows import LATEST, Circumstances, Row, read

RUN = Circumstances("Apache Kafka 4", "2 cores, 8 GB", "2026-11-30 05:00")


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_a_readme_quotes_the_run_that_is_kept(readme: Path) -> None:
    """Figures in a README are those of bench/results/latest.json, unless that is a newer run, not quoted yet; without
    one a README has none."""
    found = quoted(readme.read_text(encoding="utf-8"))
    if not LATEST.exists():
        assert found == f"{BEGIN}\n{END}"
        return
    rows, run = read(LATEST)
    assert run.taken not in found or found == figures(rows, run, READMES[readme])


def test_throughput_and_latency_stand_apart() -> None:
    """A row with the harness's own latency is one of latency; what was not measured is left empty."""
    rows = [
        Row(name="workload A", rate=250_000.4, ratio=0.654, p50_ms=50.0, p99_ms=100.0, cpu_per_million=4.04),
        Row(name="idle", rate=50.0, p50_ms=12.4, p99_ms=33.3, harness_p99_ms=6.1),
    ]
    told = figures(rows, RUN, next(iter(READMES.values())))
    assert told.startswith(BEGIN)
    assert told.endswith(END)
    assert "| workload A | 250,000 | 0.65 | 4.0 | |" in told
    assert "| idle | 12 | 33 | 6 |" in told
    assert "2 cores, 8 GB" in told


def test_a_page_without_marks_is_no_place_for_figures() -> None:
    """Whoever takes the marks out of a README is told."""
    with pytest.raises(ValueError, match="figures"):
        quoted("# blastdoor")
