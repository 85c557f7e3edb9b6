"""The wall clock, for those who are not given another."""

from __future__ import annotations

import time

from rules.moment import Millis


def wall_clock() -> Millis:
    """Now."""
    return time.time_ns() // 1_000_000
