"""A growing file: nothing is lost and nothing is given twice, whatever is done to it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.ship.places import Place
from streams.ship.tail import Tail


def bodies(tail: Tail) -> list[bytes]:
    """All there is to have now."""
    found = []
    while lines := tail.poll():
        found += [line.body for line in lines]
    return found


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "gate.log"


def test_lines_come_as_they_are_completed(log: Path) -> None:
    """The file need not exist yet; half a line waits for its other half."""
    tail = Tail(log)
    assert bodies(tail) == []
    append(log, b"one\ntw")
    assert bodies(tail) == [b"one"]
    append(log, b"o\nthree\n")
    assert bodies(tail) == [b"two", b"three"]
    assert bodies(tail) == []


@given(st.lists(st.binary(min_size=1, max_size=6), max_size=12))
def test_any_cut_of_the_writes_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, writes: list[bytes]
) -> None:
    """Following gives what reading afterwards would."""
    path = tmp_path_factory.mktemp("tail") / "a.log"
    path.touch()
    tail, found = Tail(path), []
    for written in writes:
        append(path, written)
        found += bodies(tail)
    whole = b"".join(writes).split(b"\n")[:-1]
    if whole:
        whole[0] = whole[0].removeprefix(b"\xef\xbb\xbf")
    assert found == [line.removesuffix(b"\r") for line in whole]


@given(st.lists(st.binary(min_size=1, max_size=6), max_size=12), st.integers(0, 12))
def test_a_place_leads_to_the_rest(tmp_path_factory: pytest.TempPathFactory, writes: list[bytes], stop: int) -> None:
    """Stopped anywhere and started again, each line is given once, with its number."""
    path = tmp_path_factory.mktemp("tail") / "a.log"
    path.touch()
    first, numbers = Tail(path), []
    for written in writes[:stop]:
        append(path, written)
        numbers += [line.number for line in first.poll()]
    first.poll()
    place = first.place()
    first.close()
    append(path, b"".join(writes[stop:]))
    second = Tail(path, place)
    numbers += [line.number for line in second.poll()]
    assert numbers == list(range(1, b"".join(writes).count(b"\n") + 1))


def test_a_file_cut_short_is_read_from_its_beginning(log: Path) -> None:
    """As `copytruncate` does; an unfinished line that had been read is given as it is."""
    log.write_bytes(b"one\ntwo\nunfin")
    tail = Tail(log)
    assert bodies(tail) == [b"one", b"two"]
    log.write_bytes(b"three\n")
    assert bodies(tail) == [b"unfin", b"three"]


def test_a_file_written_anew_and_longer_is_read_from_its_beginning(log: Path) -> None:
    """Size alone would not tell: the bytes before the place are compared."""
    log.write_bytes(b"one\ntwo\n")
    tail = Tail(log)
    assert bodies(tail) == [b"one", b"two"]
    log.write_bytes(b"three\nfour\nfive\nsix\n")
    assert bodies(tail) == [b"three", b"four", b"five", b"six"]


def test_after_a_truncation_the_place_is_the_beginning(log: Path) -> None:
    """A stop right then must not skip the new lines."""
    log.write_bytes(b"one\ntwo\nunfin")
    tail = Tail(log)
    tail.poll()
    log.write_bytes(b"three\nfour\nfive\n")
    assert [line.body for line in tail.poll()] == [b"unfin"]
    assert bodies(Tail(log, tail.place())) == [b"three", b"four", b"five"]


def test_a_renamed_file_is_finished_before_the_new_one_begins(log: Path) -> None:
    """Rotation by rename loses nothing, the unfinished last line included."""
    log.write_bytes(b"one\n")
    tail = Tail(log)
    assert bodies(tail) == [b"one"]
    append(log, b"two\nthree")
    log.rename(log.with_suffix(".1"))
    assert bodies(tail) == [b"two"]  # nothing new is in place yet
    log.write_bytes(b"four\n")
    assert bodies(tail) == [b"three", b"four"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"inode": 1}, id="another file"),
        pytest.param({"mark": "0" * 64}, id="another content"),
        pytest.param({"offset": 4000}, id="a longer file"),
    ],
)
def test_a_place_of_another_file_means_the_beginning(log: Path, change: dict[str, int | str]) -> None:
    """Shipping twice changes no total; skipping would."""
    log.write_bytes(b"one\ntwo\n")
    tail = Tail(log)
    tail.poll()
    place = tail.place()
    assert place is not None
    assert bodies(Tail(log, place)) == []
    fields = {"offset": place.offset, "line": place.line, "inode": place.inode, "mark": place.mark} | change
    assert bodies(Tail(log, Place(**fields))) == [b"one", b"two"]  # type: ignore[arg-type]


def test_a_huge_line_is_passed_in_one_go(log: Path) -> None:
    """However long it is, the lines behind it wait for no further poll."""
    log.write_bytes(b"x" * 3_000_000 + b"\nnext\n")
    assert [line.size for line in Tail(log).poll()] == [3_000_000, 4]
