"""`blastdoor worker` as its supervisor sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
