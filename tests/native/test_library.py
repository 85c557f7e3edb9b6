"""What the library is called with, how its failures fall, and what it lets go of."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import pytest

import native.library
from native.counter import Counter, NativeLot
from native.library import NativeError, Numbers, library
from rules.cells import Sheet
from rules.duplicates import DuplicateWindow
from rules.facts import Partial
from rules.intake.reader import Intake
from rules.open_sheet import OpenSheet
from rules.stored_rows import UnknownRowError
from rules.tenant_sheets import ENTRY_BYTES, Entry, TenantSheets
from streams.counting import in_python
from tests.native.pair import NOON, Life

pytestmark = pytest.mark.native

ROOT = Path(__file__).parents[2]
DAY = "2026-08-13"
MOST = 2**64 - 1


def usage(number: int, **members: Any) -> bytes:
    event = {"type": "usage", "id": f"id-{number}", "ts": NOON / 1000, "model": "m", "total_tokens": 1}
    return json.dumps(event | members).encode()


def read(counter: Counter, *numbers: int) -> NativeLot:
    lot = counter.read([usage(number) for number in numbers], numbers)
    assert lot is not None
    return lot


def name(model: str) -> str:
    return model


def test_a_lot_is_counted_once_and_before_the_next_is_read() -> None:
    """Anything else is an error: it would count something twice, or something else."""
    counter = Counter()
    first, second = read(counter, 1, 2), read(counter, 3)
    with pytest.raises(NativeError):
        first.count(DAY, name)
    third = read(counter, 4)
    with pytest.raises(NativeError):
        second.note()
    third = read(counter, 4)
    third.count(DAY, name)
    with pytest.raises(NativeError):
        third.count(DAY, name)
    short = read(counter, 5, 6)
    short.offsets = [5]
    with pytest.raises(NativeError):
        short.count(DAY, name)


def test_nothing_is_a_lot_too() -> None:
    """No records, empty records, and records that fill no pointer."""
    counter = Counter()
    assert counter.read([], []) is not None
    assert counter.read([b""], [0]) is None
    assert counter.read([b"", usage(1), b""], [0, 1, 2]) is None


@pytest.mark.parametrize("again", [Counter, in_python])
def test_what_fails_halfway_is_counted_after_a_restart(again: Any) -> None:
    """The error ends the worker before anything of the lot is told, and a new one counts it once, either way."""
    life = Life(Counter)
    for number in range(4):
        life.partition.append(usage(number, tenant="acme"), NOON)
    life.partition.handle(2)
    life.partition.flush(NOON)
    step: Any = life.partition.step
    sheets = step._partitions[0].counter.sheets
    sheets._handle.call("drop_day", sheets.number_of(DAY))  # the library has not what it should have
    with pytest.raises(NativeError):
        life.partition.handle(2)
    life.counter = again
    life.partition.start()
    life.partition.handle(2)
    life.partition.flush(NOON)
    meter = life.partition.step._partitions[0].meter  # type: ignore[attr-defined]
    (row,) = [row for row in meter._partials.values() if isinstance(row, Partial)]
    assert (row.sums.tokens, row.sums.requests) == (4, 4)
    assert [sheet.brief()[:2] for sheet in meter.tenants.kept()[DAY].values()] == [[4, 4]]


def test_a_call_for_what_is_not_there_is_an_error() -> None:
    """The process goes on."""
    counter = Counter()
    for call, *arguments in (("drop_day", 7), ("sheet", 0, 0), ("tenants", 1, 2), ("count", 99, Numbers.of([]), 5)):
        with pytest.raises(NativeError):
            counter.handle.call(call, *arguments)
    assert read(counter, 1).count(DAY, name).duplicates == 0


@pytest.mark.parametrize("cell", [[], [1], [1] * 6, [-1] * 7, [MOST + 1] * 7])
def test_a_stored_sheet_of_another_form_is_refused(cell: list[int]) -> None:
    """Nothing is read beyond its end, and the row is named."""
    life = Life(Counter)
    empty = [[0] * 7] * 4
    life.partition.rows = {
        "reached": [0, 0, ""],
        f"sheets|{DAY}|0": [1, {"acme": [{"m": cell}, {}, {}, {}, empty, 0]}],
    }
    with pytest.raises((UnknownRowError, OverflowError)):
        life.partition.start()


def test_a_longer_cell_is_read_as_far_as_it_is_known() -> None:
    """As Python does: a later version may add amounts."""
    sheets = Counter().sheets
    sheets.restore(DAY, "acme", Sheet({"m": [1, 2, 3, 4, 5, 6, 7, 8]}, {}, {}, {}, [[0] * 8] * 4, 9))
    ((_, kept),) = [*sheets.settle()[DAY].items()]
    assert bytes(kept.sheet()) == (  # type: ignore[call-overload]
        b'[{"m":[1,2,3,4,5,6,7]},{},{},{},[[0,0,0,0,0,0,0],[0,0,0,0,0,0,0],[0,0,0,0,0,0,0],[0,0,0,0,0,0,0]],9]'
    )


def test_sums_stop_at_the_largest_number() -> None:
    """More tokens than any number of calls has do not end a worker, and up to there the sums are Python's."""
    counter, cell = Counter(), [MOST - 1, 5, 0, 0, 0, 0, 0]
    seen = Sheet({"m": cell}, {"": cell}, {"": cell}, {"": cell}, [[0] * 7] * 4, 0)
    counter.sheets.restore(DAY, "", seen)
    ((_, kept),) = [*counter.sheets.settle()[DAY].items()]
    assert kept.brief() == OpenSheet("", [1] * 4, seen).brief()
    for number, tokens in ((1, MOST), (2, MOST)):
        read(counter, number).count(DAY, name)
        ((_, kept),) = [*counter.sheets.settle()[DAY].items()]
        assert kept.brief() == [tokens, 5 + number, 0, 0, 0, 0]


