"""What a missing part does to a run of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A run of pytest of its own, with two parts: one that is here and one that is not.
RUN = """
import sys, pytest
from tests.require import Requirements
parts = {"here": lambda: None, "absent": lambda: "no absentd on the PATH"}
options = ["-q", "-rs", "-p", "no:cacheprovider", "-W", "ignore", sys.argv[2]]
sys.exit(pytest.main(options, plugins=[Requirements(sys.argv[1], parts)]))
"""

HERE = "import pytest\n@pytest.mark.here\ndef test_it(): pass\n"
ABSENT = "import pytest\n@pytest.mark.absent\ndef test_it(): pass\n"
SKIPPING = "import pytest\ndef test_it(): pytest.skip('not today')\n"
SKIPPED_FILE = "import pytest\npytest.skip('not here', allow_module_level=True)\n"


def run(required: str, source: str, directory: Path) -> tuple[int, str]:
    """Exit code and output of a run over one test file."""
    (directory / "test_it.py").write_text(source + "\ndef test_other(): pass\n")
    (directory / "pytest.ini").write_text("[pytest]\n")  # else settings of a folder above would hold
    argv = [sys.executable, "-c", RUN, required, "test_it.py"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(argv, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_missing_part_is_skipped_by_name(tmp_path: Path) -> None:
    """Without a demand the run passes and says which part was missing and why."""
    code, said = run("", ABSENT, tmp_path)
    assert code == 0
    assert "part absent: no absentd on the PATH" in said


@pytest.mark.parametrize("required", ["all", "absent", "here,absent"])
def test_a_missing_part_that_is_required_fails(required: str, tmp_path: Path) -> None:
    """Under `all`, or under its name, a missing part is a failure."""
    code, said = run(required, ABSENT, tmp_path)
    assert code == 1
    assert "part absent: no absentd on the PATH (BLASTDOOR_REQUIRE" in said


def test_a_part_that_was_not_required_is_skipped(tmp_path: Path) -> None:
    """Requiring one part says nothing about another."""
    assert run("here", ABSENT, tmp_path)[0] == 0


def test_what_is_here_runs(tmp_path: Path) -> None:
    """With every part at hand `all` passes."""
    code, said = run("all", HERE, tmp_path)
    assert code == 0
    assert "2 passed" in said


@pytest.mark.parametrize("source", [SKIPPING, SKIPPED_FILE], ids=["a test", "a file"])
def test_under_all_nothing_may_be_skipped(source: str, tmp_path: Path) -> None:
    """A skip for any other reason fails the run as well, and is named."""
    code, said = run("all", source, tmp_path)
    assert code == 1
    assert "skipped, though BLASTDOOR_REQUIRE=all" in said
    assert run("", source, tmp_path)[0] in {0, pytest.ExitCode.NO_TESTS_COLLECTED}


def test_a_misspelt_part_is_refused(tmp_path: Path) -> None:
    """A part nobody knows would require nothing, so the run does not even start."""
    code, said = run("reddis", HERE, tmp_path)
    assert code != 0
    assert "unknown parts: reddis; known: all, here, absent" in said
