"""Calls that passed while Redis could not be asked: counted here, and told to the engine when it can be asked again.

The engine tells people. What one process counted stands in its own field, so no process overwrites another's.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable

from blastdoor_gateway.admission import Outage
from blastdoor_gateway.calendar import Millis
from blastdoor_gateway.contract import Keys
from blastdoor_gateway.scripts import REPORT, Call, call_of

LIVES: Millis = 3_600_000  # the engine believes a report for ten minutes


class Unasked:
    """Of one process. `calls` 0: there is nothing to tell."""

    def __init__(self, keys: Keys, clock: Callable[[], Millis]) -> None:
        self._keys = keys
        self._clock = clock
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._why = ""
        self.calls = 0

    def note(self, cause: Outage) -> None:
        """One more passed."""
        self.calls += 1
        self._why = cause.value

    def report(self) -> Call:
        """Tell the engine."""
        text = json.dumps({"at": self._clock(), "calls": self.calls, "why": self._why})
        return call_of(REPORT, {"gates": self._keys.open_gates}, {"gate": self._name, "report": text, "lives": LIVES})

    def told(self, calls: int) -> None:
        """The engine knows of so many."""
        self.calls = max(0, self.calls - calls)
