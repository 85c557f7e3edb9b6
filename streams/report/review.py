"""Looks on while a recording is replayed: what each formula's limits were worth, and the points of a picture."""

from __future__ import annotations

from collections.abc import Iterable

from rules.facts import Scope
from rules.hindsight import Hindsight, Seen
from rules.moment import Millis
from rules.records import Refusal


class Review:
    """Every model's hindsight from `since` on. `keep`: every ruling seen is kept, for a picture."""

    def __init__(self, formulas: Iterable[str], since: Millis | None, *, keep: bool) -> None:
        self.models: dict[Scope, Hindsight] = {}
        self.seen: dict[Scope, list[Seen]] = {}
        self._formulas = tuple(formulas)
        self._since = since
        self._keep = keep

    def see(self, seen: Seen) -> None:
        """A ruling."""
        if self._since is not None and seen.at < self._since:
            return
        if seen.scope not in self.models:
            self.models[seen.scope] = Hindsight(seen.scope, self._formulas)
        self.models[seen.scope].see(seen)
        if self._keep:
            self.seen.setdefault(seen.scope, []).append(seen)

    def refuse(self, scope: Scope, refusal: Refusal) -> None:
        """A call that the recorded gate refused."""
        if scope in self.models:
            self.models[scope].refuse(refusal)

    def finish(self) -> None:
        """The recording has ended."""
        for hindsight in self.models.values():
            hindsight.finish()
