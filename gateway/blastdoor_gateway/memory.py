"""What one process remembers. All of it may be lost: it saves round trips, and mends a Redis that forgot."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from blastdoor_gateway.admit_call import Common

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The entries used last, at most `most` of them."""

    def __init__(self, most: int) -> None:
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._most = most

    def get(self, key: K) -> V | None:
        """Asking for an entry is using it."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def keys(self) -> list[K]:
        """All of them, the one used last at the end."""
        return list(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)


class Memory:
    """`floors`: the highest count seen under a key. Counts only grow, so a Redis that shows less has lost some.

    `common`: what calls of one kind have in common; `budgets`: of that, where a tenant's budgets stand. `counters`:
    which counter the engine keeps for a scope. `settled`: requests this process settled, recognised even when Redis has
    lost its own mark.
    """

    def __init__(self, most: int = 20_000) -> None:
        self.floors: Recent[str, int] = Recent(most)
        self.counters: Recent[str, str] = Recent(most)
        self.budgets: Recent[Hashable, dict[str, str]] = Recent(most // 4)
        self.common: Recent[Hashable, Common] = Recent(most // 4)
        self.settled: Recent[str, None] = Recent(most)

    def raise_floor(self, key: str | None, count: str | int | None) -> None:
        """Remember a count seen."""
        if key is not None and count is not None and count != "":
            number = int(count)
            if number > (self.floors.get(key) or 0):
                self.floors.put(key, number)
