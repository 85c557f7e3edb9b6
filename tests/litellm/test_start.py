"""LiteLLM's start with the gate in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.gateway.redis_of_ones_own import OwnRedis
from tests.litellm.conftest import LITELLM, ROOT

pytestmark = [pytest.mark.litellm, pytest.mark.embedded, pytest.mark.timeout(180)]

UNHOOKED = "from blastdoor_gateway import admit_call; admit_call._pace = lambda *_: (1, 10**6); "
HANDLER = "from blastdoor_gateway.litellm import handler"


def test_a_limit_that_holds_nothing_keeps_the_proxy_from_starting(own_redis: OwnRedis, tmp_path: Path) -> None:
    """The handler that LiteLLM asks for is only there if every configured layer refused its trial."""
    gate = tmp_path / "gate.toml"
    gate.write_text("wait_seconds = 30\n")
    given = {"PYTHONPATH": str(ROOT / "gateway"), "BLASTDOOR_REDIS": own_redis.url, "BLASTDOOR_GATE": str(gate)}
    given |= {"BLASTDOOR_PREFIX": "starting", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    argv = [str(LITELLM.parent / "python"), "-c", UNHOOKED + HANDLER]
    found = subprocess.run(argv, env=os.environ | given, capture_output=True, text=True, check=False)
    assert "SelfTestError: configured, but not held against calls: per_ip" in found.stderr
    assert found.returncode == 1
