"""Alerts in words."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.alerts import Alert, Ended, Kind, Severity
from rules.day_book import DayBook
from streams.channels.digests import MOST
from streams.channels.messages import LANGUAGES, MOST_DETAILS, message

ZONE = ZoneInfo("Asia/Shanghai")
NUMBERS = st.none() | st.integers(-(10**18), 10**18)
SPANS = st.none() | st.tuples(st.integers(0, 10**18), st.integers(0, 10**18))
ALERTS = st.builds(
    Alert,
    id=st.text(max_size=128),
    kind=st.sampled_from(Kind),
    severity=st.sampled_from(Severity),
    scope=st.text(max_size=300),
    at=st.integers(-(10**18), 10**18),
    window=st.text(max_size=50),
    threshold=st.none() | st.floats(allow_nan=False),
    grant=st.integers(0, 10**18),
    used=NUMBERS,
    limit=NUMBERS,
    pool_low=NUMBERS,
    pool_high=NUMBERS,
    charged_high=NUMBERS,
    rule=st.text(),
    reason=st.text(),
    again=st.integers(0, 10**6),
    books=st.lists(
        st.builds(
            DayBook,
            scope=st.text(max_size=50),
            day=st.text(max_size=20),
            used=st.integers(0, 10**18),
            requests=st.integers(0, 10**18),
            cache_hits=st.integers(0, 10**18),
            refused=st.integers(0, 10**12),
            returned=SPANS,
            expired=SPANS,
            unexplained=SPANS,
            charged=SPANS,
            left=SPANS,
        ),
        max_size=40,
    ).map(tuple),
    ends=st.lists(
        st.builds(
            Ended,
            id=st.text(),
            kind=st.sampled_from(Kind),
            severity=st.sampled_from(Severity),
            threshold=st.none() | st.floats(allow_nan=False),
            rule=st.text(),
        ),
        max_size=3,
    ).map(tuple),
    details=st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=30),
)


def text(**values: Any) -> str:
    """All words of a message."""
    found = message(**values)
    lines = [f"{line.label}{found.colon}{line.text}" for line in (*found.lines, *found.sections)]
    return "\n".join([found.title, found.subject, found.tag, *lines, found.foot])


def test_a_chinese_message_says_what_happened_and_what_to_do(make_alert) -> None:
    """Title, numbers with thousands separators, the reason, the meaning for money, advice, the local time."""
    said = text(alert=make_alert(), language="zh", zone=ZONE)
    assert "模型 deepseek-v4-flash 已用到限额的 80%" in said
    assert "已用：1,790,000 tokens" in said
    assert "限额：2,232,178 tokens (80.1%)" in said
    assert "距限额：442,178 tokens" in said
    assert "2,242,178 ~ 2,242,293 tokens" in said
    assert "原因：80% of the free pool" in said
    assert "对费用的影响：" in said
    assert "建议：" in said
    assert "2026-08-13 11:22:00+08:00" in said


def test_an_english_message_says_the_same(make_alert) -> None:
    """The English words, with the same numbers."""
    said = text(alert=make_alert(), language="en", zone=ZONE)
    assert "Model deepseek-v4-flash has used 80% of its limit" in said
    assert "left to the limit: 442,178 tokens" in said
    assert "What it means for money: " in said
    assert "What to do: " in said


def test_charged_tokens_come_first_in_what_it_means(make_alert) -> None:
    """Once tokens were probably charged, that is the meaning for money."""
    charged = make_alert(charged_high=149_616)
    assert "至多 149,616 tokens 已超出免费额度" in text(alert=charged, language="zh", zone=ZONE)
    assert "149,616 tokens at most" in text(alert=charged, language="en", zone=ZONE)


def test_the_cap_is_about_returns_not_about_charges(make_alert) -> None:
    """At the daily cap nothing is charged on the spot, and the message says so."""
    capped = make_alert(threshold=1.0, details={"wall": "cap"})
    assert "未必当场计费" in text(alert=capped, language="zh", zone=ZONE)
    assert "not necessarily charged" in text(alert=capped, language="en", zone=ZONE)


def test_a_tenant_has_a_quota(make_alert) -> None:
    """A tenant's limit is a quota: no word of the free pool."""
    said = text(alert=make_alert(scope="tenant:acme", details={}), language="en", zone=ZONE)
    assert "Tenant acme has used 80% of its quota" in said


def test_a_little_less_is_never_shown_as_all(make_alert) -> None:
    """Shares are rounded down: 99.99 % is not 100 %."""
    assert "(99.9%)" in text(alert=make_alert(used=999_999, limit=1_000_000), language="en", zone=ZONE)


def test_numbers_among_the_details_are_grouped(make_alert) -> None:
    """A count in the details reads like every other number; a name made of digits and letters stays as it is."""
    said = text(
        alert=make_alert(details={"least": "149616", "day": "2026-08-13", "n": "999"}), language="en", zone=ZONE
    )
    assert "least: 149,616" in said
    assert "day: 2026-08-13" in said
    assert "n: 999" in said


def test_beyond_the_limit_is_said_in_words(make_alert) -> None:
    """A negative rest is an overrun, not a minus sign."""
    assert "超出限额：100 tokens" in text(alert=make_alert(used=1_100, limit=1_000), language="zh", zone=ZONE)


LIMIT_LEFT = {"kind": Kind.RECOVERED, "threshold": None, "severity": Severity.CRITICAL}


