"""A dead letter keeps the reason, the origin and the beginning of what was sent."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rules.dead_letter import KEPT, DeadLetter
from rules.records import Reason, Rejected

BAD = Rejected(Reason.NOT_JSON, "JSON is malformed")


@given(st.binary(max_size=100), st.integers(0, 10**13))
def test_a_letter_comes_back_as_it_was_sent(body: bytes, at: int) -> None:
    """Any bytes survive, as base64."""
    letter = DeadLetter.of(body, BAD, "usage/3/17", at)
    assert DeadLetter.decode(letter.encode()) == letter


def test_the_body_is_the_first_16_kib_in_base64() -> None:
    """A letter stays small however large the record was; its size tells."""
    letter = DeadLetter.of(b"\xff" * 300_000, BAD, "bad.jsonl:7", 5)
    assert (letter.size, len(letter.body), letter.body) == (300_000, KEPT, b"\xff" * KEPT)
    assert json.loads(letter.encode())["body"].rstrip("=w").strip("/") == ""
    assert len(letter.encode()) < 2 * KEPT


def test_the_key_is_the_origin() -> None:
    """Two records never share a letter; the same record always has the same one."""
    assert DeadLetter.of(b"", BAD, "日志.log:3", 5).key == "日志.log:3".encode()


def test_the_size_of_a_record_that_was_not_kept_whole_is_given() -> None:
    """A line of 10 MB is known by its beginning and its size."""
    assert DeadLetter.of(b"{", BAD, "bad.jsonl:7", 5, size=10_000_000).size == 10_000_000
