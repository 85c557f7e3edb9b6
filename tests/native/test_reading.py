"""Whatever the library reads, the reader in Python reads as the same event."""

from __future__ import annotations

import json
from collections import Counter as Multiset
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from blastdoor_gateway.events.event import UsageEvent
from blastdoor_gateway.money import Tokens
from hypothesis import given, settings
from hypothesis import strategies as st

from native.counter import Counter, NativeLot
from rules.cells import shortened
from rules.facts import Sums
from rules.intake.reader import Intake
from rules.intake.wire import encode
from rules.lots import Total
from rules.moment import MINUTE
from rules.records import Usage
from rules.tenant_sheets import Entry, line_of
from tests.native.texts import events, mutated

pytestmark = pytest.mark.native

ZONE = timezone(timedelta(hours=8))
GUARDS = ("litellm", "aa")
DAY = "2026-08-13"
entries = msgspec.json.Decoder(Entry).decode


def read(*raws: bytes) -> tuple[Counter, NativeLot | None]:
    counter = Counter()
    counter.sheets.adopt((), GUARDS)
    return counter, counter.read(raws, range(len(raws)))


def line_seen(line: Any) -> Any:
    """None and nothing mean the same."""
    return (*(name or "" for name in line[:4]), *(number or 0 for number in line[4:8]), bool(line[8]), line[9] or "")


def journal(counter: Counter) -> list[Any]:
    """The calls that were counted, with their model, and whether they are guarded."""
    noted = [entries(entry) for entry in counter.sheets.take_journal()]
    return [(model, line[9] in guards, line_seen(line)) for _, model, guards, calls in noted for line in calls]


def line_of_usage(usage: Usage) -> Any:
    return shortened(usage.model), usage.source in GUARDS, line_seen(line_of(usage))


def sums(usage: Usage) -> Sums:
    failed, estimated = usage.status != "success", usage.estimated
    if usage.cache_hit:
        return Sums(0, 1, 0, 0, 0, 1, failed, estimated, 0)
    guarded = usage.total_tokens if usage.source in GUARDS else 0
    parts = usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens
    return Sums(usage.total_tokens, 1, *parts, 0, failed, estimated, guarded)


def totals(usage: Usage) -> list[Total]:
    at, today, tokens = usage.at, usage.today, usage.total_tokens
    return [] if today is None else [Total(usage.model, usage.model, at, today, tokens, usage.key_hash)]


