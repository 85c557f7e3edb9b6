"""Who counts: the compiled core where it was built, else Python, with the same answers."""

from __future__ import annotations

import logging
from collections.abc import Callable

from native.counter import Counter
from native.library import PATH, library
from streams.settings import SettingsError

log = logging.getLogger(__name__)

MakeCounter = Callable[[], Counter | None]
"""Called for each partition; None: `rules` counts call by call."""


def counting_of(wanted: str) -> MakeCounter:
    """`wanted`: auto, native or python. Raises SettingsError if it must be native and cannot be."""
    if wanted == "python":
        return in_python
    if library() is not None:
        return Counter
    if wanted == "native":
        raise SettingsError(f"BLASTDOOR_COUNTING is native, but {PATH} was not built, or for another version")
    log.info("counting in Python: two to three times as fast with the compiled core (docs/deploy.md)")
    return in_python


def in_python() -> None:
    """No counter."""
