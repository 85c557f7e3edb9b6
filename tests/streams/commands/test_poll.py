"""`blastdoor poll` as an operator meets it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.embedded.server import free_port
from tests.streams.ship.conftest import Target

ROOT = Path(__file__).parents[3]
BALANCE = '{"type":"balance","ts":"2026-08-13T11:22:00+08:00","model":"flash","available":1726526}\n'


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy whose one provider is a file beside it."""
    (tmp_path / "balances.jsonl").write_text(BALANCE)
    path = tmp_path / "policy.yaml"
    path.write_text("providers:\n  own: {kind: file, path: balances.jsonl, every: 1m, least: 1m}\n")
    return path


def run(*arguments: str | Path, **environment: str) -> Result:
    return CliRunner().invoke(main, ["poll", *map(str, arguments)], env=environment)


def test_show_asks_and_sends_nothing(policy: Path) -> None:
    """It needs neither Kafka nor Redis."""
    found = run("--policy", policy, "--show", "--kafka", "127.0.0.1:1")
    assert found.exit_code == 0
    assert "1,726,526" in found.stdout


def test_a_failure_has_an_exit_code(policy: Path) -> None:
    """Of one that waiting may cure; nothing is printed that looks like a balance."""
    (policy.parent / "balances.jsonl").write_text("")
    found = run("--policy", policy, "--show")
    assert (found.exit_code, found.stdout) == (1, "")
    assert "own: no reading: Empty" in found.stderr


@pytest.mark.parametrize("arguments", [[], ["--policy", "{policy}", "other"]], ids=["no policy", "unknown provider"])
def test_mistakes_are_told_at_once(policy: Path, arguments: list[str]) -> None:
    """Exit code 2: who started this need not start it again."""
    found = run(*(each.format(policy=policy) for each in arguments))
    assert found.exit_code == 2
    assert "Error:" in found.stderr


def test_a_missing_secret_is_named_and_no_other_is_needed(policy: Path) -> None:
    """The keys of the provider that is asked must be there; a channel's and another provider's need not."""
    keys = "access_key: env:NO_AK, secret_key: env:NO_SK"
    channel = "channels: {c: {kind: webhook, url: env:NO_URL}}\n"
    packages = "packages: {m: code}"
    policy.write_text(f"{policy.read_text()}  ark: {{kind: volcengine, {keys}, {packages}}}\n{channel}")
    assert run("--policy", policy, "own", "--show").exit_code == 0
    found = run("--policy", policy, "ark", "--show")
    assert found.exit_code == 2
    assert "providers.ark.access_key: the environment has no variable NO_AK" in found.stderr
    assert "NO_URL" not in found.stderr


@pytest.fixture
def target(broker: str, tmp_path: Path) -> Target:
    return Target(broker, f"poll-{tmp_path.name}")


@pytest.mark.embedded
def test_once_sends_a_reading(target: Target, policy: Path) -> None:
    """Onto the balances, keyed by model."""
    assert run("--policy", policy, "--once", *target.options).exit_code == 0
    (record,) = target.read(target.topics.balances)
    sent: dict[str, Any] = json.loads(record.value)
    assert record.key == b"flash"
    assert (sent["available"], sent["source"], sent["ts"]) == (1726526, "own", "2026-08-13T03:22:00Z")


@pytest.mark.embedded
def test_it_polls_until_a_signal(target: Target, redis_url: str, policy: Path) -> None:
    """The first reading comes at once, metrics are served, SIGTERM is an orderly end."""
    http = f"127.0.0.1:{free_port()}"
    argv = [sys.executable, "-m", "streams", "poll", "--policy", str(policy), "--redis", redis_url, "--http", http]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'gateway'}"}
    process = subprocess.Popen([*argv, *target.options], cwd=ROOT, env=environment, stderr=subprocess.PIPE)
    try:
        assert len(asyncio.run(target.read_all(target.topics.balances, 1))) == 1
        with urllib.request.urlopen(f"http://{http}/metrics", timeout=30) as answer:
            assert b'blastdoor_polls_total{provider="own",why="first"} 1.0' in answer.read()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
