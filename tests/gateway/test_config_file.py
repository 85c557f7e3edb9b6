"""The gate's configuration file: read whole, every mistake told at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from blastdoor_gateway.config import Budget, ConfigError, Engine, Failure, Falls, Gate, Mode, Over, Rate, Spend
from blastdoor_gateway.config_file import load_gate, read_gate
from blastdoor_gateway.money import Price, to_nano
from blastdoor_gateway.settings import Settings

EVERYTHING = """
prefix = "bd"
timezone = "Europe/Amsterdam"
day_starts = "05:30"
mode = "observe"
per_ip = "5/s"
per_user = false
proxies = ["10.0.0.0/8"]
most_estimate = 1000
wait_seconds = 0.02
legacy = false
aliases = {"volcengine/m" = "m"}
[default]
daily_tokens = 500_000
over = "block"
[tenants.acme]
monthly_tokens = 10_000_000
[spend]
daily = "500"
basis = "charged"
prices.m = {input = "1", cached_input = "0.2", output = "2"}
[engine]
unknown = "open"
[failure]
rate = "closed"
grace_seconds = 1
"""
MISTAKES = """
per_ip = "ten"
timezone = "Mars/Olympus"
prox = []
mode = "maybe"
[default]
daily_tokens = -5
[tenants.acme]
dayly = 1
[spend]
daily = "-1"
prices.m = {input = "0.0000025", output = 99999999}
[failure]
model = "ajar"
"""


def test_everything_can_be_said(tmp_path: Path) -> None:
    """Each setting of the gate has its place in the file."""
    path = tmp_path / "gate.toml"
    path.write_text(EVERYTHING, encoding="utf-8")
    assert load_gate(path) == Gate(
        prefix="bd",
        timezone="Europe/Amsterdam",
        day_starts="05:30",
        mode=Mode.OBSERVE,
        per_ip=Rate(5, 1_000),
        per_user=None,
        proxies=("10.0.0.0/8",),
        most_estimate=1_000,
        wait_seconds=0.02,
        legacy=False,
        aliases={"volcengine/m": "m"},
        default=Budget(daily_tokens=500_000, over=Over.BLOCK),
        tenants={"acme": Budget(monthly_tokens=10_000_000)},
        spend=Spend(daily=to_nano(500), basis="charged", prices={"m": Price.of("1", "2", "0.2")}),
        engine=Engine(unknown=Falls.OPEN),
        failure=Failure(rate=Falls.CLOSED, grace_seconds=1.0),
    )


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    """Each with its place."""
    path = tmp_path / "gate.toml"
    path.write_text(MISTAKES, encoding="utf-8")
    with pytest.raises(ConfigError) as told:
        load_gate(path)
    places = {line.split(": ")[0] for line in str(told.value).splitlines()}
    assert places == {
        "per_ip", "timezone", "prox", "mode", "default", "tenants.acme.dayly", "spend.daily", "spend.prices.m",
        "failure.model",
    }  # fmt: skip


def test_sections_can_be_taken_away() -> None:
    """A gate that stands alone has no engine; one without spend keeps the kill switch only."""
    gate = read_gate({"engine": False, "spend": False})
    assert (gate.engine, gate.spend) == (None, None)


@pytest.mark.parametrize("text", ["a = ", "default = 5"])
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    """Broken TOML, or a number where a section belongs."""
    path = tmp_path / "gate.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        load_gate(path)


@pytest.mark.parametrize("redis", ["h:6379", "http://h", "redis://h:x", "redis://u:s3cr#et@h:6379/0"])
def test_a_url_that_is_none_is_told_without_its_password(redis: str) -> None:
    """A library's own message would hold the piece of it that it takes for a port."""
    with pytest.raises(ConfigError, match="BLASTDOOR_REDIS is a URL") as told:
        Settings.from_environment({"BLASTDOOR_REDIS": redis})
    assert "s3cr" not in str(told.value)


def test_settings_come_from_the_environment(tmp_path: Path) -> None:
    """What is not said has a default; secrets do not show."""
    path = tmp_path / "gate.toml"
    path.write_text("legacy = false", encoding="utf-8")
    said = {"BLASTDOOR_REDIS": "redis://:s3cret@h/0", "BLASTDOOR_GATE": str(path), "BLASTDOOR_PREFIX": "bd"}
    settings = Settings.from_environment(said | {"BLASTDOOR_TOKEN": "t0ken"})
    assert (settings.redis, settings.gate.prefix, settings.gate.legacy) == ("redis://:s3cret@h/0", "bd", False)
    assert "s3cret" not in repr(settings)
    assert "t0ken" not in repr(settings)
    assert Settings.from_environment({}) == Settings()
