"""What aiokafka says of a connection that fails: its reason goes into our own one line, not into the log beside it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_TALK = logging.getLogger("aiokafka")
_NOBODY = "Connect call failed"  # nothing listens there, which our own words say already


class Overheard(logging.Filter):
    """Keeps the last reason, and lets nothing through."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = ""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and record.args and _NOBODY not in str(record.args[-1]):
            self.reason = " ".join(str(record.args[-1]).split())
        return False

    def about(self, message: str) -> str:
        """Our words with the reason, where one was given."""
        return f"{message}: {self.reason}" if self.reason else message


@contextmanager
def overheard() -> Iterator[Overheard]:
    """While it lasts aiokafka's errors are heard here and nowhere else."""
    found, level = Overheard(), _TALK.level
    _TALK.setLevel(min(level or logging.WARNING, logging.ERROR))
    _TALK.addFilter(found)
    try:
        yield found
    finally:
        _TALK.removeFilter(found)
        _TALK.setLevel(level)
