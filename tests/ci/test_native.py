"""`.ci/native` where there is a compiler and where there is none; what the crate has to be for the oldest one."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("cp", "dirname", "mkdir", "mv", "rm", "sh", "tail")

# A cargo that notes what it is asked, fails at what it is told to, and builds a library of one ending.
CARGO = """#!/bin/sh
echo "$*" >>asked
case "$*" in
    {fails}) echo 'error: expected `u32`' >&2; exit 101;;
    build*) mkdir -p .cache/native/release && echo new >.cache/native/release/libblastdoor_native.{ending};;
esac
"""


class Machine:
    """A tree with nothing but the script and the core of an earlier version, and a PATH without a compiler."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.core = place / "native" / "counting.so"
        for name in (".ci", "native", "bin", ".cargo/bin"):
            (place / name).mkdir(parents=True)
        shutil.copy(ROOT / ".ci" / "native", place / ".ci" / "native")
        for tool in TOOLS:
            (place / "bin" / tool).symlink_to(str(shutil.which(tool)))
        self.core.write_text("old\n")

    def install_cargo(self, where: str = "bin", fails: str = "nothing", ending: str = "so") -> None:
        cargo = self.place / where / "cargo"
        cargo.write_text(CARGO.format(fails=fails, ending=ending))
        cargo.chmod(0o755)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        argv = [str(self.place / "bin" / "sh"), ".ci/native", *arguments]
        seen = {"PATH": str(self.place / "bin"), "HOME": str(self.place)} | environment
        return subprocess.run(argv, cwd=self.place, env=seen, capture_output=True, text=True, check=False)

    def asked(self) -> list[str]:
        """The subcommands that cargo was given work with."""
        noted = self.place / "asked"
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [line.split()[0] for line in lines if not line.endswith("--version")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("broken", [False, True], ids=["no cargo", "no toolchain"])
def test_without_a_compiler_python_counts(broken: bool, machine: Machine) -> None:
    """The message says what that costs and the way out; it is no error, and nothing of an earlier version stays."""
    if broken:
        machine.install_cargo(fails="--version")
    done = machine.run(BLASTDOOR_REQUIRE="all")
    assert done.returncode == 0
    assert "Python counts, and a worker is half or a third as fast" in done.stderr
    assert "apt-get install cargo" in done.stderr
    assert not machine.core.exists()


@pytest.mark.parametrize(("required", "code"), [("", 0), ("all", 1)])
@pytest.mark.parametrize("ending", ["so", "nowhere"], ids=["compiler", "result"])
def test_a_failing_build_is_told(required: str, code: int, ending: str, machine: Machine) -> None:
    """With the last it said; an error only where parts must be here. The earlier version is gone in any case."""
    machine.install_cargo(fails="build*" if ending == "so" else "nothing", ending=ending)
    done = machine.run(BLASTDOOR_REQUIRE=required)
    assert done.returncode == code
    assert ("expected `u32`" if ending == "so" else "no library in .cache/native/release") in done.stderr
    assert "Python counts" in done.stderr
    assert list(machine.core.parent.iterdir()) == []


@pytest.mark.parametrize("where", ["bin", ".cargo/bin"])
@pytest.mark.parametrize("ending", ["so", "dylib"])
def test_what_was_built_takes_the_place(where: str, ending: str, machine: Machine) -> None:
    """From whichever cargo there is, under one name on every system, with nothing fetched and the lock as it is."""
    machine.install_cargo(where, ending=ending)
    done = machine.run(BLASTDOOR_REQUIRE="all")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.read_text() for path in machine.core.parent.iterdir()] == ["new\n"]
    assert {"--release", "--locked", "--offline"} <= set((machine.place / "asked").read_text().split())


def test_nobody_has_to_build(machine: Machine) -> None:
    """BLASTDOOR_NATIVE=0 takes the core away and asks no compiler."""
    machine.install_cargo()
    assert machine.run(BLASTDOOR_NATIVE="0").returncode == 0
    assert (machine.core.exists(), machine.asked()) == (False, [])


@pytest.mark.parametrize(
    ("lacks", "asked"), [("nothing", ["fmt", "clippy", "test"]), ("'fmt --version'|'clippy --version'", ["test"])]
)
def test_the_check_takes_what_is_here(lacks: str, asked: list[str], machine: Machine) -> None:
    """Format and lints come apart from cargo; tests do not."""
    machine.install_cargo(fails=lacks)
    assert machine.run("check").returncode == 0
    assert machine.asked() == asked


@pytest.mark.parametrize("finding", ["fmt", "clippy", "test"])
def test_a_finding_fails_the_check(finding: str, machine: Machine) -> None:
    """Whichever of the three has it."""
    machine.install_cargo(fails=f"{finding}*--manifest-path*")
    assert machine.run("check").returncode != 0


@pytest.mark.parametrize("built", [False, True], ids=["not built", "no cargo"])
def test_where_nothing_was_built_nothing_is_checked(built: bool, machine: Machine) -> None:
    """Whoever works on the Python side needs no Rust; where it has to be here, the build has failed before."""
    if not built:
        machine.install_cargo()
        machine.core.unlink()
    assert machine.run("check").returncode == 0
    assert machine.asked() == []


def test_every_compiler_since_debian_12_will_do() -> None:
    """The language of Rust 1.63, a lock in the form that its cargo reads, and nobody else's code."""
    manifest = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text())
    lock = tomllib.loads((ROOT / "native" / "Cargo.lock").read_text())
    assert (manifest["package"]["edition"], manifest["package"]["rust-version"]) == ("2021", "1.63")
    assert (lock["version"], [package["name"] for package in lock["package"]]) == (3, ["blastdoor-native"])
    assert {key for key in manifest if key.endswith("dependencies")} == set()
