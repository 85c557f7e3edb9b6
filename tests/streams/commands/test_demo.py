"""`blastdoor demo` as a command: how it ends. What it does is tested in tests/streams/demo."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from streams.commands import demo
from streams.demo.run import DemoFailed
from streams.embedded.server import DidNotStartError, MissingPartError
from tests.streams.demo.conftest import decisions, expected, findings, recordings, rows

if TYPE_CHECKING:
    from pathlib import Path

    from streams.demo.findings import Findings

__all__ = ["decisions", "expected", "findings", "recordings", "rows"]


def run(monkeypatch: pytest.MonkeyPatch, outcome: Any, *options: str) -> Result:
    """The command with a performance that ends like this."""

    async def perform(*_: object) -> Findings:
        await asyncio.sleep(0)
        if isinstance(outcome, BaseException):
            raise outcome
        found: Findings = outcome
        return found

    monkeypatch.setattr(demo, "perform", perform)
    return CliRunner().invoke(demo.command, options, env={"COLUMNS": "80"})


def test_a_good_end(monkeypatch: pytest.MonkeyPatch, findings: Findings) -> None:
    """Exit code 0, and the last lines say what to try next, on lines that can be copied."""
    done = run(monkeypatch, findings)
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert [line for line in lines if " replay " in line and line.endswith("samples/*.log")]
    assert "README.md" in lines[-1]


def test_a_difference_fails_it_loudly(monkeypatch: pytest.MonkeyPatch, findings: Findings) -> None:
    """Exit code 1, each difference told, and no word of success."""
    done = run(monkeypatch, replace(findings, faults=("reading x: used: 1 by Kafka, 2 by replay",)))
    assert done.exit_code == 1
    assert "THE DEMO FAILED ITS OWN CHECK\nreading x: used: 1 by Kafka, 2 by replay" in done.output
    assert "What to try next" not in done.output
    assert "nothing is left" not in done.output


@pytest.mark.parametrize("kind", [DemoFailed, DidNotStartError, MissingPartError])
def test_what_kept_it_from_its_end_is_told(monkeypatch: pytest.MonkeyPatch, kind: type[Exception]) -> None:
    """Exit code 1, with the last words of the part, and no traceback."""
    done = run(monkeypatch, kind("the broker ended\nits last words"))
    assert done.exit_code == 1
    assert done.output.endswith("Error: the broker ended\nits last words\n")
    assert "Traceback" not in done.output


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell says of Ctrl-C."""
    done = run(monkeypatch, asyncio.CancelledError())
    assert (done.exit_code, done.output) == (130, "stopped, nothing is left running\n")


def test_the_picture_is_kept_on_request(monkeypatch: pytest.MonkeyPatch, findings: Findings, tmp_path: Path) -> None:
    """As an SVG."""
    path = tmp_path / "demo.svg"
    assert run(monkeypatch, findings, "--svg", str(path)).exit_code == 0
    assert path.read_text().startswith("<svg ")
