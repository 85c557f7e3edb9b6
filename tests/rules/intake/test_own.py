"""Our own JSON: what is accepted, what it becomes, and what the shapes besides usage refuse."""

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.intake.reader import Intake
from rules.moment import LATEST, from_datetime
from rules.records import (
    Calibration,
    Clock,
    Control,
    ControlAction,
    Package,
    Reading,
    Reason,
    Refusal,
    Rejected,
    Usage,
)

AT = from_datetime(datetime(2026, 8, 13, 3, 8, 0, 123_000, UTC))
TS = "2026-08-13T11:08:00.123+08:00"
USAGE: dict[str, Any] = {"type": "usage", "id": "req-1", "ts": TS, "model": "m", "total_tokens": 1500}
READING: dict[str, Any] = {"type": "balance", "id": "b-1", "ts": TS, "model": "m", "available": 1_726_526}
PACKAGE: dict[str, Any] = {
    "id": "p",
    "total": 9,
    "available": 5,
    "effective": 1786500000,
    "expires": "2026-09-08T23:59:00Z",
}
CALIBRATION: dict[str, Any] = {"type": "calibration", "id": "c", "ts": TS, "model": "m", "day": "2026-08-13", "pool": 7}
CONTROL: dict[str, Any] = {
    "type": "control",
    "id": "k",
    "ts": TS,
    "by": "op",
    "why": "spike",
    "action": "kill",
    "scope": "global",
}


def read(intake: Intake, members: dict[str, Any], **changes: Any) -> Any:
    return intake.read(json.dumps(members | changes).encode())


def test_a_full_usage_event_keeps_every_field(intake: Intake) -> None:
    """The example of the contract, field by field."""
    raw = (
        b'{"type":"usage","id":"req-1","ts":"2026-08-13T11:08:00.123+08:00","model":"deepseek-v4-flash","tenant":"acme",'
        b'"department":"rd","user":"u1","knowledge_base":"handbook","key_hash":"ba0383d3","prompt_tokens":1200,'
        b'"completion_tokens":300,"total_tokens":1500,"cached_tokens":1000,"status":"success","cache_hit":false,'
        b'"estimated":false,"source":"gate"}'
    )
    assert intake.read(raw) == Usage(
        id="req-1",
        at=AT,
        model="deepseek-v4-flash",
        total_tokens=1500,
        prompt_tokens=1200,
        completion_tokens=300,
        cached_tokens=1000,
        tenant="acme",
        department="rd",
        user="u1",
        knowledge_base="handbook",
        key_hash="ba0383d3",
        source="gate",
    )


def test_the_parts_do_instead_of_the_total(intake: Intake) -> None:
    """Without `total_tokens`, both parts make it."""
    found = read(intake, USAGE, total_tokens=None, prompt_tokens=1200, completion_tokens=300)
    assert found == Usage(id="req-1", at=AT, model="m", total_tokens=1500, prompt_tokens=1200, completion_tokens=300)


def test_a_total_above_its_parts_is_believed(intake: Intake) -> None:
    """Providers charge kinds of tokens that stand in neither part; the total is what they charge."""
    assert read(intake, USAGE, prompt_tokens=1000, completion_tokens=300).total_tokens == 1500


def test_null_is_absent_for_optional_fields(intake: Intake) -> None:
    """Gateways write null for what they do not know."""
    optional = ["prompt_tokens", "completion_tokens", "cached_tokens", "tenant", "department", "user", "knowledge_base"]
    more = ["key_hash", "status", "cache_hit", "estimated", "source", "today"]
    assert read(intake, USAGE, **dict.fromkeys(optional + more)) == read(intake, USAGE)


def test_unknown_fields_are_ignored(intake: Intake) -> None:
    """A gateway may send more than we ask for, nested or not."""
    assert read(intake, USAGE, extra={"a": [1, None]}, version=2) == read(intake, USAGE)


def test_names_may_be_of_any_language(intake: Intake) -> None:
    """Text is Unicode, escaped or not."""
    assert read(intake, USAGE, tenant="研发部 🚀").tenant == "研发部 🚀"
    assert intake.read(json.dumps(USAGE | {"tenant": "研发部"}, ensure_ascii=False).encode()).tenant == "研发部"  # type: ignore[union-attr]


TIMES = [
    pytest.param("2026-08-13T03:08:00.123Z", id="UTC"),
    pytest.param("2026-08-13t03:08:00.123z", id="lower case"),
    pytest.param("2026-08-13 11:08:00.123+08:00", id="a blank instead of T"),
    pytest.param("2026-08-13T11:08:00.123999+08:00", id="microseconds are cut off"),
    pytest.param("2026-08-13T11:08:00.123", id="naive: the configured zone"),
    pytest.param(1786590480.123, id="seconds of the epoch"),
]


@pytest.mark.parametrize("ts", TIMES)
def test_a_time_may_be_written_in_these_ways(intake: Intake, ts: str | float) -> None:
    """All of them are the same instant."""
    assert read(intake, USAGE, ts=ts).at == AT


def test_the_last_instant_of_a_day_is_not_rounded_into_the_next(intake: Intake) -> None:
    """Digits beyond milliseconds never move an event over midnight."""
    midnight = from_datetime(datetime(2026, 8, 14, 0, 0, tzinfo=ZoneInfo("Asia/Shanghai")))
    assert read(intake, USAGE, ts="2026-08-13T23:59:59.999999+08:00").at == midnight - 1


