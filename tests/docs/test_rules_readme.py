"""rules/README.md says what is there: every file in its reading order, each after those it imports."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.tree import imports, module, sources

PAGE = (Path(__file__).parents[2] / "rules" / "README.md").read_text()
ORDER = [
    name.removesuffix(".py").rstrip("/") for name in re.findall(r"`(\w+(?:\.py|/))`", PAGE.split("## Reading order")[1])
]


def top(name: str) -> str:
    """The file or directory of `rules` that a module is in."""
    return name.split(".")[1]


MODULES = {module(path): path for path in sources("rules") if module(path) != "rules"}


def test_every_file_has_its_place() -> None:
    """Whoever reads in order reads everything."""
    assert {top(name) for name in MODULES} - set(ORDER) == set()


def test_each_file_imports_only_earlier_ones() -> None:
    """Nobody meets a name that was not explained before."""
    place = {name: number for number, name in reversed(list(enumerate(ORDER)))}
    late = {
        (top(name), top(other))
        for name, path in MODULES.items()
        for other in imports(path)
        if other in MODULES and place[top(other)] > place[top(name)]
    }
    assert late == set()
