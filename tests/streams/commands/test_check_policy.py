"""`blastdoor check-policy`: what an operator sees, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.policy_file import default_rules

GOOD = "channels: {main: {kind: webhook, url: env:HOOK}}\nspend: {daily: 500}\nalerts: {send: [main]}\n"
GOOD += "limits: {per_ip: 10/min}\n"


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
    assert "tenants: no budget; with a budget of their own: 0" in found.output
    assert "held by gates, each by its own file, not by this one: limits.per_" in found.output
    assert "secret-token" not in found.output


def test_secrets_can_be_left_out(path: Path) -> None:
    """Where the variable is not known the check fails, unless told that secrets do not matter here."""
    path.write_text(GOOD)
    assert "the environment has no variable HOOK" in run(str(path), HOOK=None).output
    assert run("--without-secrets", str(path), HOOK=None).exit_code == 0


def test_help_shows_an_example() -> None:
    """`--help` ends with a line to copy."""
    assert "blastdoor check-policy policy.yaml" in run("--help").output


def test_ten_mistakes_are_ten_lines(path: Path) -> None:
    """Each with its line, its field and what was meant; a price that looks a million times too high is one of them."""
    path.write_text(
        "timezone: Asia/Shangai\n"
        "mode: enforced\n"
        "modles: {}\n"
        "models:\n"
        "  default: {daily_cap: -1, max_lag: 30}\n"
        "alerts: {send: [feishu-mian], language: cn}\n"
        "channels: {feishu-main: {kind: feishu, url: https://open.example/hook/T0}}\n"
        "prices: {m: {input: 1500000, output: 2}}\n"
        "rules: [{name: r, scope: model, when: uzed > 1, then: {action: block}, says: x}]\n"
    )
    found = run(str(path))
    assert found.exit_code == 1
    *lines, last = found.stdout.splitlines()
    assert last == "10 mistakes"
    wanted = [
        (1, "timezone", "did you mean 'Asia/Shanghai'?"),
        (2, "mode", "did you mean 'enforce'?"),
        (3, "modles", "did you mean 'models'?"),
        (5, "models.default.daily_cap", "must not be negative"),
        (5, "models.default.max_lag", "has no unit; write it like 45s"),
        (6, "alerts.language", "'cn' is not known here"),
        (6, "alerts.send[0]", "did you mean 'feishu-main'?"),
        (7, "channels.feishu-main.url", "a secret is never written here"),
        (8, "prices.m.input", "looks a million times too high"),
        (9, "rules[0].when", "did you mean 'used'?"),
    ]
    assert len(lines) == len(wanted)
    for line, (number, field, meant) in zip(lines, wanted, strict=True):
        assert line.startswith(f"{path}:{number}: {field}: ")
        assert meant in line


def test_the_schema_is_printed_without_a_file() -> None:
    """It is JSON; without either there is nothing to do."""
    assert json.loads(run("--schema").stdout)["title"] == "blastdoor policy"
    assert run().exit_code == 2
