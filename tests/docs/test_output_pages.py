"""docs/explain.md and docs/replay.md show what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.commands import explain, replay

ROOT = Path(__file__).parents[2]
COMMANDS = {"explain": explain.command, "replay": replay.command}
BLOCKS = [
    (page, block)
    for page in ("explain.md", "replay.md")
    for block in re.findall(r"```console\n(\$ .*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    if "streams/samples" in block
]


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page}-{number}" for number, (page, _) in enumerate(BLOCKS)])
def test_the_output_is_real(page: str, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who runs the same command on the same recordings sees the same."""
    monkeypatch.chdir(ROOT)
    typed, _, shown = block.replace("\\\n", " ").partition("\n")
    _, _, name, *arguments = shlex.split(typed)
    found = CliRunner().invoke(COMMANDS[name], arguments, env={"BLASTDOOR_POLICY": None})
    assert found.exit_code == 0
    assert [line.rstrip() for line in found.stdout.splitlines()] == shown.splitlines()


def test_each_page_shows_something() -> None:
    """Both pages have an output that is checked."""
    assert {page for page, _ in BLOCKS} == {"explain.md", "replay.md"}
