"""The count of one source partition: its window of duplicates, its tenants' sheets, and lots of records to come."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from native.library import DONE, Handle, Texts, encoded, numbers_at
from native.sheets import NativeSheets
from native.window import NativeWindow
from rules.cells import shortened
from rules.duplicates import WINDOW
from rules.facts import Sums
from rules.lots import Counted, Group, Lot, Total
from rules.moment import DAY, Millis
from rules.tenant_sheets import MOST_MODELS, MOST_TENANTS, MOST_VALUES

GROUP, TOTAL = 12, 6  # numbers of each, as they are told
MOST_NAMES = 10_000  # of models; gateways choose them
NO_DAY = -1


class Counter:
    """Reads and counts lots of one partition. `window` and `sheets` are the meter's own, held in the library."""

    def __init__(self, window: int = WINDOW, most_values: int = MOST_VALUES, most_tenants: int = MOST_TENANTS) -> None:
        """Raises NativeError where there is no library."""
        self.handle = Handle(window, min(most_values, MOST_MODELS), most_values, most_tenants)
        self.window = NativeWindow(self.handle, window)
        self.sheets = NativeSheets(self.handle, self._forget_names, most_values, most_tenants)
        self._names: list[tuple[str, str]] = []  # of models: given, canonical

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
        texts = Texts.of(values)
        sent = array("q", stamps)
        if self.handle.call("read", texts, sent.buffer_info()[0] if sent else None, now, apart) != DONE:
            return None
        return NativeLot(self, texts, offsets, with_stamps=bool(sent))

    def name(self, lengths: Sequence[int], names: bytes, canonical: Callable[[str], str]) -> None:
        """Tell what models that were met for the first time are counted under."""
        told: list[bytes] = []
        for length in lengths:
            given, names = names[:length], names[length:]
            name = given.decode()
            self._names.append((name, canonical(name)))
            told += given, encoded(shortened(self._names[-1][1]))
        self.handle.call("name", Texts.of(told))

    def named(self, alias: int) -> tuple[str, str]:
        """A model by its number: as it was given, and as it is counted."""
        return self._names[alias]

    def _forget_names(self) -> None:
        self._names.clear()


class NativeLot(Lot):
    """Records that were read and lie in the library until the next ones are."""

    def __init__(self, counter: Counter, texts: Texts, offsets: Sequence[int], *, with_stamps: bool) -> None:
        found = counter.handle.numbers()
        self.first, self.last, self.newest = found[:3]
        self.sent = (found[3], found[4]) if with_stamps else None
        self.offsets = offsets
        self._counter = counter
        self._texts = texts
        self._strangers = found[5:], counter.handle.text()

    def note(self) -> None:
        """Note the ids, without counting."""
        held, at = numbers_at(self.offsets)
        self._counter.handle.call("note", self._texts, at)
        del held

    def count(self, day: str | None, canonical: Callable[[str], str]) -> Counted:
        counter = self._counter
        if self._strangers[0]:
            counter.name(*self._strangers, canonical)
        held, at = numbers_at(self.offsets)
        counter.handle.call("count", self._texts, at, NO_DAY if day is None else counter.sheets.number_of(day))
        del held
        found = counter.handle.numbers()
        if day is not None and found[-1]:
            counter.sheets.crowded.add(day)
        duplicates, differing, groups, totals = found[:4]
        counter.window.differing += differing
        end = 4 + groups * GROUP
        return Counted(
            duplicates,
            differing,
            [self._group(found[at : at + GROUP]) for at in range(4, end, GROUP)],
            [self._total(found[at : at + TOTAL]) for at in range(end, end + totals * TOTAL, TOTAL)],
        )

    def _group(self, found: Sequence[int]) -> Group:
        alias, minute, offset, *sums = found
        return Group(self._counter.named(alias)[1], minute, offset, Sums(*sums))

    def _total(self, found: Sequence[int]) -> Total:
        alias, at, today, tokens, start, length = found
        key = self._texts.bytes[start : start + length] if length else b""
        given, model = self._counter.named(alias)
        return Total(given, model, at, today, tokens, key.decode())
