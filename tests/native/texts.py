"""JSON texts of usage events as somebody might write them: nearly all forms, right and wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

SPACES = st.sampled_from(["", "", "", " ", "  ", "\n", "\t"])
LETTERS = st.sampled_from([*'abZ019 -_/.:"\\', *"研é…😀\u3000\xa0", *"\x7f\n\x00\x1b"])


def escaped(text: str) -> SearchStrategy[str]:
    """A string as one of several encoders writes it."""
    written = json.dumps(text, ensure_ascii=False)
    ascii_only = json.dumps(text)
    forms = [written, written, ascii_only, ascii_only.upper() if "\\u" in ascii_only else ascii_only]
    forms.append(written.replace("/", "\\/"))
    forms.append('"' + "".join(f"\\u{ord(each):04x}" if ord(each) < 0x10000 else each for each in text) + '"')
    return st.sampled_from(forms)


LENGTHS = st.sampled_from((63, 64, 65, 200, 201, 512, 513))
SHORT = st.text(LETTERS, max_size=8)
LONG = st.builds(lambda letter, length: letter * length, st.sampled_from(["x", "研", "\\", '"']), LENGTHS)
NAMES = st.one_of(SHORT, SHORT, LONG).flatmap(escaped)
HALVES = ('"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\u12"', '"\\x41"', '"a')
BROKEN = st.sampled_from((*HALVES, "5", "[]", '["a"]', "{}", '{"a":{"b":1}}', "nul", "NaN"))
WRONG_NUMBERS = ("00", "01", "-0", "-1", "1.0", "1.5", "1e3", "1E3", "1e-1", "+", "1_0", "0x1")
BOUNDS = ("0", "1", "999999999999", "1000000000000", "1000000000001", "18446744073709551616")
NUMBERS = st.one_of(st.integers(0, 100).map(str), st.sampled_from(BOUNDS), st.sampled_from(WRONG_NUMBERS))
FLAGS = st.sampled_from(["true", "false", "true", "false", "True", "1", '"true"', "truee", "t"])
NULL = st.just("null")


DATES = (
    "2026-08-13", "2026-08-13", "2024-02-29", "2023-02-29", "2000-02-29", "2100-02-29", "1999-12-31", "2000-01-01",
    "2099-12-31", "2100-01-01", "2026-00-10", "2026-13-01", "2026-04-31", "2026-12-31", "20260813", "0000-01-01",
    "9999-12-31",
)  # fmt: skip
HOURS = ("12:00:00", "00:00:00", "23:59:59", "24:00:00", "23:60:00", "23:59:60", "12:00", "1:2:3", "12:00:0/", "120000")
POINTS = ("", "", ".", ".", ".", ",")
ZONES = (
    "Z", "Z", "z", "+00:00", "-00:00", "+08:00", "-12:45", "+14:00", "+23:59", "-23:59", "+24:00", "+08:60", "+0800",
    "+08", "GMT", "Zx", "", " Z", "Z ",
)  # fmt: skip
DIGITS = st.one_of(st.text("0123456789", max_size=11), st.sampled_from(("9999995", "999999499", "0005")))


@st.composite
def times(draw: DrawFn) -> str:
    """RFC 3339 text and what resembles it, before, within and after the years that are taken."""
    date, hour, zone, point = (draw(st.sampled_from(each)) for each in (DATES, HOURS, ZONES, POINTS))
    return f'"{date}{draw(st.sampled_from("TTTTt _"))}{hour}{point}{draw(DIGITS) if point else ""}{zone}"'


WRONG_SECONDS = (
    "0", "01786593600", "1786593600.", ".5", "1.7865936e9", "1786593600123", "1.2.3", "-1", "1786593600.00000000001",
)  # fmt: skip
SECONDS = st.one_of(
    st.floats(946_684_799, 946_684_801).map(repr),
    st.floats(4_102_444_799, 4_102_444_801).map(repr),
    st.floats(1_786_000_000, 1_787_000_000).map(repr),
    st.integers(1_786_000_000_000, 1_787_000_000_000).map(lambda at: f"{at / 1000}"),
    st.integers(0, 32).map(lambda part: f"{1_786_593_600 + part / 32}"),
    st.integers(1_786_593_600, 1_786_593_610).map(str),
    st.sampled_from(WRONG_SECONDS),
)
TEXTS = ("tenant", "department", "user", "knowledge_base", "key_hash", "status", "source")
COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "today")
VALUES: dict[str, SearchStrategy[str]] = {
    "type": st.sampled_from(['"usage"', '"usage"', '"usage"', '"usage"', '"balance"', '"\\u0075sage"', "null", "1"]),
    "id": st.one_of(NAMES, NAMES, NULL, BROKEN),
    "ts": st.one_of(times(), SECONDS, NULL, BROKEN),
    "model": st.one_of(NAMES, NAMES, NULL, BROKEN),
    "total_tokens": st.one_of(NUMBERS, NUMBERS, NULL, BROKEN),
    **{name: st.one_of(NUMBERS, NUMBERS, NULL, BROKEN) for name in COUNTS},
    **{name: st.one_of(NAMES, NAMES, NULL, BROKEN) for name in TEXTS},
    "cache_hit": st.one_of(FLAGS, FLAGS, NULL, BROKEN),
    "estimated": st.one_of(FLAGS, FLAGS, NULL, BROKEN),
    "note": st.one_of(NAMES, NUMBERS, FLAGS, NULL, BROKEN, st.just("[1,{}]")),
}
SOUND: dict[str, str] = {
    "type": '"usage"',
    "id": '"req-1"',
    "ts": '"2026-08-13T11:08:00.123+08:00"',
    "model": '"deepseek-v4-flash"',
    "total_tokens": "1000000000000",
}


WHOLE = (
    b'{"type":"usage","id":"req-1","ts":"2026-08-13T11:08:00.123456789+08:00","model":"m","tenant":"\\u7814\xe5\x8f\x91",'
    b'"prompt_tokens":1200,"completion_tokens":300,"cached_tokens":20,"total_tokens":1500,"user":"a\\"b","cache_hit":false}'
)


@st.composite
def events(draw: DrawFn) -> bytes:
    """Mostly sound: a few fields are changed, left out, written twice or put elsewhere."""
    fields = list(SOUND.items())
    for name in draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=3)):
        value = draw(VALUES[name])
        known = [at for at, field in enumerate(fields) if field[0] == name]
        if known and draw(st.integers(0, 4)):
            fields[known[0]] = (name, value)
        else:
            fields.insert(draw(st.integers(0, len(fields))), (name, value))
    if draw(st.integers(0, 9)) == 0:
        del fields[draw(st.integers(0, len(fields) - 1))]
    space = draw(SPACES)
    colon, comma = draw(st.sampled_from([(":", ","), (": ", ", "), (" : ", " ,"), (f":{space}", f"{space},")]))
    members = comma.join(f'"{name}"{colon}{value}' for name, value in fields)
    end = draw(st.sampled_from(["}"] * 6 + ["}\n", "} ", ",}", "", "}}", "}x", " }"]))
    return (draw(st.sampled_from(["", "", "", " ", "\ufeff", "\n"])) + "{" + members + end).encode(
        "utf-8", "surrogatepass"
    )


@st.composite
def mutated(draw: DrawFn) -> bytes:
    """A few bytes of an event changed, left out or put in between."""
    text = bytearray(draw(st.one_of(st.just(WHOLE), events())))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text) - 1)) if text else 0
        byte = draw(st.one_of(st.integers(0, 255), st.sampled_from(b'0123456789"\\{}:,u \x00\x7f\xc3\xed\xff')))
        kind = draw(st.integers(0, 2))
        text[at : at + (kind != 1)] = bytes([byte]) if kind else b""
    return bytes(text)
