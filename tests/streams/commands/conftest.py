"""A prefix of one's own on the shared broker."""

from __future__ import annotations

import itertools

import pytest

from tests.streams.ship.conftest import Target

_numbers = itertools.count(1)


@pytest.fixture
def target(broker: str) -> Target:
    return Target(broker, f"command-{next(_numbers)}")
