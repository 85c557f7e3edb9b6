"""Usage of one source partition folded by tenant and day. Called with the calls that the meter has accepted: each once.

Rule 1: every dimension of a sheet adds up to the same total. What finds no place is counted in `other`, never dropped.
Rule 2: names are chosen by strangers. So values, tenants and the length of their names are bounded, and the first to
come keep their places: a sum never moves from a name to `other`, so that it only grows.
Rule 3: the hot path is `_count`. It adds one number; dimensions are for when a sheet is told.
Rule 4: what was counted since the last flush can be had as a journal, which counted again gives the same sheets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter

import msgspec

from rules.calendar import Day
from rules.calls import Call
from rules.cells import Sheet, shortened
from rules.open_sheet import CACHED, CALL, COMPLETION, GUARDED, HIT, PROMPT, SAVED, Kept, OpenSheet

MOST_VALUES = 200  # of a tenant, dimension and day
MOST_MODELS = 50
MOST_TENANTS = 10_000  # of a day; one whose name the policy holds has its place beyond them
LONGEST_TENANT = 200
MOST_UNSETTLED = 50_000  # calls; where nobody flushes, what is pending must not grow with them
CROWD = "\N{HORIZONTAL ELLIPSIS}other"
"""The tenant of those that are too many."""

ENTRY_BYTES = 64 * 1024  # a longer one is cut, so that rows of several stay small

Line = tuple[str | None, str | None, str | None, str | None, int | None, int | None, int | None, int | None,
             bool | None, str | None]  # fmt: skip
"""A call in a journal: what `line_of` takes of it."""

Entry = tuple[Day, str, Sequence[str], Sequence[Line]]
"""Calls of a day and model; and which of their sources are guarding gateways."""

line_of = attrgetter(
    "tenant", "department", "user", "knowledge_base", "total_tokens", "prompt_tokens", "completion_tokens",
    "cached_tokens", "cache_hit", "source",
)  # fmt: skip
"""A call as a `Line`."""
_source = itemgetter(9)


class TenantSheets:
    """All sheets of one source partition. `known`: tenants that the policy names."""

    def __init__(
        self,
        known: Iterable[str] = (),
        guards: Iterable[str] = (),
        most_values: int = MOST_VALUES,
        most_tenants: int = MOST_TENANTS,
    ) -> None:
        self.days: dict[Day, dict[str, OpenSheet]] = {}
        self.crowded: set[Day] = set()  # days with more tenants than there is room for
        self.reached = (0, -1)  # incarnation, offset of the last record counted
        self.journal: list[bytes] | None = None  # encoded entries since they were taken; None: nobody wants them
        self._said: set[Day] = set()
        self._known = frozenset(known)
        self._guards = frozenset(guards)
        self._most = (min(most_values, MOST_MODELS), *[most_values] * 3)
        self._most_tenants = most_tenants
        self._changed: dict[Day, dict[str | None, OpenSheet]] = {}  # by given name
        self._unsettled = 0  # calls
        self._renamed = False  # a tenant among them is counted under another name

    def adopt(self, known: Iterable[str], guards: Iterable[str]) -> None:
        """Count what comes from now on under these names."""
        self._known, self._guards = frozenset(known), frozenset(guards)

    def fold(self, day: Day, model: str, calls: Sequence[Call]) -> None:
        """Count calls of one model on one day."""
        model, lines = shortened(model), list(map(line_of, calls))
        self._count(day, model, lines, self._guards)
        self._unsettled += len(lines)
        if self._unsettled > MOST_UNSETTLED:
            self._relieve()
        if self.journal is not None:
            if self._renamed:
                changed = self._changed[day]
                lines = [(changed[line[0]].name, *line[1:]) for line in lines]
            self.journal += written(day, model, self._guards, lines)

    def recount(self, entry: Entry) -> None:
        """Count an entry of a journal again; its tenants have had their places."""
        day, model, guards, lines = entry
        sheets = self.days.setdefault(day, {})
        for name in {line[0] or "" for line in lines} - sheets.keys():
            sheets[name] = OpenSheet(name, self._most)
        self._count(day, model, lines, guards)

    def take_journal(self) -> list[bytes]:
        """What was counted since the last call. It is kept from the first call on."""
        taken, self.journal = self.journal or [], []
        return taken

    def has(self, incarnation: int, offset: int) -> bool:
        """Whether the record at this offset was counted: reading a stretch of the log again changes nothing."""
        return (incarnation, offset) <= self.reached

    def settle(self) -> dict[Day, dict[str, Kept]]:
        """The sheets that changed since the last call, by tenant."""
        changed, self._changed, self._renamed, self._unsettled = self._changed, {}, False, 0
        return {day: {sheet.name: sheet for sheet in tenants.values()} for day, tenants in changed.items()}

    def kept(self) -> Mapping[Day, Mapping[str, Kept]]:
        """All sheets there are, by day and tenant."""
        return self.days

    def restore(self, day: Day, tenant: str, seen: Sheet) -> None:
        """Take up a sheet as it was stored."""
        self.days.setdefault(day, {})[tenant] = OpenSheet(tenant, self._most, seen)

    def newly_crowded(self) -> list[Day]:
        """Days that have become so since the last call."""
        news = sorted(self.crowded - self._said)
        self._said |= self.crowded
        return news

    def drop_before(self, day: Day) -> list[Day]:
        """Forget the days that no call can reach any more."""
        gone = [old for old in self.days if old < day]
        for old in gone:
            del self.days[old]
            self._changed.pop(old, None)
        self.crowded -= set(gone)
        return gone

    def _count(self, day: Day, model: str, lines: Iterable[Line], guards: Collection[str]) -> None:
        changed = self._changed.setdefault(day, {})
        for tenant, department, user, base, tokens, prompt, completion, cached, hit, source in lines:
            sheet = changed.get(tenant)
            if sheet is None:
                sheet = changed[tenant] = self._sheet(day, tenant or "")
            amount = tokens or 0
            if hit:
                amount = HIT + (amount << SAVED)
            else:
                if source in guards:
                    amount += amount << GUARDED
                amount += (
                    CALL + ((prompt or 0) << PROMPT) + ((completion or 0) << COMPLETION) + ((cached or 0) << CACHED)
                )
            sheet.total += amount
            pending, alike = sheet.pending, (model, department, user, base)
            pending[alike] = pending.get(alike, 0) + amount

    def _relieve(self) -> None:
        """Keep memory bounded between two flushes, or without any."""
        self._unsettled = 0
        for tenants in self._changed.values():
            for sheet in tenants.values():
                sheet.relieve()
        if self.journal is None:
            self.settle()

    def _sheet(self, day: Day, tenant: str) -> OpenSheet:
        sheets = self.days.setdefault(day, {})
        name = shortened_tenant(tenant)
        if name not in sheets and len(sheets) >= self._most_tenants and name and name not in self._known:
            name = CROWD
            self.crowded.add(day)
        self._renamed = self._renamed or name != tenant
        sheet = sheets.get(name)
        if sheet is None:
            sheet = sheets[name] = OpenSheet(name, self._most)
        return sheet


def shortened_tenant(name: str) -> str:
    """A tenant's name of bounded length."""
    return name if len(name) <= LONGEST_TENANT else shortened(name)


def written(day: Day, model: str, guards: Collection[str], lines: Sequence[Line]) -> Iterator[bytes]:
    """Calls as entries of a journal."""
    return _written((day, model, sorted(frozenset(guards).intersection(map(_source, lines))), lines))


def _written(entry: Entry) -> Iterator[bytes]:
    """An entry of a journal, cut where it is too long. Names are shortened as they would be where they are counted."""
    encoded = msgspec.json.encode(entry)
    if len(encoded) <= ENTRY_BYTES:
        yield encoded
        return
    day, model, guards, lines = entry
    lines = [(line[0], *(name and shortened(name) for name in line[1:4]), *line[4:]) for line in lines]  # type: ignore[misc]
    half = len(lines) // 2
    for part in (lines[:half], lines[half:]) if half else ():
        yield from _written((day, model, guards, part))
    if not half:
        yield msgspec.json.encode((day, model, guards, lines))
