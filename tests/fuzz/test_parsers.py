"""Whatever bytes come: no parser raises but what it says it raises, none hangs, none keeps more than it was given."""

from __future__ import annotations

import asyncio
import json
import os
import tracemalloc
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from blastdoor_gateway.contract import Decision
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rules.dead_letter import DeadLetter
from rules.intake.reader import Intake
from rules.intake.wire import encode
from rules.policy_check import check
from rules.providers import aliyun, volcengine
from rules.providers.answer import Answer, Failure
from rules.providers.packages import Row, gather
from rules.records import Rejected
from streams.api.bodies import BadBodyError, records
from streams.policy_text import Document, read_document
from streams.poll.document import _answer
from streams.poll.provider import Surroundings
from streams.ship.lines import LineSplitter
from streams.ship.unwrap import Unwrapper
from tests.fuzz.conftest import SAMPLES, spoiled
from tests.hostile import hostile_lines

ZONE = ZoneInfo("Asia/Shanghai")
INTAKE = Intake(ZONE)
AT = 1_786_600_000_000

# The long form, with the fault stories: `make soak`. A parser that hangs meets the timeout of every test.
EXAMPLES = 5_000 if os.environ.get("BLASTDOOR_SOAK") else 80
quick = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@quick
@given(spoiled())
def test_intake(raw: bytes) -> None:
    """A record, a rejection whose detail is short, or nothing; what is a record can be written and read again."""
    for found in (INTAKE.read(raw), INTAKE.read_log(raw)):
        if isinstance(found, Rejected):
            assert len(found.detail) < 400
        elif found is not None:
            assert INTAKE.read(encode(found)) == found


@quick
@given(
    st.lists(spoiled(), max_size=5),
    st.sampled_from([b"\n", b",", b"\r\n\r\n", b""]),
    st.sampled_from([b"", b"[", b"\xef\xbb\xbf"]),
)
def test_bodies(found: list[bytes], between: bytes, before: bytes) -> None:
    """Cut into records that are not larger than the body together, or refused with a status."""
    body = before + between.join(found) + (b"]" if before == b"[" else b"")
    cut = _cut(body)
    if isinstance(cut, BadBodyError):
        assert 400 <= cut.status < 500
        return
    assert 0 < len(cut) <= len(body)
    # What is no UTF-8 or half a character may have been mended, which can take a few bytes more.
    assert sum(map(len, cut)) <= 4 * len(body) + 16
    for raw in cut:
        INTAKE.read(raw)


def _cut(body: bytes) -> list[bytes] | BadBodyError:
    try:
        return records(body)
    except BadBodyError as bad:
        return bad


@quick
@given(st.lists(spoiled(), max_size=6), st.integers(1, 40))
def test_lines_and_what_is_wrapped_around_them(found: list[bytes], size: int) -> None:
    """Any cut into chunks, wrapped or not: no more bytes come out than went in."""
    content = b"\n".join(found)
    splitter, unwrapper, given_out = LineSplitter(), Unwrapper(), 0
    for start in range(0, len(content), size * 50):
        for line in splitter.feed(content[start : start + size * 50]):
            given_out += sum(len(each.body) for each in unwrapper.feed(line))
    given_out += sum(len(each.body) for each in unwrapper.rest())
    assert given_out <= len(content) + 4


@quick
@given(spoiled())
def test_what_a_script_says(content: bytes) -> None:
    """An answer or a failure."""
    around = Surroundings(ZONE, lambda: AT, asyncio.sleep, __file__)  # type: ignore[arg-type]
    assert isinstance(_answer(content, AT, around), Answer | Failure)


texts = st.text(max_size=12) | st.sampled_from(
    ["", "0", "-5", "1e400", "NaN", "2026-08-13T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01", "token", "张"]
)


@quick
@given(
    st.lists(
        st.builds(
            Row,
            id=texts,
            code=texts,
            name=texts,
            unit=texts,
            total=texts,
            available=texts,
            effective=texts,
            expires=texts,
        ),
        max_size=6,
    )
)
def test_package_lists(rows: list[Row]) -> None:
    """Sums of what can be read; every balance is a whole number, and no package counts twice."""
    found = gather(rows, {"m": ("/.*/",), "n": ("code",)}, ZONE)
    for balance in found.balances:
        packages = balance.packages or ()
        assert balance.available == sum(package.available for package in packages) >= 0
        assert len({package.id for package in packages}) == len(packages)


NAMES = ["ResponseMetadata", "Error", "Code", "Message", "Data", "Instances", "Instance", "TotalCount", "Success"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)


@quick
@given(json_values, st.integers(100, 599))
def test_errors_of_providers(value: Any, status: int) -> None:
    """A failure whatever the answer is, as JSON or as Python writes a dictionary."""
    for text in (json.dumps(value), repr(value), json.dumps(value).encode()):
        assert isinstance(volcengine.failure(status, str(text), text), Failure)
    if isinstance(value, dict):
        assert isinstance(aliyun.page(value) or aliyun.failure(status, value), tuple | Failure)


POLICY = b"""timezone: Asia/Shanghai
models: {default: {daily_cap: 2_000_000, max_lag: 30m}}
channels: {c: {kind: webhook, url: env:A, secret: file:b}}
providers: {p: {kind: volcengine, access_key: env:A, secret_key: env:B, packages: {m: [/a+/]}}}
senders: {s: {token: env:T, may: [usage]}}
rules: [{name: r, scope: model, when: used > 1, then: {action: block}, says: "{used}"}]
"""


@quick
@given(spoiled([POLICY]))
def test_policies(content: bytes) -> None:
    """A policy, or its mistakes; none repeats what may be a secret at length."""
    document = read_document(content)
    if isinstance(document, Document):
        found = check(document.raw, document.lines)
        assert not isinstance(found, list) or all(len(str(fault)) < 2_000 for fault in found)


@quick
@given(
    st.dictionaries(
        st.sampled_from(["schema", "scope", "action", "used", "limit", "version", "readings", "day", "x"]),
        st.text(max_size=10),
    ),
    spoiled(),
)
def test_decisions_and_dead_letters(stored: dict[str, str], raw: bytes) -> None:
    """What a stranger wrote into Redis or Kafka is refused as a value error."""
    with pytest.raises(ValueError):  # noqa: PT011  of every kind
        Decision.from_hash(stored)
    with pytest.raises((ValueError, RecursionError)):  # noqa: PT012
        Decision.from_json(raw)
        raise ValueError
    with pytest.raises((msgspec.DecodeError, ValueError, RecursionError)):  # noqa: PT012
        DeadLetter.decode(raw)
        raise ValueError


def test_memory_stays_near_what_was_sent() -> None:
    """A thousand hostile lines, some of ten megabytes: a few times the largest is the most that is held."""
    lines = hostile_lines(400)
    largest = max(map(len, lines))
    tracemalloc.start()
    for line in [*lines, *SAMPLES]:
        INTAKE.read(line)
        INTAKE.read_log(line)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * largest
