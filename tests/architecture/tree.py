"""The tree as the architecture tests see it: files that are or would be committed, and what they import."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("native", "rules", "streams", "gateway", "bench", "dashboards")


@cache
def files() -> tuple[Path, ...]:
    """Every file that git tracks or would add, relative to the root."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(sorted(Path(name) for name in set(names) if name and (ROOT / name).is_file()))


def sources(*tops: str) -> list[Path]:
    """The Python files below these top-level directories."""
    return [path for path in files() if path.suffix == ".py" and path.parts[0] in tops]


@cache
def text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text(path), filename=str(path))


def module(path: Path) -> str:
    """`rules/intake/__init__.py` is `rules.intake`; the gateway's distribution begins below its directory."""
    parts = path.with_suffix("").parts
    parts = parts[1:] if parts[0] == "gateway" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    """Every module this file names in an import, wherever it stands; relative ones made absolute."""
    package = module(path) if path.name == "__init__.py" else module(path).rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= _from(node, package)
    return found


def _from(node: ast.ImportFrom, package: str) -> set[str]:
    """`from rules import pool` names `rules.pool` when that is a module, else `rules`."""
    kept = package.split(".")[: len(package.split(".")) - node.level + 1]
    base = ".".join([*kept, node.module] if node.module else kept) if node.level else str(node.module)
    return {full if (full := f"{base}.{alias.name}") in _ours() else base for alias in node.names}


@cache
def _ours() -> frozenset[str]:
    return frozenset(module(path) for path in sources(*PRODUCT))


def within(name: str, *tops: str) -> bool:
    """Whether a module is one of these or below one of them."""
    return any(name == top or name.startswith(f"{top}.") for top in tops)
