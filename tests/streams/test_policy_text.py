"""From bytes to plain values: the traps of YAML, and files that are no policy at all."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.fault import Fault
from streams.policy_text import LARGEST, Document, read_document


def value_of(scalar: str) -> object:
    document = read_document(f"key: {scalar}\n".encode())
    assert isinstance(document, Document)
    assert isinstance(document.raw, dict)
    return document.raw["key"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        pytest.param("17:00", "17:00", id="a time of day is no base-60 number"),
        pytest.param("2_000_000", 2_000_000, id="underscores group digits"),
        pytest.param("2__0", "2__0", id="two underscores are no number"),
        pytest.param("0123", "0123", id="a leading zero is no octal number"),
        pytest.param("0x1f", "0x1f", id="no hexadecimal"),
        pytest.param("0.1", Decimal("0.1"), id="a decimal is exact"),
        pytest.param("1e3", Decimal(1000), id="with an exponent"),
        pytest.param("yes", "yes", id="yes is a word"),
        pytest.param("off", "off", id="off is a word"),
        pytest.param("true", True, id="true is true"),
        pytest.param("~", None, id="tilde is nothing"),
        pytest.param("", None, id="so is nothing"),
        pytest.param("2026-08-13", "2026-08-13", id="a date is text"),
        pytest.param('"5"', "5", id="quoted digits are text"),
        pytest.param("9" * 5000, "9" * 5000, id="more digits than Python reads stay text"),
        pytest.param("1e99999999999999999999", "1e99999999999999999999", id="an exponent out of range stays text"),
    ],
)
def test_scalars(written: str, meant: object) -> None:
    """A plain scalar means what an operator meant by it, not what YAML 1.1 makes of it."""
    found = value_of(written)
    assert found == meant
    assert type(found) is type(meant)


def test_every_value_knows_its_line() -> None:
    """Keys, list items and what is inside them are found again in the file."""
    document = read_document(b"a: 1\nb:\n  - x\n  - {c: 1,\n     d: 2}\n")
    assert isinstance(document, Document)
    assert document.lines == {(): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 1): 4, ("b", 1, "c"): 4, ("b", 1, "d"): 5}


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        pytest.param(b"a: 1\nb: \xff\n", 2, "is not UTF-8: byte 0xff", id="no UTF-8"),
        pytest.param(b"a: 1\nb: \x07\n", 2, "holds a control character", id="control characters"),
        pytest.param(b"a: b: c\n", 1, "is no valid YAML at column 5: mapping values are not allowed here", id="syntax"),
        pytest.param(b"a: 1\n---\nb: 2\n", 2, "expected a single document", id="two documents"),
        pytest.param(b"a: *b\n", 1, "found undefined alias 'b'", id="unknown alias"),
        pytest.param(b"#" * (LARGEST + 1), 0, f"is larger than {LARGEST:,} bytes", id="size"),
        pytest.param(b"[" * 50_000, 0, "is nested too deeply", id="depth that YAML cannot read"),
        pytest.param(b"[" * 40 + b"]" * 40, 1, "is nested too deeply", id="depth that nobody means"),
        pytest.param(b"a: &a [*a]\n", 1, "is nested too deeply", id="an alias inside itself"),
        pytest.param(BOMB.encode(), 1, "holds more than 20,000 values", id="aliases of aliases"),
    ],
)
def test_what_is_no_document(content: bytes, line: int, message: str) -> None:
    """A file that cannot be read as one plain tree gives exactly one mistake, with the place."""
    found = read_document(content)
    assert isinstance(found, Fault)
    assert found.line == line
    assert message in found.message


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    """Editors on Windows write one."""
    assert read_document(b"\xef\xbb\xbfmode: enforce\n") == Document({"mode": "enforce"}, {(): 1, ("mode",): 1}, [])


@given(st.binary(max_size=200) | st.text(alphabet="ab:-[]{}&*!|>?,#'\"%@`\n \t0.~<", max_size=60).map(str.encode))
def test_no_bytes_raise(content: bytes) -> None:
    """Whatever a file holds, it becomes a document or a fault."""
    assert isinstance(read_document(content), Document | Fault)
