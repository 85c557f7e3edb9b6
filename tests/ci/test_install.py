"""`make install` and `make` on machines that lack something."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Interpreters of another kind: what they answer to `-V`, and which of our two questions they fail.
OLD = '#!/bin/sh\ncase "$*" in -V) echo Python 3.9.2;; *version_info*) exit 1;; esac\n'
NO_VENV = '#!/bin/sh\ncase "$*" in *venv*) exit 1;; esac\n'


def install(directory: Path, interpreter: str) -> subprocess.CompletedProcess[str]:
    """`make install` in a directory that has only what it needs."""
    (directory / ".ci").mkdir()
    (directory / "gateway").mkdir()
    for name in ("Makefile", ".ci/install", ".ci/native"):
        shutil.copy(ROOT / name, directory / name)
    for name in ("requirements.lock", "pyproject.toml", "gateway/pyproject.toml"):
        (directory / name).touch()
    argv = ["make", "-s", "install", f"PYTHON={interpreter}"]
    return subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        pytest.param(OLD, "is Python 3.9.2, but blastdoor needs Python 3.11 or newer", id="too old"),
        pytest.param(NO_VENV, "apt-get install python3-venv", id="no venv"),
        pytest.param(None, "install Python 3.11 or newer", id="no Python"),
    ],
)
def test_an_unfit_machine_is_told_what_to_do(source: str | None, complaint: str, tmp_path: Path) -> None:
    """Too old, without venv, or absent: the message names the fault and the way out, and nothing is left half done."""
    interpreter = tmp_path / "python"
    if source is not None:
        interpreter.write_text(source)
        interpreter.chmod(0o755)
    done = install(tmp_path, str(interpreter))
    assert done.returncode != 0
    assert complaint in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_make_alone_lists_every_target() -> None:
    """Each public target has a line with a description, and `make` shows them."""
    shown = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    makefile = (ROOT / "Makefile").read_text()
    public = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split())
    assert {line.split()[1] for line in shown.splitlines()} == public


def test_a_target_is_one_line() -> None:
    """Every recipe has a single line."""
    recipes = re.findall(r"^[a-z./]+:.*\n((?:\t.*\n?)*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert max(recipe.count("\t") for recipe in recipes) == 1


def test_the_lock_pins_and_hashes_everything() -> None:
    """Each requirement has one exact version and at least one hash."""
    text = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert len(entries) > 50
    exact = re.compile(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", re.DOTALL)
    assert [entry.split()[0] for entry in entries if not exact.match(entry)] == []


def test_the_lock_holds_every_direct_requirement() -> None:
    """What pyproject.toml asks for, its extras included, is in the lock: a forgotten `make lock` is noticed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = sum(project["optional-dependencies"].values(), project["dependencies"])
    names = {re.split(r"[=<>;\[ ]", need)[0].lower() for need in wanted} - {"blastdoor-gateway"}
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    assert names - locked == set()
