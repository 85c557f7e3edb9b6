"""The lines of a gate's log: what is ours, what it becomes, what is broken."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.intake.reader import Intake
from rules.moment import from_datetime
from rules.records import Reading, Reason, Refusal, Rejected, Usage

AT = from_datetime(datetime(2026, 8, 13, 10, 54, 30, tzinfo=ZoneInfo("Asia/Shanghai")))
HEAD = "2026-08-13 10:54:30,000 INFO litellm.callbacks.quota "
USAGE = HEAD + "📊 [Usage] deepseek-v4:ba0383d3: +7567 (Today: 7,682 | BalAtSync: 2,242,178 | Limit: 2,000,000)"
CHECK = HEAD + "DEBUG: Checking deepseek-v4 (Bal: 1,558,307, Rem: 1,258,307) (余额/剩余)"
REFUSAL = HEAD + "🚫 [PRE-BLOCK] deepseek-v4 daily limit reached (1,696,135+16/296,869)"


def read(intake: Intake, line: str) -> Any:
    return intake.read_log(line.encode())


def test_a_usage_line_is_usage(intake: Intake) -> None:
    """Model, key hash, tokens and the running total of the day."""
    found = read(intake, USAGE)
    assert found == Usage(
        id=found.id, at=AT, model="deepseek-v4", total_tokens=7567, key_hash="ba0383d3", source="log", today=7682
    )


def test_a_check_is_a_reading(intake: Intake) -> None:
    """`Bal` is the balance; `Rem` is the gate's own arithmetic."""
    found = read(intake, CHECK)
    assert found == Reading(id=found.id, at=AT, model="deepseek-v4", available=1_558_307, source="log")


def test_a_pre_block_is_a_refusal(intake: Intake) -> None:
    """An observation with the three numbers of the gate."""
    found = read(intake, REFUSAL)
    assert found == Refusal(id=found.id, at=AT, model="deepseek-v4", usage=1_696_135, reserve=16, limit=296_869)


SAME_USAGE = [
    pytest.param(USAGE.replace("📊 ", ""), id="without the picture"),
    pytest.param(USAGE.replace("📊", "ð\x9f"), id="with a broken picture"),
    pytest.param(USAGE.replace("7,682", "7682"), id="without separators"),
    pytest.param(USAGE.replace("+7567", "+7,567"), id="with separators"),
    pytest.param(USAGE.replace("BalAtSync", "Rem"), id="in the older form"),
    pytest.param(USAGE.replace("2,242,178", "None"), id="without a balance at the last sync"),
    pytest.param(
        USAGE.replace("(", "（").replace(")", "）").replace(": ", "：").replace("|", "｜"), id="with full-width signs"
    ),
    pytest.param(USAGE.replace("[Usage]", "【Usage】"), id="with full-width brackets"),
    pytest.param(USAGE.replace("7567", "７５６７"), id="with full-width digits"),
    pytest.param("litellm-1  | 2026-08-13T02:54:31.123456789Z " + USAGE, id="collected by a container host"),
    pytest.param(USAGE.replace("INFO litellm.callbacks.quota", "[INFO]"), id="with another format of the logger"),
    pytest.param(USAGE + "\r", id="with a carriage return"),
]


@pytest.mark.parametrize("line", SAME_USAGE)
def test_a_usage_line_may_be_written_in_these_ways(intake: Intake, line: str) -> None:
    """The same content is the same event, with the same id."""
    assert read(intake, line) == read(intake, USAGE)


def test_ids_do_not_depend_on_the_configured_zone(intake: Intake) -> None:
    """A copy of the log read elsewhere has the same ids."""
    elsewhere = Intake(ZoneInfo("America/New_York")).read_log(USAGE.encode())
    assert isinstance(elsewhere, Usage)
    assert elsewhere.id == read(intake, USAGE).id
    assert elsewhere.at != AT


@pytest.mark.parametrize(
    "other", [("10:54:30", "10:54:31"), ("+7567", "+7566"), ("7,682", "7,683"), ("v4:", "v5:"), ("ba03", "ba04")]
)
def test_another_content_is_another_event(intake: Intake, other: tuple[str, str]) -> None:
    """Time, model, key, tokens and the running total make the id."""
    assert read(intake, USAGE.replace(*other)).id != read(intake, USAGE).id


def test_a_time_with_an_offset_is_taken_at_its_word(intake: Intake) -> None:
    """The configured zone is for naive times only."""
    assert read(intake, USAGE.replace("2026-08-13 10:54:30,000", "2026-08-13T02:54:30Z")).at == AT


