"""A VolcEngine that is not one, and what asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.policy import Provider
from streams.poll.provider import Surroundings
from tests.streams.poll.fake_volcengine import FakeVolcEngine

NOW = 1_795_993_200_000  # 2026-11-29T23:00:00Z


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    """Shanghai, a second to 23:00Z on 2026-11-29, and no waiting."""

    async def sleep(_: float) -> None:
        return None

    return Surroundings(ZoneInfo("Asia/Shanghai"), lambda: NOW, sleep, tmp_path)


@pytest.fixture
async def fake() -> AsyncIterator[FakeVolcEngine]:
    async with FakeVolcEngine() as running:
        yield running


@pytest.fixture
def volcengine(fake: FakeVolcEngine, around: Surroundings) -> Callable[..., Any]:
    """Makes the provider; keyword arguments are fields of the policy's entry."""
    from streams.poll.volcengine import VolcEngine

    def make(secret: str = "SKTEST", access: str = "AKTEST", **fields: Any) -> VolcEngine:
        packages = {"flash": ("reward_flash",), "seed": ("/bd_.*seed_1_6/",)}
        spec = Provider(**{"name": "ark", "kind": "volcengine", "host": fake.url, "packages": packages} | fields)
        return VolcEngine(spec, {"access_key": access, "secret_key": secret}, around)

    return make
