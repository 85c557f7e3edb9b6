"""Settlements that Redis has not taken yet. They are kept in order and sent again; each is recognised by its request,
so one that was taken although its answer was lost counts once."""

from __future__ import annotations

from collections import deque

from blastdoor_gateway.scripts import Call


class Backlog:
    """At most `most` calls. What does not fit is lost here; the engine still counts it from its event."""

    def __init__(self, most: int = 10_000) -> None:
        self._calls: deque[Call] = deque()
        self._most = most

    def keep(self, call: Call) -> bool:
        """Whether there was room."""
        if len(self._calls) >= self._most:
            return False
        self._calls.append(call)
        return True

    def take(self) -> Call | None:
        """The oldest; it is the caller's now."""
        return self._calls.popleft() if self._calls else None

    def put_back(self, call: Call) -> None:
        """It was not taken: it is the oldest again."""
        self._calls.appendleft(call)

    def __len__(self) -> int:
        return len(self._calls)