def test_a_model_may_hold_colons(intake: Intake) -> None:
    """The key's hash is what stands behind the last one."""
    found = read(intake, USAGE.replace("deepseek-v4:", "ollama/llama3:8b:"))
    assert (found.model, found.key_hash) == ("ollama/llama3:8b", "ba0383d3")


BROKEN = [
    pytest.param(USAGE.replace("7567", "abc"), "[Usage]", id="tokens that are no number"),
    pytest.param(USAGE.replace("+7567", "+-5"), "[Usage]", id="negative tokens"),
    pytest.param(USAGE.replace("7567", "75,67"), "[Usage]", id="separators in the wrong place"),
    pytest.param(USAGE[: USAGE.index("(")], "[Usage]", id="cut off"),
    pytest.param(USAGE.replace("Today: 7,682 | ", ""), "[Usage]", id="without the running total"),
    pytest.param(USAGE.replace("7,682", "7,566"), "Today", id="a running total below the tokens"),
    pytest.param(USAGE.replace("7567", "9" * 20), "tokens", id="absurd tokens"),
    pytest.param(USAGE.replace(HEAD, ""), "no date", id="without a time"),
    pytest.param(USAGE.replace("2026-08-13 ", ""), "no date", id="without a date"),
    pytest.param(USAGE.replace("08-13", "13-32"), "time", id="no such day"),
    pytest.param(USAGE.replace("2026", "9999"), "9999", id="year 9999"),
    pytest.param(USAGE.replace("deepseek-v4", "m" * 600), "model", id="a model without end"),
    pytest.param(CHECK.replace("1,558,307", "None"), "Checking", id="a balance that was not had"),
    pytest.param(CHECK.replace("1,558,307", "-5"), "Checking", id="a negative balance"),
    pytest.param(CHECK.replace("1,558,307", "9" * 20), "Bal", id="an absurd balance"),
    pytest.param(REFUSAL.replace("+16", ""), "[PRE-BLOCK]", id="a refusal without its reserve"),
]


@pytest.mark.parametrize(("line", "says"), BROKEN)
def test_a_line_of_ours_that_is_broken_is_rejected(intake: Intake, line: str, says: str) -> None:
    """It bears the mark, so it is not passed over in silence, in a log file nor elsewhere."""
    for found in (read(intake, line), intake.read(line.encode())):
        assert isinstance(found, Rejected), found
        assert found.reason == Reason.BAD_LOG_LINE
        assert says in found.detail


FOREIGN = [
    "",
    'INFO: 127.0.0.1:53422 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    HEAD + "DEBUG: deepseek-v4 Pool=2,800,128 | Usage=1,241,821 | StaticLimit=2,000,000 | StableLimit=2,500,128",
    HEAD + "Set Redis limit:dynamic:volcengine:remaining:deepseek-v4 = 1,258,307",
    HEAD + "Checking the health of m",
    "🚫 [防爆门触发] 租户 [acme] 今日 Token 配额 (500000) 已用尽，已阻断调用！",
    '{"level": "info", "message": "a program that logs JSON"}',
    '{"broken": ',
    "{",
    "Traceback (most recent call last):",
]


@pytest.mark.parametrize("line", FOREIGN)
def test_a_line_of_another_program_is_none_of_ours(intake: Intake, line: str) -> None:
    """In a log file it is passed over; elsewhere it cannot be read."""
    assert read(intake, line) is None
    assert isinstance(intake.read(line.encode()), Rejected)


def test_a_log_may_hold_json_of_ours(intake: Intake) -> None:
    """Good events are taken, broken ones rejected, with the reasons of JSON."""
    event = '{"type":"usage","id":"r","ts":1786590480,"model":"m","total_tokens":%s}'
    assert isinstance(read(intake, event % 5), Usage)
    assert read(intake, event % -5).reason == Reason.BAD_VALUE


def test_a_name_that_is_no_text_is_rejected(intake: Intake) -> None:
    """Invalid UTF-8 may stand before the mark, but not in the model."""
    line = USAGE.encode()
    assert isinstance(intake.read_log(line.replace("📊".encode(), b"\xf0\x9f")), Usage)
    assert isinstance(intake.read_log(line.replace(b"deepseek", b"deep\xff")), Rejected)
    assert isinstance(intake.read_log(line.replace(b"ba0383", b"ba\xff")), Rejected)
