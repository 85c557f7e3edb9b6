"""`blastdoor` itself: its commands, and what it says of those that it has not."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from streams.cli import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help(name: str) -> None:
    """With its usage, and with an example that begins as a command of ours."""
    found = CliRunner().invoke(main, [name, "--help"])
    assert found.exit_code == 0
    assert found.output.startswith(f"Usage: main {name}")
    assert re.search(rf"Examples?:\n[^-]* blastdoor {name}\b", found.output)


@pytest.mark.parametrize(
    ("typed", "meant"), [("repaly", "replay"), ("work", "worker"), ("checkpolicy", "check-policy")]
)
def test_a_mistyped_command_is_guessed(typed: str, meant: str) -> None:
    """And is a misuse: 2."""
    found = CliRunner().invoke(main, [typed, "file"])
    assert found.exit_code == 2
    assert f"there is no command '{typed}'; did you mean '{meant}'?" in found.output


def test_an_unknown_option_is_none_of_our_commands() -> None:
    """Click's own words are right for it."""
    assert "No such option" in CliRunner().invoke(main, ["--nonesuch"]).output
