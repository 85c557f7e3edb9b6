"""`blastdoor annex`: the three clauses carry the policy's own numbers, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.policy_file import load_references

POLICY = """\
tenants:
  default: {daily_tokens: 500_000, monthly_tokens: 10_000_000, over: degrade}
  acme: {monthly_tokens: 30_000_000, over: block}
limits: {per_ip: 10/min, per_user: 600/h}
spend: {daily: 500, currency: CNY}
alerts: {thresholds: [0.8, 1.0]}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["annex", *map(str, words)], env={"BLASTDOOR_POLICY": None})


@pytest.mark.parametrize(
    ("language", "numbers"),
    [
        pytest.param("zh", ["每月 10,000,000 Tokens", "每日不超过 500,000 Tokens", "80%、100%", "每小时 600 次",
                            "每分钟 10 次", "达到 500 CNY", "离线关键词问答"], id="zh"),
        pytest.param("en", ["10,000,000 tokens a month", "500,000 tokens a day", "80%, 100%", "600 times an hour",
                            "10 times a minute", "reaches 500 CNY", "offline keyword answers"], id="en"),
    ],
)  # fmt: skip
def test_every_number_is_the_policys(path: Path, language: str, numbers: list[str]) -> None:
    """Budget, shares, rates and money, with the hash of the policy they come from."""
    found = run("--policy", path, "--language", language)
    assert (found.exit_code, found.stderr) == (0, "")
    assert [number for number in (*numbers, load_references(path).hash) if number not in found.stdout] == []
    assert found.stdout.count("\n## ") == 3


def test_a_tenant_has_its_own_budget(path: Path) -> None:
    """What it leaves out comes from the default; an unknown tenant has the default."""
    acme, other = run("--policy", path, "--tenant", "acme").stdout, run("--policy", path, "--tenant", "new").stdout
    assert "每月 30,000,000 Tokens，其中每日不超过 500,000 Tokens" in acme
    assert "系统将停止调用大模型" in acme
    assert "每月 10,000,000 Tokens" in other


def test_a_clause_without_a_number_is_no_contract(path: Path) -> None:
    """It is printed with the gap named, and the exit code says so."""
    path.write_text("tenants: {default: {daily_tokens: 5}}\n")
    found = run("--policy", path, "--language", "en")
    assert found.exit_code == 1
    assert [line.split()[5].rstrip(":") for line in found.stderr.splitlines()] == [
        "tenants.default.monthly_tokens", "limits.per_user", "limits.per_ip", "spend.daily",
    ]  # fmt: skip
    assert "(no monthly amount in the policy)" in found.stdout


def test_what_is_only_observed_is_no_contract(path: Path) -> None:
    """Its numbers are decided and shown, and bind nobody: the exit code says so."""
    path.write_text(POLICY + "mode: observe\n")
    found = run("--policy", path)
    assert (found.exit_code, "nothing of this is enforced" in found.stderr) == (1, True)