def ended(kind: Kind, threshold: float | None = None, rule: str = "") -> tuple[Ended, ...]:
    return (Ended(id="e", kind=kind, severity=Severity.CRITICAL, threshold=threshold, rule=rule),)


def test_a_recovery_reads_as_good_news(make_alert) -> None:
    """Back under the limit: said so, tagged as over whatever the severity, and nothing is to be done."""
    back = make_alert(**LIMIT_LEFT, ends=ended(Kind.THRESHOLD, 1.0))
    assert message(back, "en", ZONE).title == "Model deepseek-v4-flash is back under its limit"
    assert message(back, "zh", ZONE).title == "模型 deepseek-v4-flash 已回到限额以内"
    assert (message(back, "zh", ZONE).tag, message(back, "en", ZONE).tag) == ("已恢复", "over")


def test_what_is_over_is_named_as_it_was_told(make_alert) -> None:
    """The end of a condition repeats the title of its beginning."""
    back = make_alert(**LIMIT_LEFT, ends=ended(Kind.RULE, rule="trial"))
    assert message(back, "en", ZONE).title == "Over: rule trial now decides for model deepseek-v4-flash"
    assert message(back, "zh", ZONE).title == "已恢复：规则 trial 开始对 模型 deepseek-v4-flash 生效"


def test_a_repeat_says_that_it_is_one(make_alert) -> None:
    """Told before, and still so."""
    said = text(alert=make_alert(kind=Kind.RETURN_OVERDUE, again=2), language="en", zone=ZONE)
    assert "Still: the return for model deepseek-v4-flash is overdue" in said
    assert "told before: 2" in said


def test_a_name_from_outside_is_one_line_of_text(make_alert) -> None:
    """A tenant cannot break the layout or hide behind control characters."""
    said = message(make_alert(scope="tenant:a\nb\u202ec"), "en", ZONE)
    assert said.subject == "tenant a bc"


def test_an_unknown_language_is_english(make_alert) -> None:
    """Better a foreign language than no alert."""
    assert message(make_alert(), "tlh", ZONE).language == "en"


def test_a_dashboard_link_is_offered_only_if_there_is_one(make_alert) -> None:
    """No link, no button."""
    assert message(make_alert(), "zh", ZONE).link is None
    link = message(make_alert(), "zh", ZONE, "https://grafana.example/d/bd").link
    assert link is not None
    assert link.text == "https://grafana.example/d/bd"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_words(make_alert, kind: Kind, language: str) -> None:
    """No kind of alert is without title, meaning and advice, and no placeholder is left over."""
    said = message(make_alert(kind=kind), language, ZONE)
    assert all(section.text for section in said.sections)
    assert "{" not in said.title
    assert "{" not in "".join(section.text for section in said.sections)


@settings(max_examples=200, deadline=None)
@given(ALERTS, st.sampled_from(["zh", "en"]))
def test_no_alert_is_beyond_words(alert: Alert, language: str) -> None:
    """Any alert that can be read can be said, with a bounded number of lines."""
    said = message(alert, language, ZONE)
    assert len(said.lines) <= max(MOST_DETAILS + 10, MOST + 2)
    assert said.title


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_end_of_anything_has_a_title(kind: Kind, language: str) -> None:
    """Whatever is over, a forged end of a digest too."""
    ended = Ended(id="e", kind=kind, severity=Severity.INFO)
    alert = Alert(
        id="a", kind=Kind.RECOVERED, severity=Severity.INFO, scope="model:m", at=0, window="2026-08-13", ends=(ended,)
    )
    assert message(alert, language, ZONE).title


SPENT = Alert(
    id="a", kind=Kind.THRESHOLD, severity=Severity.CRITICAL, scope="global", at=0, window="2026-08-13", threshold=1.0,
    used=500_000_000_001, limit=500 * 10**9, unit="CNY", details={"wall": "spend"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("language", "title", "numbers", "advice"),
    [
        (
            "zh",
            "熔断：当日花费已达限额 (100%)",
            ["500.000000001 CNY", "500.00 CNY (100.0%)", "0.000000001 CNY"],
            "resume global",
        ),
        (
            "en",
            "Kill switch: the day's money is spent (100%)",
            ["500.000000001 CNY", "500.00 CNY (100.0%)", "0.000000001 CNY"],
            "resume global",
        ),
    ],
)
def test_the_kill_switch_speaks_of_money(language: str, title: str, numbers: list[str], advice: str) -> None:
    """Amounts of the scope `global` are money to the last digit, never tokens; the advice names the command."""
    found = message(SPENT, language, ZONE)
    assert found.title == title
    assert [line.text for line in found.lines[:3]] == numbers
    assert advice in found.sections[1].text


@pytest.mark.parametrize(
    ("language", "rule", "scope", "title"),
    [
        ("zh", "global-killed", "global", "熔断：管理员已关闭所有调用"),
        ("en", "global-killed", "global", "Kill switch: everything is closed by an operator"),
        ("zh", "user-banned", "user:acme/u1", "用户 acme/u1 已被管理员封禁"),
        ("en", "ip-banned", "ip:203.0.113.7", "IP 203.0.113.7 is banned by an operator"),
        ("en", "my-own", "global", "Rule my-own now decides for global"),
    ],
)
def test_orders_have_words_of_their_own(language: str, rule: str, scope: str, title: str) -> None:
    """A built-in rule that closes says so; any other is named."""
    alert = Alert(id="a", kind=Kind.RULE, severity=Severity.CRITICAL, scope=scope, at=0, window="2026-08-13", rule=rule)
    assert message(alert, language, ZONE).title == title
