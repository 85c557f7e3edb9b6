"""The row format: what is read back after any crash, and what is refused."""

from __future__ import annotations

import msgspec
import pytest

from streams.delivery.errors import MalformedRowError
from streams.delivery.rows import Place, encode_row, new_owner, place_key, recover, row_key

A = new_owner(1_000, 7)
B = new_owner(2_000, 7)


def place(flush: int, position: int) -> bytes:
    return Place(flush=flush, incarnation=0, position=position).encode()


def values(rows: dict[bytes, bytes]) -> dict[str, object]:
    return {name: msgspec.json.decode(raw) for name, raw in recover(rows).values.items()}


def test_an_empty_changelog_is_no_state() -> None:
    """A first start finds nothing and is told so."""
    assert recover({}) == ("", None, {}, [], [])


def test_rows_without_a_place_do_not_count() -> None:
    """A first flush that broke off before its place row leaves nothing behind but keys to remove."""
    found = recover({row_key("k", A, 0): encode_row(1, 5)})
    assert (found.owner, found.place, found.values, len(found.keys)) == (A, None, {}, 1)


def test_a_broken_off_flush_is_invisible() -> None:
    """Of two versions the one of a finished flush is taken; a row that was new in the broken flush is not there."""
    rows = {
        row_key("k", A, 0): encode_row(1, "old"),
        row_key("k", A, 1): encode_row(2, "ahead"),
        row_key("new", A, 0): encode_row(2, "ahead"),
        place_key(A): place(1, 10),
    }
    assert values(rows) == {"k": "old"}


def test_the_newer_of_two_finished_versions_is_taken() -> None:
    """Slots alternate; the higher flush wins whatever its slot."""
    rows = {
        row_key("k", A, 0): encode_row(3, "new"),
        row_key("k", A, 1): encode_row(2, "old"),
        place_key(A): place(4, 10),
    }
    assert values(rows) == {"k": "new"}


def test_a_deleted_row_stays_deleted() -> None:
    """A deletion mark hides the version before it, and only once its flush is finished."""
    rows = {row_key("k", A, 0): encode_row(1, "v"), row_key("k", A, 1): encode_row(2, None)}
    assert values(rows | {place_key(A): place(2, 10)}) == {}
    assert values(rows | {place_key(A): place(1, 10)}) == {"k": "v"}


def test_a_former_owner_never_wins() -> None:
    """Rows of a former owner do not mix in, however far ahead its position is."""
    rows = {
        row_key("k", B, 0): encode_row(1, "mine"),
        place_key(B): place(1, 10),
        row_key("k", A, 0): encode_row(90, "zombie"),
        row_key("gone", A, 0): encode_row(91, "zombie"),
        place_key(A): place(92, 500),
    }
    found = recover(rows)
    assert values(rows) == {"k": "mine"}
    assert found.place is not None
    assert found.place.position == 10
    assert len(found.keys) == 5


def test_an_owner_that_has_not_finished_a_flush_is_passed_over() -> None:
    """Until the new owner's copy is whole the former owner's state is the state; the next tag is above both."""
    rows = {
        row_key("k", B, 0): encode_row(1, "half"),
        row_key("k", A, 0): encode_row(1, "whole"),
        place_key(A): place(1, 10),
    }
    assert values(rows) == {"k": "whole"}
    assert recover(rows).owner == B


def test_tags_grow_even_if_clocks_go_back() -> None:
    """A new owner's tag is above every tag seen, whatever the time says."""
    assert new_owner(500, 0, B) > B
    assert new_owner(3_000, 0, B) > B
    assert new_owner(2_000, 1) != new_owner(2_000, 2)


@pytest.mark.parametrize("name", ["model:x|3|2026-08-13", "a@b", "a@" + A + "0", "名字", " "])
def test_any_text_can_be_the_name_of_a_row(name: str) -> None:
    """Names may contain the separator."""
    assert values({row_key(name, A, 0): encode_row(1, 1), place_key(A): place(1, 1)}) == {name: 1}


def test_a_row_needs_a_name() -> None:
    """Without one its key could not be read back."""
    with pytest.raises(ValueError, match="a row needs a name"):
        row_key("", A, 0)


@pytest.mark.parametrize("value", [0, "", [], {}, False, 1.5, {"a": [1, None]}], ids=repr)
def test_falsy_values_are_values(value: object) -> None:
    """Only None deletes."""
    assert values({row_key("k", A, 0): encode_row(1, value), place_key(A): place(1, 1)}) == {"k": value}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        pytest.param({place_key(A): b"{"}, "position row .* cannot be read", id="a place that is no JSON"),
        pytest.param({place_key(A): b"[]"}, "position row .* cannot be read", id="a place of another shape"),
        pytest.param(
            {place_key(A): b'{"schema":1}'}, "position row .* cannot be read", id="a place without its fields"
        ),
        pytest.param({place_key(A): b'{"flush":1,"incarnation":0,"position":1}'}, "schema None", id="no schema"),
        pytest.param({place_key(A): b'{"schema":2,"what":0}'}, "schema 2, this program knows 1", id="a newer schema"),
        pytest.param(
            {place_key(A): place(1, 1), row_key("k", A, 0): b"5"}, r"row 'k' is no \[flush, value\]", id="a bare value"
        ),
        pytest.param(
            {place_key(A): place(1, 1), row_key("k", A, 0): b"[]"}, r"row 'k' is no \[flush, value\]", id="no flush"
        ),
        pytest.param(
            {place_key(A): place(1, 1), row_key("k", A, 0): b'["x",1]'},
            r"row 'k' is no",
            id="a flush that is no number",
        ),
    ],
)
def test_malformed_rows_are_refused(rows: dict[bytes, bytes], says: str) -> None:
    """What stands under a key of ours is named, never skipped: a skipped row would be a wrong total."""
    with pytest.raises(MalformedRowError, match=says):
        recover(rows)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(b"plain", id="a key of somebody else's table"),
        pytest.param(b'"json-key"', id="a key as Faust's own tables write it"),
        pytest.param(b"", id="no key"),
        pytest.param(f"name@{A}".encode(), id="a name without a slot"),
        pytest.param(b"\xff@" + A.encode() + b"0", id="a name that is no text"),
    ],
)
def test_what_is_under_no_key_of_ours_is_passed_over(key: bytes) -> None:
    """It cannot be a row of ours, so it changes nothing, stops nothing and is not removed; it is named."""
    rows = {place_key(A): place(1, 7), row_key("k", A, 0): b"[1,5]"}
    alone, beside = recover(rows), recover(rows | {key: b"1"})
    assert beside == alone._replace(foreign=[key])
    assert recover({key: b"1"}).place is None
