"""The parts tests need: what is missing is skipped by name, or fails where BLASTDOOR_REQUIRE says it must be here.

A test names its parts by markers (`@pytest.mark.kafka`). `BLASTDOOR_REQUIRE=kafka,redis7` makes the absence of these a
failure; `BLASTDOOR_REQUIRE=all` that of every part, and then the whole run fails if anything was skipped for whatever
reason.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streams.embedded import broker as embedded_broker
from streams.embedded import redis_server
from tests.kafka.apache import ApacheKafka
from tests.parts import PARTS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

REQUIRED = frozenset(os.environ.get("BLASTDOOR_REQUIRE", "").replace(",", " ").split())
ALL = "all" in REQUIRED
UNHURT = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}

skipped = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Raises UsageError for a part nobody knows: a misspelt one would require nothing."""
    config.stash[skipped] = []
    if unknown := REQUIRED - PARTS.keys() - {"all"}:
        msg = f"BLASTDOOR_REQUIRE names unknown parts: {', '.join(sorted(unknown))}; known: all, {', '.join(PARTS)}"
        raise pytest.UsageError(msg)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for part in (marker.name for marker in item.iter_markers() if marker.name in PARTS):
        if (missing := PARTS[part]()) is not None:
            reason = f"part {part}: {missing}"
            if ALL or part in REQUIRED:
                pytest.fail(f"{reason} (BLASTDOOR_REQUIRE)", pytrace=False)
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        item.config.stash[skipped].append(item.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        collector.config.stash[skipped].append(collector.nodeid)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if ALL and session.config.stash[skipped] and session.exitstatus in UNHURT:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if ALL and config.stash[skipped]:
        terminalreporter.section("skipped, though BLASTDOOR_REQUIRE=all", red=True, bold=True)
        for nodeid in config.stash[skipped]:
            terminalreporter.line(nodeid)


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """`host:port` of an embedded broker shared by the session: take topic and group names of your own."""
    server = embedded_broker.start()
    yield server.address
    server.child.stop()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """URL of an embedded Redis shared by the session: take a key prefix of your own."""
    server = redis_server.start()
    yield redis_server.url(server)
    server.child.stop()


@pytest.fixture(scope="session")
def redis7_url() -> Iterator[str]:
    """URL of the system's redis-server 7, started for the session on a free port."""
    server = redis_server.start(binary=Path(str(shutil.which("redis-server"))))
    yield redis_server.url(server)
    server.child.stop()


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of an Apache Kafka shared by the session: take topic and group names of your own."""
    kafka = ApacheKafka.start(tmp_path_factory.mktemp("apache-kafka"))
    yield kafka.address
    kafka.stop()
