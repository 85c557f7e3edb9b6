"""The two wheels hold what the tree holds, no more and no less."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, files

# Documentation and Rust's sources are read in the repository, not where the package is installed.
NOT_SHIPPED = {".md", ".rs", ".toml", ".lock"}

# Lies in a tree where there was a compiler.
COMPILED = Path("native/counting.so")

BUILD = "from setuptools.build_meta import build_wheel; print(build_wheel({!r}))"


def wheel(project: Path, copy: Path) -> set[Path]:
    """Builds a project's wheel from a copy of its files; the members outside `dist-info`."""
    for path in files():
        if path.is_relative_to(project):
            target = copy / path.relative_to(project)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, target)
    (copy / COMPILED).parent.mkdir(exist_ok=True)
    (copy / COMPILED).touch()
    out = copy.with_name("out")
    out.mkdir()
    run = subprocess.run(
        [sys.executable, "-c", BUILD.format(str(out))], cwd=copy, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    (built,) = out.glob("*-py3-none-any.whl")
    members = {Path(name) for name in zipfile.ZipFile(built).namelist() if not name.endswith("/")}
    return {member for member in members if not member.parts[0].endswith(".dist-info")}


@pytest.mark.parametrize(
    ("project", "packages"),
    [(Path(), ("native", "rules", "streams")), (Path("gateway"), ("blastdoor_gateway",))],
    ids=["blastdoor", "blastdoor-gateway"],
)
def test_the_wheel_is_complete(project: Path, packages: tuple[str, ...], tmp_path: Path) -> None:
    """Every file of the packages is in the wheel, and nothing else is: nothing compiled, as it is for every machine."""
    below = {path.relative_to(project) for path in files() if path.is_relative_to(project)}
    tree = {path for path in below if path.parts[0] in packages and path.suffix not in NOT_SHIPPED}
    assert wheel(project, tmp_path / "copy") == tree
