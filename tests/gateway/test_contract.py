"""The two sides of the contract understand each other, and a damaged decision is refused, never half believed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest
from blastdoor_gateway.contract import (
    SCHEMA,
    Action,
    Decision,
    Keys,
    UnknownSchemaError,
    score_version,
    version_score,
)
from hypothesis import given
from hypothesis import strategies as st

WHOLE = st.integers(-(10**15), 10**15)
REAL = st.floats(allow_nan=False, allow_infinity=False)
VERSIONS = st.tuples(st.integers(0, 10**15), st.integers(0, 10**15))
BY_TYPE = {
    "str": st.text(),
    "Action": st.sampled_from(Action),
    "tuple[int, int]": VERSIONS,
    "int | None": st.none() | WHOLE,
    "float | None": st.none() | REAL,
    "str | None": st.none() | st.text(),
    "bool | None": st.none() | st.booleans(),
    "dict[str, int]": st.dictionaries(st.text(), WHOLE, max_size=3),
    "tuple[str, ...]": st.lists(st.text(), max_size=3).map(tuple),
    "bool": st.booleans(),
    "dict[str, Any]": st.dictionaries(st.text(), st.none() | WHOLE | st.text() | st.lists(WHOLE), max_size=3),
}
# The day's account, which stands on the topics only.
FOR_PEOPLE: dict[str, Any] = dict.fromkeys(
    ("expected_return", "returned", "return_overdue", "runs_out_at", "needed_per_day")
) | {"because": {}, "would": {}, "ledger": {}, "will_expire": {}}
DECISIONS = st.builds(Decision, **{f.name: BY_TYPE[str(f.type)] for f in fields(Decision)})

PLAIN = Decision(
    scope="model:m", action=Action.BLOCK, rule="model-pool-spent", reason="用尽 (2/1)", day="2026-08-13",
    decided_at="2026-08-13T11:08:00.123+08:00", version=(1_786_000_000_000, 7), limit=1, used=2, readings=("r1",),
)  # fmt: skip


@given(DECISIONS)
def test_a_decision_survives_redis(decision: Decision) -> None:
    """Reading a hash gives the decision that was written, field for field, but for what no gateway needs."""
    assert Decision.from_hash(decision.to_hash()) == replace(decision, **FOR_PEOPLE)


@given(DECISIONS)
def test_a_decision_survives_a_topic(decision: Decision) -> None:
    """Reading a record gives the decision that was written, field for field."""
    assert Decision.from_json(decision.to_json()) == decision


@given(DECISIONS)
def test_a_hash_is_plain_text(decision: Decision) -> None:
    """Every field of the hash is text, and what is unknown is no field at all."""
    stored = decision.to_hash()
    assert all(isinstance(text, str) for text in stored.values())
    assert {name for name in stored if name != "schema"} == {
        f.name for f in fields(Decision) if f.name not in FOR_PEOPLE and getattr(decision, f.name) is not None
    }


def test_text_is_legible_in_both_encodings() -> None:
    """An operator with redis-cli or a console consumer reads the reason as it was written."""
    assert PLAIN.to_hash()["reason"] == "用尽 (2/1)"
    assert "用尽 (2/1)".encode() in PLAIN.to_json()


def test_fields_of_a_later_minor_engine_are_ignored() -> None:
    """A reader of the same schema skips fields it does not know."""
    assert Decision.from_hash(PLAIN.to_hash() | {"score": "x", "weather": "?"}) == PLAIN
    assert Decision.from_json(json.dumps(json.loads(PLAIN.to_json()) | {"weather": {}})) == PLAIN


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_an_unknown_one(number: float) -> None:
    """It never reaches a reader as text that only some languages parse."""
    odd = Decision(**{f.name: getattr(PLAIN, f.name) for f in fields(Decision)} | {"lag_seconds": number})
    assert Decision.from_hash(odd.to_hash()) == PLAIN
    assert Decision.from_json(odd.to_json()) == PLAIN


def test_a_newer_schema_is_refused() -> None:
    """A reader must not guess what a newer engine means."""
    with pytest.raises(UnknownSchemaError):
        Decision.from_hash(PLAIN.to_hash() | {"schema": str(SCHEMA + 1)})
    with pytest.raises(UnknownSchemaError):
        Decision.from_json(json.dumps(json.loads(PLAIN.to_json()) | {"schema": SCHEMA + 1}))


DAMAGE = [
    ("schema", None), ("schema", ""), ("schema", "one"), ("schema", "0"), ("schema", "-1"), ("schema", "1.0"),
    ("scope", None), ("version", None), ("action", None), ("decided_at", None), ("action", "explode"), ("action", ""),
    ("version", "[1]"), ("version", "[1,2,3]"), ("version", '["a",2]'), ("version", "1,2"), ("version", "null"),
    ("version", "[true,false]"), ("limit", ""), ("limit", "many"), ("limit", "1_000"), ("limit", "1.5"),
    ("limit", "1e9"), ("limit", "true"), ("limit", '"7"'), ("lag_seconds", "NaN"), ("lag_seconds", "Infinity"),
    ("lag_seconds", "1e999"), ("lag_seconds", "[]"), ("complete", "yes"), ("complete", "1"), ("counted_gate", "[]"),
    ("counted_gate", '{"d":"1"}'), ("counted_gate", "{"), ("readings", '"r1"'), ("readings", "[1]"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), DAMAGE)
def test_a_damaged_hash_is_a_value_error(name: str, text: str | None) -> None:
    """Whatever happened to the hash, the reader sees one kind of error."""
    stored = PLAIN.to_hash() | {name: text or ""}
    if text is None:
        del stored[name]
    with pytest.raises(ValueError, match="decision"):
        Decision.from_hash(stored)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"7", b'"x"', b"{}", b'{"schema":1}', b"\xff\xfe"])
def test_a_damaged_record_is_a_value_error(raw: bytes) -> None:
    """The same for a record on a topic."""
    with pytest.raises(ValueError):  # noqa: PT011
        Decision.from_json(raw)


@pytest.mark.parametrize(
    ("name", "value"),
    [("scope", 7), ("limit", "7"), ("limit", True), ("limit", 1.5), ("version", [1]), ("version", "[1,2]"),
     ("complete", 1), ("complete", None), ("readings", {}), ("counted_gate", {"d": 1.5}), ("reason", None),
     ("because", []), ("ledger", []), ("return_overdue", 1)],
)  # fmt: skip
def test_a_record_with_wrong_types_is_a_value_error(name: str, value: object) -> None:
    """JSON has types of its own; the wrong ones are refused."""
    with pytest.raises(ValueError, match=name):
        Decision.from_json(json.dumps(json.loads(PLAIN.to_json()) | {name: value}))


@given(VERSIONS, VERSIONS)
def test_scores_sort_like_versions(one: tuple[int, int], other: tuple[int, int]) -> None:
    """A script that compares scores as text agrees with one that compares versions as numbers."""
    assert (version_score(one) < version_score(other)) == (one < other)
    assert score_version(version_score(one)) == one


def test_recordings_never_touch_live_keys() -> None:
    """With both prefixes set, no key of event mode is a key of production."""
    live, recorded = Keys(), Keys("blastdoor-event", "blastdoor-event:")

    def names(keys: Keys) -> set[str]:
        return {
            keys.engine, keys.decision("global"), keys.own("global", "c", "2026-08-13"), keys.legacy_written("m"),
            keys.daily_usage("2026-08-13", "m", "h"), keys.balance_at_sync("m"), keys.usage_at_sync("m"),
            keys.last_run("2026-08-13"), keys.tenant_quota("t", "2026-08-13"),
        }  # fmt: skip

    assert len(names(live)) == 9
    assert not names(live) & names(recorded)
    assert all(name.startswith("blastdoor-event:") for name in names(recorded))


def test_names_that_gateways_know_are_kept() -> None:
    """The keys of gateways that exist today, letter for letter."""
    keys = Keys()
    assert keys.daily_usage("2026-08-13", "m", "ba03") == "daily_usage:2026-08-13:m:ba03"
    assert keys.balance_at_sync("m") == "limit:dynamic:volcengine:balance_at_sync:m"
    assert keys.usage_at_sync("m") == "limit:dynamic:volcengine:usage_at_sync:m"
    assert keys.last_run("2026-08-13") == "consume:last_run:2026-08-13"
    assert keys.tenant_quota("acme", "2026-08-13") == "quota:tenant:acme:20260813"


def test_the_contract_needs_nothing_but_python() -> None:
    """A gateway's process gets no third-party import from it."""
    probe = (
        "import sys; before = set(sys.modules); import blastdoor_gateway.contract;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names) - {'blastdoor_gateway'}))"
    )
    path = "import sys; sys.path.insert(0, 'gateway');"
    done = subprocess.run([sys.executable, "-c", path + probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
