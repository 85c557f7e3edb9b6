"""`blastdoor explain` over recordings: what it prints, and how it ends."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from streams.commands.explain import command
from tests.streams.explaining.golden import FIRST, GOLDEN, INCIDENT, SECOND


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in arguments], env={"BLASTDOOR_POLICY": None})


def test_the_text_is_the_golden_one() -> None:
    """What the command prints is the text, and nothing beside it."""
    found = run(INCIDENT, "--from", FIRST, "--from", SECOND, "--at", "2026-08-13 11:22")
    assert found.exit_code == 0
    assert found.stdout == (GOLDEN / "cap.txt").read_text(encoding="utf-8")
    assert found.stderr == ""


def test_an_instant_is_one_of_the_policys_zone(tmp_path: Path) -> None:
    """Unless it has an offset of its own."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("timezone: Europe/Amsterdam\n", encoding="utf-8")
    for written in ("2026-08-13T05:22:00+02:00", "2026-08-13 05:22"):
        # The log's own times, which have no zone, are Amsterdam's as well.
        found = run(INCIDENT, "--from", SECOND, "--at", written, "--policy", policy, "--json")
        assert json.loads(found.stdout)["at"] == "2026-08-13T05:22:00.000+02:00"


def test_a_recording_that_ends_before_the_instant_ends_there() -> None:
    """Nothing vouches for what came after: the last decision is still the one in force."""
    told = json.loads(run(INCIDENT, "--from", SECOND, "--at", "2026-08-20", "--json").stdout)
    assert told["at"] == "2026-08-13T11:22:00.000+08:00"


def test_what_came_after_the_instant_is_not_looked_at() -> None:
    """At 11:21 the reading of 11:22 is unknown."""
    told = json.loads(run(INCIDENT, "--from", SECOND, "--at", "2026-08-13 11:21", "--json").stdout)
    assert told["at"] == "2026-08-13T11:21:00.000+08:00"
    assert told["pool"]["high"]["reading"] == told["steps"][0]["id"]
    assert [step["taken_at"][11:16] for step in told["steps"]] == ["00:10", "11:08"]


def test_packed_and_plain_recordings_say_the_same(tmp_path: Path) -> None:
    """A log packed by logrotate is read as it is."""
    packed = tmp_path / "incident.log.gz"
    with FIRST.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    plain, again = (numbers(run(INCIDENT, "--from", path, "--json")) for path in (FIRST, packed))
    assert plain == again


def numbers(found: Result) -> Any:
    told = json.loads(found.stdout)
    return told["facts"], told["formulas"], told["limit"]


def test_a_model_that_is_not_there_ends_with_three() -> None:
    """With the names there are, the likeliest first."""
    found = run("deepseek-v4-flash-ga", "--from", FIRST)
    assert found.exit_code == 3
    assert f"did you mean '{INCIDENT}'" in found.stderr
    assert run(INCIDENT, "--from", FIRST, "--at", "2026-08-11").exit_code == 3


def test_a_scope_and_an_alias_name_the_model(tmp_path: Path) -> None:
    """`model:NAME` as alerts write it, and any other spelling that the policy knows."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"aliases: {{flash: {INCIDENT}}}\n", encoding="utf-8")
    for name in (f"model:{INCIDENT}", "flash"):
        assert run(name, "--from", FIRST, "--policy", policy).exit_code == 0


def test_mistakes_end_with_a_code_of_their_own(tmp_path: Path) -> None:
    """1: the policy; 2: a file that cannot be read, a broker that does not answer, a time that is none."""
    policy, damaged = tmp_path / "policy.yaml", tmp_path / "damaged.log.gz"
    policy.write_text("timezone: Nowhere\n", encoding="utf-8")
    damaged.write_bytes(b"\x1f\x8b not gzip at all")
    assert run(INCIDENT, "--from", FIRST, "--policy", policy).exit_code == 1
    assert run(INCIDENT, "--from", damaged).exit_code == 2
    assert run(INCIDENT, "--from", tmp_path / "missing.log").exit_code == 2
    assert run(INCIDENT, "--from", FIRST, "--at", "soon").exit_code == 2


def test_a_silent_broker_is_named() -> None:
    """One line that says which address does not answer."""
    found = run(INCIDENT, "--kafka", "127.0.0.1:1")
    assert found.exit_code == 2
    assert "no Kafka broker answers at 127.0.0.1:1" in found.stderr


def test_observing_is_said(tmp_path: Path) -> None:
    """In `observe` the action is allow, and the reason says what it would be."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("mode: observe\nmodels: {default: {formula: v4}}\n", encoding="utf-8")
    found = run(INCIDENT, "--from", FIRST, "--policy", policy)
    assert ": allow" in found.stdout.splitlines()[0]
    assert "would be block" in found.stdout
    assert "296,869  = 596,869 - 300,000  <- beyond it calls are charged" in found.stdout


def test_help_has_an_example() -> None:
    """What a person types first."""
    assert "blastdoor explain deepseek-v4-flash --from gateway.log" in run("--help").stdout
