"""`blastdoor` where nothing is installed but what it requires: `python -m tests.faults.bare worker …`.

Extras, what tests need, and whatever else lies in the environment cannot be imported.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata

PROJECT = "blastdoor"


def absent() -> set[str]:
    """The top-level modules of all distributions here that an installation without extras would not bring."""
    needed = _required(PROJECT, set())
    found = metadata.packages_distributions()
    return {module for module, owners in found.items() if not needed & {_normal(owner) for owner in owners}}


def _required(name: str, known: set[str]) -> set[str]:
    """The distribution and what it requires, all the way down. What is not here is for other systems."""
    try:
        wanted = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return known
    known.add(_normal(name))
    for each in wanted:
        other = _normal(re.split(r"[^\w.-]", each, maxsplit=1)[0])
        if "extra ==" not in each and other not in known:
            _required(other, known)
    return known


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(absent()))  # type: ignore[arg-type]  # None: an import fails as if it were not there
    from tests.faults.blockable import run

    run()
