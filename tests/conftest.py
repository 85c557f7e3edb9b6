"""Parts and servers that every test may ask for."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from streams.embedded import broker as embedded_broker
from streams.embedded import redis_server
from tests.chromium import Chromium
from tests.kafka.apache import ApacheKafka
from tests.parts import PARTS
from tests.require import Requirements

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long an example takes is a matter of what else the machine does. Where every part must be here, a commit has
# always the same examples: what passed once passes again. Elsewhere they are new ones each time.
settings.register_profile(
    "unhurried", settings.default, deadline=None, derandomize=bool(os.environ.get("BLASTDOOR_REQUIRE"))
)
settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Requirements(os.environ.get("BLASTDOOR_REQUIRE", ""), PARTS))


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """A command run within the test's process sets up logging as it would for its own; the next test has ours."""
    loggers = [logging.getLogger(name) for name in (None, "faust", "mode", "mode.timers", "aiokafka", "asyncio")]
    levels, handlers = [logger.level for logger in loggers], logging.root.handlers[:]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    logging.root.handlers[:] = handlers


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


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """DevTools address of a headless Chromium shared by the session: open pages of your own."""
    browser = Chromium(tmp_path_factory.mktemp("chromium"))
    yield browser.url
    browser.stop()