def test_a_partition_let_go_leaves_nothing() -> None:
    """Its memory is free at once, not when Python looks for circles."""
    counter = Counter()
    read(counter, 1, 2).count(DAY, name)
    handle = weakref.ref(counter.handle)
    del counter
    assert handle() is None


def test_more_models_than_gateways_have_are_forgotten() -> None:
    """Names that a gateway makes up for every call do not add up."""
    counter = Counter()
    for start in range(0, 25_000, 5_000):
        numbers = range(start, start + 5_000)
        lot = counter.read([usage(number, model=f"m{number}") for number in numbers], numbers)
        assert lot is not None
        assert len(lot.count(DAY, name).groups) == 5_000
    assert len(counter._names) <= 15_000


def test_ids_are_forgotten_however_often_they_come() -> None:
    """The same id over and over takes no more room than another, and none is forgotten before its time."""
    counter, window = Counter(window=100), DuplicateWindow(100)
    for offset in range(0, 3000, 10):
        lot = counter.read([usage(offset // 50 * (at % 2)) for at in range(10)], range(offset, offset + 10))
        assert lot is not None
        twins = lot.count(None, name).duplicates
        ids = [f"id-{offset // 50 * (at % 2)}" for at in range(10)]
        assert twins == window.fresh(ids, range(offset, offset + 10), [0] * 10).count(False)
        for each in (counter.window, window):
            each.trim(offset + 10)
        assert len(counter.window) == len(window)


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    library.cache_clear()
    yield
    monkeypatch.undo()
    library.cache_clear()


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("found", ["nothing", "no library", "another version"])
def test_without_its_library_nothing_is_native(found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, broken, or of another version of the package: Python counts, and who asks for a counter is told."""
    if found == "another version":
        monkeypatch.setattr(native.library, "VERSION", native.library.VERSION + 1)
    else:
        monkeypatch.setattr(native.library, "PATH", tmp_path / "counting.so")
    if found == "no library":
        (tmp_path / "counting.so").write_bytes(b"\x7fELF")
    assert library() is None
    with pytest.raises(NativeError):
        Counter()


ENDS = """
import os, sys
from native.counter import Counter
counter = Counter()
event = b'{"type":"usage","id":"a","ts":1786593600,"model":"m","total_tokens":1}'
child = os.fork()
lot = counter.read([event], [0])
counted = lot.count("2026-08-13", str)
assert (len(counted.groups), counted.duplicates) == (1, 0)
if not child:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
"""


def test_an_interpreter_ends_with_a_counter_in_its_hands() -> None:
    """Whether it is the process that made it or a fork of it, which goes on by itself."""
    run = subprocess.run([sys.executable, "-c", ENDS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_long_journal_is_cut_and_means_the_same() -> None:
    """Each entry is about as short as in Python, and nothing is left out."""
    counter, sheets = Counter(), TenantSheets()
    sheets.take_journal()
    names = {"department": "研" * 64, "user": '"' * 64, "knowledge_base": "\\" * 64, "source": "s" * 500}
    raws = [usage(number, tenant=f"{number:0200}", **names) for number in range(1000)]
    lot = counter.read(raws, range(1000))
    assert lot is not None
    lot.count(DAY, name)
    calls = Intake(UTC).read_usage(raws)
    assert calls is not None
    sheets.fold(DAY, "m", calls.calls)
    natively, reference = counter.sheets.take_journal(), sheets.take_journal()
    assert max(map(len, natively)) <= ENTRY_BYTES + 4096
    assert len(natively) > 1
    decode = msgspec.json.Decoder(Entry).decode
    lines, expected = ([line for entry in each for line in decode(entry)[3]] for each in (natively, reference))
    assert lines == expected
