"""`blastdoor worker` as its supervisor sees it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from streams.commands.worker import command
from streams.supervisor import MISUSE

if TYPE_CHECKING:
    from pathlib import Path


def test_a_mistake_of_the_operator_s_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    """A policy that is wrong ends the worker with 2 and the reason: nobody need start it again."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("timezone: Nowhere/Atlantis\n")
    done = CliRunner().invoke(command, ["--policy", str(policy)])
    assert done.exit_code == MISUSE
    assert "timezone" in done.output


def test_a_broker_that_is_not_there_is_told_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Without the client's own talk beside it, and with 1: it may come."""
    done = CliRunner().invoke(command, ["--http", "127.0.0.1:0", "--kafka", "127.0.0.1:1"])
    assert done.exit_code == 1
    assert done.output.endswith("Error: no Kafka broker answers at 127.0.0.1:1\n")
    assert "aiokafka" not in done.output + capfd.readouterr().err


def test_a_taken_port_is_told_in_one_line() -> None:
    """Before Kafka is asked for, with 1: whoever holds the port may leave, so starting again is worth a try."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = CliRunner().invoke(command, ["--http", address, "--kafka", "127.0.0.1:1"])
    assert done.exit_code == 1
    assert done.output.startswith(f"Error: cannot listen on {address}: Address already in use")
    assert len(done.output.splitlines()) == 1
