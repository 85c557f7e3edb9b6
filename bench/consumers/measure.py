"""A stopwatch for a process that reads a log, and the one line in which it reports."""

from __future__ import annotations

import json
import resource
import time


class Stopwatch:
    """Starts with the first event and stops with the last that is wanted."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._seen = 0
        self._skipped = 0
        self._began = self._cpu = 0.0

    def take(self, events: int) -> bool:
        """Count events that were just handled; true once there were enough. The first lot starts the watch."""
        self._seen += events
        if not self._began:
            self._skipped = self._seen
            self._began, self._cpu = time.monotonic(), time.process_time()
        return self._seen >= self._wanted

    def report(self) -> None:
        """Print events, seconds, seconds of CPU and the most memory ever held, in MB."""
        print(
            json.dumps(
                {
                    "events": self._seen - self._skipped,
                    "seconds": time.monotonic() - self._began,
                    "cpu": time.process_time() - self._cpu,
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                }
            ),
            flush=True,
        )
