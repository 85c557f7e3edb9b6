"""Which scopes time alone makes it worth to look at again, so that names which callers make up do not cost a look each
second.

A scope of which no balance was ever heard has no limit that could change; it is looked at once a minute and after a
day change, a few at a time, the longest unseen first.
"""

from __future__ import annotations

from collections.abc import Iterator

from rules.facts import Scope
from rules.moment import MINUTE, Millis

PAUSE: Millis = MINUTE
AT_ONCE = 200


class Rounds:
    """When each scope was looked at last."""

    def __init__(self) -> None:
        self._looked: dict[Scope, Millis] = {}  # the longest unseen first

    def looked(self, scope: Scope, now: Millis) -> None:
        self._looked.pop(scope, None)
        self._looked[scope] = now

    def forget(self, scope: Scope) -> None:
        self._looked.pop(scope, None)

    def due(self, now: Millis, day_start: Millis) -> Iterator[Scope]:
        """Those whose turn it is. A look in the future was one by a clock that has been set back since."""
        for scope, at in list(self._looked.items())[:AT_ONCE]:
            if max(now - PAUSE, day_start - 1) < at <= now:
                return
            yield scope
