"""Whatever is sent, the reader answers with data and never raises."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rules.intake.reader import Intake
from rules.intake.wire import TYPES
from rules.records import Reason, Record, Rejected

GOOD: dict[str, Any] = {
    "type": "usage",
    "id": "req-1",
    "ts": "2026-08-13T11:08:00.123+08:00",
    "model": "m",
    "total_tokens": 1500,
}
FIELDS = [
    "type", "id", "ts", "model", "total_tokens", "prompt_tokens", "completion_tokens",
    "cached_tokens", "tenant", "status", "cache_hit", "available", "unit", "packages",
    "asked_at", "settled_until", "day", "pool", "by", "why", "action",
    "scope", "tokens", "until", "usage", "reserve", "limit", "litellm_call_id",
    "endTime", "metadata", "model_group", "error_str", "specversion", "source", "time",
    "data", "subject", "today",
]  # fmt: skip
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(sorted(TYPES)))
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner), max_leaves=12
)


def answer(intake: Intake, raw: bytes) -> Record | Rejected | None:
    """Both ways in; a rejection must be presentable."""
    for found in (intake.read_log(raw), intake.read(raw)):
        if isinstance(found, Rejected):
            assert found.detail
            assert len(found.detail) <= 200
            assert found.detail.isprintable(), found.detail
    return found


@given(st.binary(max_size=300))
@example(b"")
@example(b"\x00" * 10)
@example(b'{"type":"\\ud800"}')
@example(b'{"type":"usage","id":"\xed\xa0\x80"}')
def test_arbitrary_bytes_never_raise(intake: Intake, raw: bytes) -> None:
    """Bytes of no meaning are rejected."""
    assert isinstance(answer(intake, raw), Rejected)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(FIELDS), values))
def test_arbitrary_objects_never_raise(intake: Intake, members: dict[str, Any]) -> None:
    """Objects with our field names and any content are read or rejected."""
    answer(intake, json.dumps(members).encode())


@given(st.sampled_from(FIELDS), values)
def test_one_wrong_field_never_raises(intake: Intake, field: str, value: Any) -> None:
    """A good event with one field replaced is read or rejected."""
    answer(intake, json.dumps(GOOD | {field: value}).encode())


@given(st.text(max_size=60), st.sampled_from(["[Usage] ", "Checking m (Bal: ", "[PRE-BLOCK] m "]), st.text(max_size=60))
def test_arbitrary_log_lines_never_raise(intake: Intake, head: str, mark: str, tail: str) -> None:
    """A line with one of our marks and any other text is read or rejected, in both ways in."""
    answer(intake, f"2026-08-13 00:10:00 {head}{mark}{tail}".encode("utf-8", "replace"))


def with_field(field: str, value: object) -> bytes:
    return json.dumps(GOOD | {field: value}).encode()


def without(field: str) -> bytes:
    return json.dumps({name: value for name, value in GOOD.items() if name != field}).encode()


raw_good = json.dumps(GOOD).encode()

CASES = [
    ("empty", b"", Reason.NOT_JSON, "empty"),
    ("blank", b"  ", Reason.NOT_JSON, "empty"),
    ("text", b"hello", Reason.NOT_JSON, "hello"),
    ("truncated", raw_good[:-3], Reason.NOT_JSON, "truncated"),
    ("trailing garbage", raw_good + b"}", Reason.NOT_JSON, "trailing"),
    ("single quotes", raw_good.replace(b'"', b"'"), Reason.NOT_JSON, "malformed"),
    ("trailing comma", raw_good[:-1] + b",}", Reason.NOT_JSON, "malformed"),
    ("NaN", raw_good.replace(b"1500", b"NaN"), Reason.NOT_JSON, "malformed"),
    ("Infinity in a field nobody asked for", raw_good[:-1] + b',"x":Infinity}', Reason.NOT_JSON, "malformed"),
    ("line break in a string", raw_good.replace(b"req", b"re\nq"), Reason.NOT_JSON, "malformed"),
    ("half a surrogate pair", raw_good.replace(b"req", b"\\ud800"), Reason.NOT_JSON, "escape"),
    ("deep nesting", raw_good[:-1] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", Reason.NOT_JSON, "nested"),
    ("invalid UTF-8 in a name", raw_good.replace(b"req", b"\xff"), Reason.NOT_UTF8, "byte 25"),
    ("invalid UTF-8 elsewhere", raw_good[:-1] + b',"x":"\xe9"}', Reason.NOT_UTF8, "invalid UTF-8"),
    ("invalid UTF-8 without JSON", b"caf\xe9", Reason.NOT_UTF8, "invalid UTF-8"),
    ("an array", b"[" + raw_good + b"]", Reason.WRONG_TYPE, "array"),
    ("a number", b"12", Reason.WRONG_TYPE, "int"),
    ("null", b"null", Reason.WRONG_TYPE, "null"),
    ("no type", without("type"), Reason.MISSING_FIELD, "`type`"),
    ("an empty object", b"{}", Reason.MISSING_FIELD, "`type`"),
    ("unknown type", with_field("type", "invoice"), Reason.UNKNOWN_TYPE, "'invoice'"),
    ("a very long type", with_field("type", "x" * 500), Reason.UNKNOWN_TYPE, "…"),
    ("a type that is a number", with_field("type", 5), Reason.WRONG_TYPE, "type"),
    ("no id", without("id"), Reason.MISSING_FIELD, "`id`"),
    ("no time", without("ts"), Reason.MISSING_FIELD, "`ts`"),
    ("no model", without("model"), Reason.MISSING_FIELD, "`model`"),
    ("no tokens", without("total_tokens"), Reason.MISSING_FIELD, "`total_tokens`"),
    ("empty id", with_field("id", ""), Reason.BAD_VALUE, "id: "),
    ("blank id", with_field("id", " \t"), Reason.BAD_VALUE, "id: consists of white space"),
    ("blank model", with_field("model", "\u3000"), Reason.BAD_VALUE, "model: consists of white space"),
    ("long id", with_field("id", "x" * 513), Reason.BAD_VALUE, "id: "),
    ("long tenant", with_field("tenant", "x" * 513), Reason.BAD_VALUE, "tenant: "),
    ("id with NUL", with_field("id", "a\0b"), Reason.BAD_VALUE, "id: holds a control character"),
    ("tenant with a line break", with_field("tenant", "a\nb"), Reason.BAD_VALUE, "tenant: holds a control character"),
    ("id as a number", with_field("id", 7), Reason.WRONG_TYPE, "id: "),
    ("id null", with_field("id", None), Reason.WRONG_TYPE, "id: "),
    ("model as an array", with_field("model", ["m"]), Reason.WRONG_TYPE, "model: "),
    ("tokens as text", with_field("total_tokens", "1500"), Reason.WRONG_TYPE, "total_tokens: "),
    ("tokens true", with_field("total_tokens", True), Reason.WRONG_TYPE, "total_tokens: "),
    ("tokens with a fraction", with_field("total_tokens", 1.5), Reason.WRONG_TYPE, "total_tokens: "),
    ("tokens null", with_field("total_tokens", None), Reason.MISSING_FIELD, "`total_tokens`"),
    ("negative tokens", with_field("total_tokens", -1), Reason.BAD_VALUE, "total_tokens: "),
    ("negative part", with_field("completion_tokens", -1), Reason.BAD_VALUE, "completion_tokens: "),
    ("absurd tokens", with_field("total_tokens", 10**12 + 1), Reason.BAD_VALUE, "total_tokens: "),
    ("tokens beyond 64 bits", with_field("total_tokens", 10**30), Reason.BAD_VALUE, "total_tokens: "),
    ("tokens of 400 digits", with_field("total_tokens", 10**400), Reason.BAD_VALUE, "total_tokens: "),
    (
        "one part only",
        json.dumps({**GOOD, "total_tokens": None, "prompt_tokens": 5}).encode(),
        Reason.MISSING_FIELD,
        "`total_tokens`",
    ),
    ("total below its parts", with_field("prompt_tokens", 1501), Reason.BAD_VALUE, "total_tokens: 1500 is less than"),
    ("cached beyond the prompt", with_field("cached_tokens", 1), Reason.BAD_VALUE, "cached_tokens: 1 is more than"),
    ("cache_hit as text", with_field("cache_hit", "yes"), Reason.WRONG_TYPE, "cache_hit: "),
    ("year 9999", with_field("ts", "9999-12-31T23:59:59Z"), Reason.BAD_TIME, "ts: "),
    ("year 1", with_field("ts", "0001-01-01T00:00:00+14:00"), Reason.BAD_TIME, "ts: "),
    ("the first instant too late", with_field("ts", "2100-01-01T00:00:00Z"), Reason.BAD_TIME, "ts: "),
    ("the last instant too early", with_field("ts", "1999-12-31T23:59:59.999Z"), Reason.BAD_TIME, "ts: "),
    ("a date only", with_field("ts", "2026-08-13"), Reason.BAD_TIME, "ts: "),
    ("no such day", with_field("ts", "2026-02-30T00:00:00Z"), Reason.BAD_TIME, "ts: "),
    ("milliseconds of the epoch", with_field("ts", 1786590480123), Reason.BAD_TIME, "seconds"),
    ("epoch zero", with_field("ts", 0), Reason.BAD_TIME, "ts: "),
    ("a number that is no time", with_field("ts", 1e300), Reason.BAD_TIME, "ts: "),
    (
        "a number too large for a float",
        raw_good.replace(b'"2026-08-13T11:08:00.123+08:00"', b"1e999"),
        Reason.BAD_TIME,
        "ts: ",
    ),
    ("time true", with_field("ts", True), Reason.WRONG_TYPE, "ts: "),
    ("time null", with_field("ts", None), Reason.WRONG_TYPE, "ts: "),
]


@pytest.mark.parametrize(("raw", "reason", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_every_sort_of_misfit_has_its_reason(intake: Intake, raw: bytes, reason: Reason, says: str) -> None:
    """A rejected event tells a closed reason and a sentence that names the field or the place."""
    found = answer(intake, raw)
    assert isinstance(found, Rejected), found
    assert found.reason == reason
    assert says in found.detail


def test_content_is_never_repeated_at_length(intake: Intake) -> None:
    """A detail goes into logs and metrics' neighbours: of what was sent it shows eighty characters at most."""
    found = intake.read(b"secret" * 1000)
    assert isinstance(found, Rejected)
    assert found.detail.count("secret") <= 80 // 6 + 1
