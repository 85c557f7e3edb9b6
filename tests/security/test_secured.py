"""The worker and its tools against servers that ask who they are: what they need, and that no secret gets out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from streams.embedded.server import free_port
from tests.security.authority import make
from tests.security.conftest import ACL, PASSWORD, REDIS_PASSWORD, ROOT, Secured

pytestmark = [pytest.mark.kafka, pytest.mark.redis7]

EVENT = {"type": "usage", "id": "e-1", "model": "flash", "total_tokens": 7}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "streams", *arguments]


def surroundings(given: dict[str, str]) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'gateway'}"} | given


def ship(given: dict[str, str], events: Path) -> subprocess.CompletedProcess[str]:
    argv = command("ship", str(events))
    return subprocess.run(argv, env=surroundings(given), capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(EVENT | {"ts": time.time()}) + "\n")
    return path


@pytest.mark.parametrize("protocol", ["ssl", "sasl_ssl"])
def test_events_are_shipped_over_tls(secured_kafka: Secured, events: Path, protocol: str) -> None:
    """With the authority's certificate, and with user and password where the broker asks for them."""
    given = secured_kafka.environment(protocol, BLASTDOOR_PREFIX=f"ship-{protocol}")
    found = ship(given, events)
    assert found.returncode == 0, found.stderr
    assert "usage" in found.stdout


@pytest.mark.parametrize("wrong", ["password", "authority", "protocol"])
def test_what_is_wrong_ends_in_one_line_without_a_secret(
    secured_kafka: Secured, events: Path, tmp_path: Path, wrong: str
) -> None:
    """A wrong password, a broker whose certificate somebody else signed, and no TLS where there is only TLS."""
    change = {
        "password": {"BLASTDOOR_KAFKA_PASSWORD": "wr0ng-wr0ng"},
        "authority": {"BLASTDOOR_KAFKA_CA": str(make(tmp_path, "another").ca)},
        "protocol": {"BLASTDOOR_KAFKA_SECURITY": "sasl_plaintext"},
    }[wrong]
    found = ship(secured_kafka.environment(**change), events)
    assert found.returncode == 2
    assert found.stderr.startswith("Error: no Kafka broker answers at")
    assert PASSWORD not in found.stderr
    assert "wr0ng" not in found.stderr


@pytest.fixture
def worker(secured_kafka: Secured, secured_redis: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A worker between both, and its address."""
    http = f"127.0.0.1:{free_port()}"
    given = secured_kafka.environment(BLASTDOOR_REDIS=secured_redis, BLASTDOOR_HTTP=http)
    process = subprocess.Popen(command("worker"), env=surroundings(given), stderr=subprocess.PIPE, text=True, cwd=ROOT)
    yield process, http
    process.kill()
    process.wait()


def test_a_worker_needs_no_more_rights_than_the_page_says(
    worker: tuple[subprocess.Popen[str], str], secured_kafka: Secured, secured_redis: str, events: Path
) -> None:
    """From an event over TLS and SASL to the decision key over TLS and ACL; neither `ps`, log nor metrics tell."""
    process, http = worker
    assert ship(secured_kafka.environment(), events).returncode == 0
    with Redis.from_url(secured_redis, decode_responses=True) as redis:
        deadline = time.monotonic() + 60
        while not redis.exists("blastdoor:decision:model:flash"):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        with pytest.raises(NoPermissionError):
            redis.get("somebody:else")
        with pytest.raises(NoPermissionError):
            redis.flushall()
    seen = subprocess.run(
        ["ps", "-o", "args", "-p", str(process.pid)], capture_output=True, text=True, check=True
    ).stdout
    with urllib.request.urlopen(f"http://{http}/metrics", timeout=30) as answer:
        seen += answer.read().decode()
    process.terminate()
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    for secret in (PASSWORD, REDIS_PASSWORD):
        assert secret not in seen + said


def test_a_password_is_not_taken_from_the_command_line(secured_redis: str) -> None:
    """It would stand in `ps`; the message says where to put it and does not repeat it."""
    argv = command("worker", "--redis", secured_redis)
    found = subprocess.run(argv, env=surroundings({}), capture_output=True, text=True, cwd=ROOT, check=False)
    assert found.returncode == 2
    assert "BLASTDOOR_REDIS" in found.stderr
    assert REDIS_PASSWORD not in found.stderr


def test_the_page_has_the_rights_that_were_tested() -> None:
    """What an operator copies is what the worker ran with."""
    page = " ".join((ROOT / "docs" / "security.md").read_text().split())
    assert ACL in page
