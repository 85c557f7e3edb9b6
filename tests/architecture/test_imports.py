"""Who may import whom. The core knows nothing of the shell, the gateway nothing of either."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.tree import PRODUCT, ROOT, imports, module, parsed, sources, within

# What the core may take from the standard library: values and arithmetic. No clock, no chance, no files, no network.
PURE = {
    "__future__", "ast", "base64", "bisect", "collections", "contextlib", "dataclasses", "datetime", "decimal",
    "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "ipaddress", "itertools", "json", "math",
    "operator", "re", "statistics", "string", "struct", "types", "typing", "unicodedata", "urllib.parse", "zlib",
    "zoneinfo",
}  # fmt: skip
CORE_WHEELS = {"msgspec", "cel"}

# What the counting core in Rust is called with, and what it stands in for.
NATIVE = PURE | {"array", "ctypes", "msgspec", "native", "pathlib", "rules", "weakref"}
# Who may know that there is one: what counts, and what measures. Everybody else sees the same results from either.
COUNTING = ("streams.counting", "streams.meter", "bench")
SHELL = {
    "aiokafka",
    "cel",
    "click",
    "faust",
    "mode",
    "msgspec",
    "native",
    "prometheus_client",
    "rich",
    "rules",
    "streams",
    "yaml",
}

# Calls that ask the world: the clock, files, the terminal.
IMPURE_CALLS = {"now", "utcnow", "today", "open", "print", "input", "read_text", "write_text"}

# The whole way on one screen, and who starts it.
TOP = ("streams.pipeline", "streams.app")
STARTERS = ("streams.worker", "streams.commands")


def called(path: Path) -> set[str]:
    """The last names of all that a file calls."""
    calls = [node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def test_the_core_imports_only_values() -> None:
    """`rules` takes from the standard library what computes, msgspec and CEL, and itself."""
    allowed = ("rules", *PURE, *CORE_WHEELS)
    assert [
        (str(path), name) for path in sources("rules") for name in imports(path) if not within(name, *allowed)
    ] == []


def test_the_core_asks_nobody_the_time() -> None:
    """`rules` calls no clock, opens nothing and prints nothing: what it needs is passed in."""
    assert {str(path): found for path in sources("rules") if (found := called(path) & IMPURE_CALLS)} == {}


def test_the_native_side_imports_only_values() -> None:
    """`native` takes what a call into a library needs, msgspec and the core: nothing of the shell."""
    named = {(str(path), name) for path in sources("native") for name in imports(path)}
    assert {(path, name) for path, name in named if not within(name, *NATIVE)} == set()


def test_few_know_of_the_native_side() -> None:
    """Only what counts imports `native`, so that Python can count in its place."""
    knowing = {module(path) for path in sources(*PRODUCT) if any(within(name, "native") for name in imports(path))}
    assert {name for name in knowing if not within(name, "native", *COUNTING)} == set()


@pytest.mark.parametrize("top", ["native", "rules", "streams"])
def test_there_is_a_reading_order(top: str) -> None:
    """No module imports one that imports it: whoever reads in order meets nothing unknown."""
    ours = {module(path): path for path in sources(top)}
    graph = {name: {other for other in imports(path) if other in ours and other != name} for name, path in ours.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(f"these import each other: {' -> '.join(cycle.args[1])}")


def test_nothing_leans_on_the_top() -> None:
    """`pipeline` puts everything together; only what starts a worker imports it."""
    leaning = {
        module(path)
        for path in sources("native", "rules", "streams", "gateway")
        if any(within(name, *TOP) for name in imports(path)) and not within(module(path), *TOP, *STARTERS)
    }
    assert leaning == set()


def test_one_module_reads_the_environment() -> None:
    """Only `streams/settings.py` knows environment variables."""
    reading = {
        str(path)
        for path in sources("native", "rules", "streams")
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"})
        or (isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & {"environ", "getenv"})
    }
    assert reading == {"streams/settings.py"}


def test_the_gateway_stays_light() -> None:
    """What a gateway's process installs knows neither the engine nor what the engine stands on."""
    heavy = SHELL - {"aiokafka", "prometheus_client"}  # extras, imported where they are used
    assert [(str(path), name) for path in sources("gateway") for name in imports(path) if within(name, *heavy)] == []


def test_the_contract_needs_the_standard_library_only() -> None:
    """`contract.py` is imported by every gateway: its imports are Python's own."""
    names = imports(Path("gateway/blastdoor_gateway/contract.py"))
    assert {name for name in names if name.split(".")[0] not in sys.stdlib_module_names} == set()


def test_importing_the_contract_loads_nothing_else() -> None:
    """The same as it runs: a fresh interpreter that imports the contract has none of the engine's modules."""
    code = "import sys, blastdoor_gateway.contract; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "gateway"
    )
    assert SHELL & set(run.stdout.split()) == set()


def test_importing_the_guard_loads_redis_and_nothing_else() -> None:
    """A gateway that admits calls has redis-py in its process; extras come with their use."""
    names = ("guard", "sync_guard", "settings", "asgi")
    code = f"import sys, {', '.join(f'blastdoor_gateway.{name}' for name in names)}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "gateway")
    extras = {"rapidfuzz", "litellm", "fastapi", "starlette"}
    assert (SHELL | extras) & {name.split(".")[0] for name in run.stdout.split()} == set()


def test_the_command_line_answers_at_once() -> None:
    """`blastdoor --help` loads neither Faust nor aiokafka: a subcommand's module comes with its use."""
    code = "import sys; from streams.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "Commands:" in run.stdout
    assert {"faust", "aiokafka", "redis", "aiohttp", "rich"} & set(run.stdout.splitlines()[-1].split()) == set()


def test_a_replay_loads_what_it_needs() -> None:
    """No client of Kafka, and not the command line of the library for conditions: a third of the time to its start."""
    code = "import sys, streams.cli, streams.commands.replay; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {"aiokafka", "faust", "redis", "aiohttp", "prompt_toolkit", "typer"} & set(run.stdout.split()) == set()
