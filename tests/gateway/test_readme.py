"""What the READMEs show works as it stands there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from blastdoor_gateway.config import Falls, Gate
from blastdoor_gateway.config_file import read_gate
from blastdoor_gateway.metrics import PrometheusObserver
from prometheus_client import CollectorRegistry, generate_latest

GATEWAY = Path(__file__).parents[2] / "gateway"
READMES = [GATEWAY / "README.md", GATEWAY / "README.zh-CN.md"]


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_the_configuration_shown_is_one(readme: Path) -> None:
    """The example is read without a mistake, and both languages show the same."""
    (shown,) = re.findall(r"```toml\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    gate = read_gate(tomllib.loads(shown))
    assert (gate.engine, gate.default.daily_tokens) == (None, 500_000)
    assert gate.spend is not None
    assert gate.spend.daily == 500 * 10**9


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_metrics_named_exist(readme: Path) -> None:
    """Every metric that is worth an alert is exported."""
    registry = CollectorRegistry()
    PrometheusObserver(registry)
    exported = generate_latest(registry).decode()
    last = readme.read_text(encoding="utf-8").rsplit("metrics.py", 1)[1]
    named = re.findall(r"`([a-z_]+?)(?:\{[^`]*\})?`", last)
    assert len(named) >= 7
    assert [name for name in named if f"blastdoor_gate_{name.removeprefix('blastdoor_gate_')}" not in exported] == []


def test_failures_fall_as_told() -> None:
    """The table of failures tells the defaults."""
    failure, engine = Gate().failure, Gate().engine
    assert (failure.kill, failure.budget, failure.model, failure.spend) == (Falls.CLOSED,) * 4
    assert (failure.rate, failure.grace_seconds, failure.grace_share) == (Falls.OPEN, 5.0, 0.1)
    assert engine is not None
    assert (engine.stale_after, engine.grace, engine.silent, engine.unknown) == (
        30_000,
        900_000,
        Falls.CLOSED,
        Falls.CLOSED,
    )
    assert Gate().wait_seconds == 0.05