def is_read(raw: bytes) -> bool:
    """Whether the library reads it; then all that can be seen of it must be what Python reads."""
    counter, lot = read(raw)
    if lot is None:
        return False
    usage = Intake(ZONE).read(raw)
    assert type(usage) is Usage
    assert (lot.first, lot.last, lot.newest) == (usage.at, usage.at, usage.at)
    counted = lot.count(DAY, lambda name: name)
    assert counted.groups == [(usage.model, usage.at // MINUTE, 0, sums(usage))]
    assert counted.totals == totals(usage)
    assert journal(counter) == [line_of_usage(usage)]
    assert counter.window.of_calls([usage], [1]) == [False]
    assert counter.window.differing == 0
    return True


@given(events())
@settings(max_examples=250)
def test_events_are_read_alike(raw: bytes) -> None:
    """Fields of every type, length and notation, missing, null and twice."""
    is_read(raw)


@given(mutated())
@settings(max_examples=250)
def test_spoiled_events_are_read_alike(raw: bytes) -> None:
    """A byte more, less, or another one."""
    is_read(raw)


@given(st.lists(st.one_of(events(), events(), mutated()), min_size=2, max_size=6))
@settings(max_examples=100)
def test_a_lot_is_read_where_each_of_its_events_is(raws: list[bytes]) -> None:
    """Then each means what it does alone."""
    plain = [raw for raw in raws if is_read(raw)]
    assert (read(*raws)[1] is not None) == (plain == raws)
    counter, lot = read(*plain)
    usages = Intake(ZONE).read_batch(plain)
    if lot is not None and plain:
        counted = lot.count(DAY, lambda name: name)
        first = {usage.id: usage for usage in reversed(usages) if isinstance(usage, Usage)}.values()
        assert (lot.first, lot.last) == (min(each.at for each in usages), max(each.at for each in usages))
        assert counted.duplicates == len(usages) - len(first)
        assert Multiset(journal(counter)) == Multiset(map(line_of_usage, first))


CALL = {
    "department": "研发/一部",
    "user": 'Zoë "Z"',
    "prompt_tokens": 1200,
    "completion_tokens": 300,
    "total_tokens": 1500,
}
EVENT = {"type": "usage", "id": "req-1", "ts": "2026-08-13T11:08:00.123+08:00", "model": "deepseek-v4-flash"} | CALL
USAGE = Usage("req-1", 1_786_590_480_123, "模型", 1500, tenant="acme", user="a\\b", cache_hit=True, today=7)
GO = (
    '{"type":"usage","id":"req-1","ts":"2026-08-13T11:08:00.123456789+08:00","model":"m\\u0026m","total_tokens":1500,'
    '"cache_hit":false,"department":"\\u003c研发\\u003e","user":null}\n'
)
ORDINARY = {
    "our own": encode(USAGE),
    "the LiteLLM plugin": UsageEvent(
        id="req-1", ts="2026-08-13T03:08:00.123Z", model="m", user="张三", tokens=Tokens(1500, 1200, 300, 0)
    ).encode(),
    "json.dumps": json.dumps(EVENT).encode(),
    "json.dumps, compact": json.dumps(EVENT, ensure_ascii=False, separators=(",", ":")).encode(),
    "time.time": json.dumps(EVENT | {"ts": 1786590480.1234567}).encode(),
    "isoformat": json.dumps(EVENT | {"ts": "2026-08-13T03:08:00.123456+00:00"}).encode(),
    "both parts": json.dumps({name: value for name, value in EVENT.items() if name != "total_tokens"}).encode(),
    "Go": GO.encode(),
    "PHP": json.dumps(EVENT).replace("/", "\\/").encode(),
    "JavaScript": json.dumps(EVENT | {"ts": "2026-08-13T03:08:00.123Z"}, ensure_ascii=False).encode(),
}


@pytest.mark.parametrize("raw", ORDINARY.values(), ids=list(ORDINARY))
def test_what_encoders_write_is_read(raw: bytes) -> None:
    """No ordinary form goes the slow way."""
    assert is_read(raw)


@given(st.datetimes(datetime(2000, 1, 2), datetime(2099, 12, 30)), st.integers(-1439, 1439))  # noqa: DTZ001
@settings(max_examples=100)
def test_every_time_is_read(local: datetime, minutes: int) -> None:
    """Of any zone, with as many digits as there are."""
    when = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert is_read(json.dumps(EVENT | {"ts": when.isoformat()}).encode())


BEGIN = '{"id":"req-1","ts":"2026-08-13T11:08:00+08:00","model":"m","total_tokens":1500,'
USAGE_TYPE = '"type":"usage"'
REFUSED = {
    "a second type": f'{USAGE_TYPE},"type":"balance"',
    "a first type": f'"type":"balance",{USAGE_TYPE}',
    "no type": '"a":1',
    "a smaller total": f'{USAGE_TYPE},"prompt_tokens":1500,"completion_tokens":1',
    "more cached": f'{USAGE_TYPE},"prompt_tokens":5,"cached_tokens":6',
    "too many tokens": f'{USAGE_TYPE},"total_tokens":1000000000001',
    "no id": f'{USAGE_TYPE},"id":""',
    "an id of white space": f'{USAGE_TYPE},"id":"\u3000 "',
    "a model of white space": f'{USAGE_TYPE},"model":"\\u2003"',
    "a long id": f'{USAGE_TYPE},"id":"{"研" * 513}"',
    "a long source": f'{USAGE_TYPE},"source":"{"x" * 513}"',
    "a control character": f'{USAGE_TYPE},"tenant":"a\\u007f"',
    "a time too late": f'{USAGE_TYPE},"ts":4102444800',
    "a time too early": f'{USAGE_TYPE},"ts":946684799.9999',
    "half a character": f'{USAGE_TYPE},"note":"\\ud83d"',
    "a comma too many": f"{USAGE_TYPE},",
    "two objects": f"{USAGE_TYPE}}}{{",
}
TAKEN = {
    "the last of two": f'{USAGE_TYPE},"total_tokens":7,"model":"n","id":"b","ts":1786590480.5',
    "null after all": f'{USAGE_TYPE},"tenant":"a","tenant":null,"prompt_tokens":5,"prompt_tokens":null',
    "as long as may be": f'{USAGE_TYPE},"id":"{"研" * 512}","tenant":"{"é" * 200}","user":"{"😀" * 64}"',
    "as much as may be": f'{USAGE_TYPE},"total_tokens":1000000000000,"prompt_tokens":1000000000000',
    "a name in Chinese": f'{USAGE_TYPE},"id":"请求","model":"\\u6a21\\u578b"',
    "an even millisecond": f'{USAGE_TYPE},"ts":1786590480.0625',
    "an odd millisecond": f'{USAGE_TYPE},"ts":1786590480.1875',
    "the next second": f'{USAGE_TYPE},"ts":"2026-08-13T11:08:59.9999995+08:00"',
    "the last instant": f'{USAGE_TYPE},"ts":"2099-12-31T23:59:59.999999Z"',
    "white space": f'  {USAGE_TYPE} , "a" : 1 ',
    "what nobody asked for": f'{USAGE_TYPE},"a":"\\u7814","b":true,"c":null,"d":12',
}


@pytest.mark.parametrize("members", REFUSED.values(), ids=list(REFUSED))
def test_what_python_refuses_is_not_read(members: str) -> None:
    """The library refuses nothing: it leaves that to Python."""
    raw = f"{BEGIN}{members}}}".encode()
    assert not isinstance(Intake(ZONE).read(raw), Usage)
    assert read(raw)[1] is None


@pytest.mark.parametrize("members", TAKEN.values(), ids=list(TAKEN))
def test_bounds_are_read(members: str) -> None:
    """Up to the last that is taken."""
    assert is_read(f"{BEGIN}{members}}}".encode())
