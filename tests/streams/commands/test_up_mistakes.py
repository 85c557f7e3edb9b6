"""`blastdoor up` says what would end every worker before it starts anything."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from streams.commands import up
from streams.supervisor import MISUSE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        pytest.fail("parts were started")

    monkeypatch.setattr(up, "run", start)


def test_a_wrong_policy_is_told_at_once(tmp_path: Path) -> None:
    """Once, with the exit code of a mistake, not as the last words of a worker."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("timezone: Nowhere/Atlantis\n")
    done = CliRunner().invoke(up.command, ["--policy", str(policy)])
    assert done.exit_code == MISUSE
    assert done.output.count("timezone") == 1


def test_a_taken_port_is_told_at_once() -> None:
    """With its address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = CliRunner().invoke(up.command, ["--http", address])
    assert done.exit_code == MISUSE
    assert done.output == f"Error: cannot listen on {address}: Address already in use\n"
