"""The wheels, installed apart from the tree, start what the containers start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.test_distributions import BUILD
from tests.architecture.tree import ROOT, files


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both distributions, and their scripts in `bin`."""
    base = tmp_path_factory.mktemp("wheels")
    for project in (Path("gateway"), Path()):
        copy = base / f"copy-{project.name or 'blastdoor'}"
        for path in files():
            if path.is_relative_to(project):
                target = copy / path.relative_to(project)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, target)
        run = [sys.executable, "-c", BUILD.format(str(base / "wheels"))]
        (base / "wheels").mkdir(exist_ok=True)
        subprocess.run(run, cwd=copy, capture_output=True, check=True)
    wheels = [str(path) for path in (base / "wheels").glob("*.whl")]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(base / "there"),
    ]
    subprocess.run([*pip, *wheels], check=True, capture_output=True)
    return base / "there"


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(installed / "bin" / "blastdoor"), *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLASTDOOR")}
    return subprocess.run(
        argv,
        cwd=installed,
        env=environment | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_runs_is_what_was_built(installed: Path) -> None:
    """Not the tree, which may be installed here as well."""
    code = (
        "import streams, rules, native, blastdoor_gateway as gateway;"
        "print(*(each.__file__ for each in (streams, rules, native, gateway)))"
    )
    argv = [sys.executable, "-c", code]
    found = subprocess.run(
        argv, cwd=installed, env=os.environ | {"PYTHONPATH": str(installed)}, capture_output=True, text=True, check=True
    )
    assert all(place.startswith(str(installed)) for place in found.stdout.split())


@pytest.mark.parametrize("command", ["worker", "poll", "doctor", "ship", "check-policy"])
def test_the_entry_points_start(installed: Path, command: str) -> None:
    """Each imports all that it needs, data files included."""
    found = run(installed, command, "--help")
    assert found.returncode == 0, found.stderr


def test_the_policy_of_the_containers_is_accepted(installed: Path) -> None:
    """By the wheel's own check, with the rules it carries."""
    found = run(installed, "check-policy", "--without-secrets", str(ROOT / "deploy" / "policy.yaml"))
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_worker_without_a_broker_says_so(installed: Path) -> None:
    """The same exit code by which a container is started again."""
    found = run(installed, "worker", "--kafka", "127.0.0.1:1", "--http", "127.0.0.1:0")
    assert found.returncode == 1
    assert "no Kafka broker answers" in found.stderr
