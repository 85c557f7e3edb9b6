"""What Redis is to hold, and what of it is still to be written. Never more than one decision a scope, the newest."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from blastdoor_gateway.contract import Decision

from rules.legacy import LegacyInput
from rules.moment import Millis


class Entry(NamedTuple):
    """A scope's newest decision; `legacy` where v6 gates are to obey it, too."""

    decision: Decision
    legacy: LegacyInput | None


class Taken(NamedTuple):
    """An entry on its way to Redis. `since`: when its first unwritten change was offered; None: nothing had changed."""

    entry: Entry
    since: Millis | None


class Backlog:
    """Two queues over one dict: changes go first, what is only written again waits behind them."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._changed: dict[str, Millis] = {}
        self._again: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._changed) + len(self._again)

    def put(self, entry: Entry, at: Millis) -> bool:
        """Take the newest decision of a scope; says whether there is anything to write."""
        scope = entry.decision.scope
        held = self._entries.get(scope)
        if held is not None and not _is_newer(entry, held):
            return False
        self._entries[scope] = entry
        self._again.pop(scope, None)
        self._changed.setdefault(scope, at)
        return True

    def take(self, most: int) -> list[Taken]:
        """Up to `most` entries to be written now, oldest change first."""
        changed = [(scope, self._changed.pop(scope)) for scope in list(islice(self._changed, most))]
        again = list(islice(self._again, most - len(changed)))
        for scope in again:
            del self._again[scope]
        pairs: list[tuple[str, Millis | None]] = [*changed, *((scope, None) for scope in again)]
        return [Taken(self._entries[scope], since) for scope, since in pairs]

    def give_back(self, taken: Iterable[Taken]) -> None:
        """These were not written: they wait again, unless something newer does or their scope was forgotten."""
        for entry, since in taken:
            scope = entry.decision.scope
            if since is None:
                self.again([scope])
            elif scope in self._entries:
                self._again.pop(scope, None)
                self._changed[scope] = min(since, self._changed.get(scope, since))

    def again(self, scopes: Iterable[str]) -> int:
        """Write these though they have not changed; says how many."""
        wanted = [scope for scope in scopes if scope in self._entries and scope not in self._changed]
        self._again.update(dict.fromkeys(wanted))
        return len(wanted)

    def forget(self, scope: str) -> None:
        """Another worker answers for it now. Its keys are left as they are."""
        self._entries.pop(scope, None)
        self._changed.pop(scope, None)
        self._again.pop(scope, None)

    def scopes(self) -> list[str]:
        """Every scope that is held."""
        return list(self._entries)

    def legacies(self) -> dict[str, LegacyInput]:
        """The scopes whose decisions v6 gates obey."""
        return {scope: entry.legacy for scope, entry in self._entries.items() if entry.legacy is not None}


def _is_newer(entry: Entry, held: Entry) -> bool:
    """Whether there is anything new about it; most have another version, which spares comparing forty fields."""
    ours, theirs = entry.decision.version, held.decision.version
    return ours > theirs or (ours == theirs and entry != held)
