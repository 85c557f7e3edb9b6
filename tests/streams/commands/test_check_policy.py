"""`blastdoor check-policy`: what an operator sees, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.policy_file import default_rules

GOOD = "channels: {main: {kind: webhook, url: env:HOOK}}\nspend: {daily: 500}\nalerts: {send: [main]}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


def run(*words: str, **environment: str | None) -> Result:
    return CliRunner().invoke(main, ["check-policy", *words], env=environment)


def test_mistakes_are_listed_and_fail(path: Path) -> None:
    """Every mistake on a line of its own, `file:line: field: message`, the count last, exit code 1."""
    path.write_text("mode: enforced\ntimezone: Mars\n")
    found = run(str(path))
    assert found.exit_code == 1
    assert found.output.splitlines() == [
        f"{path}:1: mode: 'enforced' is not known here; did you mean 'enforce'?",
        f"{path}:2: timezone: 'Mars' is no known time zone; write it like Asia/Shanghai",
        "2 mistakes",
    ]


def test_a_good_file_is_summed_up(path: Path) -> None:
    """The hash and what holds; no secret, exit code 0."""
    path.write_text(GOOD)
    found = run(str(path), HOOK="https://hooks.example/T0/secret-token")
    assert found.exit_code == 0
    assert ": ok, policy " in found.output
    assert f"rules: {len(default_rules())} built in, 0 of your own" in found.output
    assert "alerts: at 80%, 100% of a limit, to main" in found.output
    assert "spend: everything closes at 500 CNY a day; what counts: tokens beyond the free pool" in found.output
    assert "secret-token" not in found.output


def test_secrets_can_be_left_out(path: Path) -> None:
    """Where the variable is not known the check fails, unless told that secrets do not matter here."""
    path.write_text(GOOD)
    assert "the environment has no variable HOOK" in run(str(path), HOOK=None).output
    assert run("--without-secrets", str(path), HOOK=None).exit_code == 0


def test_help_shows_an_example() -> None:
    """`--help` ends with a line to copy."""
    assert "blastdoor check-policy policy.yaml" in run("--help").output