def test_a_reading_keeps_its_packages(intake: Intake) -> None:
    """Times of packages are instants as well; an empty list is a list."""
    found = read(intake, READING, unit="Token", asked_at=TS, settled_until=1786500000, packages=[PACKAGE])
    expires = from_datetime(datetime(2026, 9, 8, 23, 59, tzinfo=UTC))
    package = Package(id="p", total=9, available=5, effective=1786500000_000, expires=expires)
    assert found == Reading(
        id="b-1", at=AT, model="m", available=1_726_526, asked_at=AT, settled_until=1786500000_000, packages=(package,)
    )
    assert read(intake, READING, packages=[]).packages == ()
    assert read(intake, READING).packages is None


def test_a_package_that_never_expires_expires_at_the_end_of_time(intake: Intake) -> None:
    """Providers write a far year for "never"."""
    found = read(intake, READING, packages=[PACKAGE | {"expires": "9999-12-31T23:59:59Z"}])
    assert found.packages[0].expires == LATEST - 1


def test_a_calibration_a_control_a_clock_and_a_refusal_are_read(intake: Intake) -> None:
    """The shapes besides usage and readings."""
    assert read(intake, CALIBRATION, force=True, by="op") == Calibration(
        id="c", at=AT, model="m", day="2026-08-13", pool=7, force=True, by="op"
    )
    assert read(intake, CONTROL, until=TS, why="two\nlines") == Control(
        id="k", at=AT, by="op", why="two\nlines", action=ControlAction.KILL, scope="global", until=AT
    )
    assert read(intake, {"type": "clock", "ts": TS}) == Clock(at=AT)
    refused = {"type": "refusal", "id": "r", "ts": TS, "model": "m", "usage": 1, "reserve": 2, "limit": 3}
    assert read(intake, refused) == Refusal(id="r", at=AT, model="m", usage=1, reserve=2, limit=3)


CASES = [
    ("balance in another unit", READING | {"unit": "张"}, Reason.WRONG_UNIT, "unit"),
    ("balance in no unit", READING | {"unit": ""}, Reason.WRONG_UNIT, "unit"),
    ("balance missing", READING | {"available": None}, Reason.WRONG_TYPE, "available"),
    ("negative balance", READING | {"available": -1}, Reason.BAD_VALUE, "available"),
    ("blank model", READING | {"model": " "}, Reason.BAD_VALUE, "model"),
    ("asked after the answer", READING | {"asked_at": "2026-08-13T11:08:01+08:00"}, Reason.BAD_TIME, "asked_at"),
    ("settled after the answer", READING | {"settled_until": "2026-08-14T00:00:00Z"}, Reason.BAD_TIME, "settled_until"),
    ("package without id", READING | {"packages": [{}]}, Reason.MISSING_FIELD, "packages[0]: the required field `id`"),
    (
        "package with more left than it had",
        READING | {"packages": [PACKAGE | {"available": 10}]},
        Reason.BAD_VALUE,
        "packages[0]",
    ),
    (
        "package that ends before it begins",
        READING | {"packages": [PACKAGE, PACKAGE | {"expires": 1786400000}]},
        Reason.BAD_TIME,
        "packages[1]",
    ),
    ("packages that are no list", READING | {"packages": "none"}, Reason.WRONG_TYPE, "packages"),
    ("no such day", CALIBRATION | {"day": "2026-02-30"}, Reason.BAD_TIME, "day"),
    ("a day in another form", CALIBRATION | {"day": "20260813"}, Reason.BAD_TIME, "day"),
    ("a day of year 9999", CALIBRATION | {"day": "9999-01-01"}, Reason.BAD_TIME, "day"),
    ("negative pool", CALIBRATION | {"pool": -1}, Reason.BAD_VALUE, "pool"),
    ("unknown action", CONTROL | {"action": "explode"}, Reason.BAD_VALUE, "action"),
    ("no author", CONTROL | {"by": ""}, Reason.BAD_VALUE, "by"),
    ("blank reason", CONTROL | {"why": " "}, Reason.BAD_VALUE, "why"),
    ("top-up of nothing", CONTROL | {"action": "topup"}, Reason.MISSING_FIELD, "`tokens`"),
    ("unknown scope", CONTROL | {"scope": "planet:earth"}, Reason.BAD_VALUE, "scope"),
    ("global with a name", CONTROL | {"scope": "global:x"}, Reason.BAD_VALUE, "scope"),
    ("model without a name", CONTROL | {"scope": "model:"}, Reason.BAD_VALUE, "scope"),
    ("user without a tenant", CONTROL | {"scope": "user:u1"}, Reason.BAD_VALUE, "scope"),
    ("no such net", CONTROL | {"scope": "ip:300.0.0.1"}, Reason.BAD_VALUE, "scope"),
    ("clock of year 9999", {"type": "clock", "ts": "9999-01-01T00:00:00Z"}, Reason.BAD_TIME, "ts"),
]


@pytest.mark.parametrize(("members", "reason", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_misfits_of_the_other_shapes(intake: Intake, members: dict[str, Any], reason: Reason, says: str) -> None:
    """A rejected reading, calibration or control names the field as well."""
    found = read(intake, members)
    assert isinstance(found, Rejected), found
    assert found.reason == reason
    assert says in found.detail


@pytest.mark.parametrize(
    "scope", ["global", "model:m", "tenant:张 三", "user:acme/u/1", "ip:10.1.2.3", "ip:10.0.0.0/8", "ip:fe80::/10"]
)
def test_every_kind_of_scope_is_accepted(intake: Intake, scope: str) -> None:
    """Controls reach every scope there is."""
    assert read(intake, CONTROL, scope=scope).scope == scope
