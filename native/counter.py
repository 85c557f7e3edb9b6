"""The count of one source partition: its window of duplicates, its tenants' sheets, and lots of records to come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import Struct

from native.library import DONE, Handle, Numbers, Texts, cut, encoded
from native.sheets import NativeSheets
from native.window import NativeWindow
from rules.cells import shortened
from rules.duplicates import WINDOW
from rules.facts import Sums
from rules.lots import Counted, Group, Lot, Total
from rules.moment import DAY, Millis
from rules.tenant_sheets import MOST_MODELS, MOST_TENANTS, MOST_VALUES

HEAD, GROUP, TOTAL = 5, 12, 5  # numbers of each, as they are told
_groups = Struct(f"{GROUP}q").iter_unpack
MOST_NAMES = 10_000  # of models; gateways choose them
NO_DAY = -1


class Counter:
    """Reads and counts lots of one partition. `window` and `sheets` are the meter's own, held in the library."""

    def __init__(self, window: int = WINDOW, most_values: int = MOST_VALUES, most_tenants: int = MOST_TENANTS) -> None:
        """Raises NativeError where there is no library."""
        self.handle = Handle(window, min(most_values, MOST_MODELS), most_values, most_tenants)
        self.window = NativeWindow(self.handle)
        self._names: list[tuple[str, str]] = []  # of models: given, canonical
        self.sheets = NativeSheets(self.handle, self._names.clear, most_values, most_tenants)

    def read(
        self,
        values: Sequence[bytes],
        offsets: Sequence[int],
        stamps: Sequence[Millis] = (),
        now: Millis = 0,
        apart: Millis = DAY,
    ) -> NativeLot | None:
        """Records as a lot to be counted, before the next one is read; None: not all of them are plain events of usage.

        `stamps`: of the records, if they move a clock; a clock of a gateway may be `apart` from ours.
        """
        if len(self._names) > MOST_NAMES:
            self.sheets.readopt()
        if self.handle.call("read", Texts.of(values), Numbers.of(stamps), now, apart) != DONE:
            return None
        return NativeLot(self, offsets, with_stamps=bool(stamps))

    def name(self, models: Iterable[str], canonical: Callable[[str], str]) -> None:
        """Tell what models that were met for the first time are counted under."""
        told: list[bytes] = []
        for given in models:
            self._names.append((given, canonical(given)))
            told += encoded(given), encoded(shortened(self._names[-1][1]))
        self.handle.call("name", Texts.of(told))

    def named(self, alias: int) -> tuple[str, str]:
        """A model by its number: as it was given, and as it is counted."""
        return self._names[alias]


class NativeLot(Lot):
    """Records that were read and lie in the library until the next ones are. They can be counted or noted once."""

    def __init__(self, counter: Counter, offsets: Sequence[int], *, with_stamps: bool) -> None:
        self._number, self.first, self.last, self.newest, *found = counter.handle.numbers()
        self.sent = (found[0], found[1]) if with_stamps else None
        self.offsets = offsets
        self._counter = counter
        self._strangers = list(cut(counter.handle.text(), found[2:]))

    def note(self) -> None:
        """Note the ids, without counting."""
        self._counter.handle.call("note", self._number, Numbers.of(self.offsets))

    def count(self, day: str | None, canonical: Callable[[str], str]) -> Counted:
        counter = self._counter
        if self._strangers:
            counter.name(self._strangers, canonical)
        number = NO_DAY if day is None else counter.sheets.number_of(day)
        counter.handle.call("count", self._number, Numbers.of(self.offsets), number)
        found = counter.handle.numbers()
        duplicates, differing, groups, _, crowded = found[:HEAD]
        if day is not None and crowded:
            counter.sheets.crowded.add(day)
        counter.window.differing += differing
        end = HEAD + groups * GROUP
        starts = range(end, len(found), TOTAL)
        keys = cut(counter.handle.text(), found[end + TOTAL - 1 :: TOTAL])
        return Counted(
            duplicates,
            differing,
            list(map(self._group, _groups(memoryview(found)[HEAD:end].cast("B")))),
            [self._total(found[at : at + TOTAL], key) for at, key in zip(starts, keys, strict=True)],
        )

    def _group(self, found: Sequence[int]) -> Group:
        return Group(self._counter.named(found[0])[1], found[1], found[2], Sums(*found[3:]))

    def _total(self, found: Sequence[int], key: str) -> Total:
        alias, at, today, tokens, _ = found
        given, model = self._counter.named(alias)
        return Total(given, model, at, today, tokens, key)
