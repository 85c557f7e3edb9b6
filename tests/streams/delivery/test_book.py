"""Any crash, takeover and zombie: the state read back is the state after exactly the position it names."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.delivery.book import Book, Entry
from streams.delivery.rows import Recovered, new_owner, recover

EVENTS = [("abcd"[i * 7 % 4], (1, 2, -1, 3, -3, 1, -2)[i % 7]) for i in range(400)]
"""Additions to four sums; a sum that is zero is a row deleted."""


def state_after(position: int) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, amount in EVENTS[:position]:
        sums[name] = sums.get(name, 0) + amount
    return {name: total for name, total in sums.items() if total}


def read(log: list[Entry]) -> Recovered:
    """What a consumer makes of a compacted topic."""
    rows: dict[bytes, bytes] = {}
    for key, value in log:
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
    return recover(rows)


def state_of(found: Recovered) -> dict[str, int]:
    return {name: msgspec.json.decode(raw) for name, raw in found.values.items()}


class Owner:
    """A fold of EVENTS that writes its changes to a log, entry by entry."""

    def __init__(self, log: list[Entry], epoch: int) -> None:
        found = read(log)
        self.log = log
        self.position = found.place.position if found.place else 0
        self.book = Book(new_owner(epoch, 0, found.owner), found)
        self.stored = state_of(found)
        self.writing: list[Entry] = []
        self.safe = 0

    def flush(self) -> None:
        if not self.writing:
            now = state_after(self.position)
            changed = {
                name: now.get(name)
                for name in now.keys() | self.stored.keys()
                if now.get(name) != self.stored.get(name)
            }
            self.stored = now
            self.writing = list(self.book.write(changed, incarnation=0, position=self.position, record="").entries)
            self.goal = self.position

    def put(self, count: int) -> None:
        for _ in range(min(count, len(self.writing))):
            self.log.append(self.writing.pop(0))
            if not self.writing:
                self.book.close()
                self.safe = self.goal


Action = tuple[str, int, int]
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("take over"), st.just(0), st.just(0)),
        st.tuples(st.just("handle"), st.integers(0, 2), st.integers(1, 9)),
        st.tuples(st.just("flush"), st.integers(0, 2), st.integers(0, 12)),  # and how many of its entries reach the log
        st.tuples(st.just("put"), st.integers(0, 2), st.integers(1, 12)),
    ),
    min_size=10,
    max_size=60,
)


@given(ACTIONS)
@settings(max_examples=300, deadline=None)
def test_state_and_position_belong_together(actions: list[Action]) -> None:
    """Owners come, die at any entry, and go on as zombies; what is read is whole, and nothing that was safe is lost."""
    log: list[Entry] = []
    epochs = itertools.count(1_000)
    owners = [Owner(log, next(epochs))]
    safe = 0
    for name, which, count in actions:
        owner = owners[-1 - which % len(owners)]  # 0 is the rightful one
        match name:
            case "take over":
                owners.append(Owner(log, next(epochs)))
            case "handle":
                owner.position += count
            case "flush":
                owner.flush()
                owner.put(count)
            case "put":
                owner.put(count)
        safe = max(safe, owners[-1].safe)
        found = read(log)
        position = found.place.position if found.place else 0
        assert state_of(found) == state_after(position)
        assert position >= safe


def test_a_new_owner_leaves_nothing_of_the_former() -> None:
    """Two flushes after a takeover every key on the log is the new owner's."""
    log: list[Entry] = []
    former = Owner(log, 1)
    for _ in range(5):
        former.position += 3
        former.flush()
        former.put(99)
    new = Owner(log, 2)
    for _ in range(2):
        assert new.book.unfinished
        new.flush()
        new.put(99)
    assert not new.book.unfinished
    keys = read(log).keys
    assert keys
    assert all(new.book.owner.encode() in key for key in keys)


def test_the_former_owner_stays_until_the_copy_is_whole() -> None:
    """The first flush of a new owner removes nothing."""
    log: list[Entry] = []
    former = Owner(log, 1)
    former.position = 4
    former.flush()
    former.put(99)
    new = Owner(log, 2)
    new.flush()
    assert all(value is not None for _, value in new.writing)


def test_a_deleted_row_is_removed_older_version_first() -> None:
    """The mark goes last, so that no prefix of the log shows the old value again."""
    log: list[Entry] = []
    book = Book(new_owner(1, 0), recover({}))
    for value in (1, None):
        log += book.write({"k": value}, incarnation=0, position=1, record="").entries
        book.close()
    removed = [key for key, value in book.write({}, incarnation=0, position=1, record="").entries if value is None]
    assert [key[-1:] for key in removed] == [b"0", b"1"]


def test_an_unknown_row_is_deleted_by_writing_nothing() -> None:
    """A step may delete what was never stored."""
    book = Book(new_owner(1, 0), recover({}))
    assert len(book.write({"k": None}, incarnation=0, position=1, record="").entries) == 1


def test_rows_are_encoded_at_once() -> None:
    """A step may go on changing its values while they are being written."""
    book, value = Book(new_owner(1, 0), recover({})), [1]
    page = book.write({"k": value}, incarnation=0, position=1, record="")
    value.append(2)
    assert page.entries[0][1] == b"[1,[1]]"


def test_flushes_do_not_overlap() -> None:
    """Closing what is not being written is a mistake of the program."""
    book = Book(new_owner(1, 0), recover({}))
    with pytest.raises(ValueError, match="no flush is being written"):
        book.close()
