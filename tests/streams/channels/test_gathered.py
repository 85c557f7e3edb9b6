"""Several alerts in one message: all of them in it, each meaning once, and never too large."""

from __future__ import annotations

import json
import os
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.alerts import Alert, Ended, Kind, Severity
from streams.channels.card_check import faults
from streams.channels.cards import card
from streams.channels.feishu import MOST
from streams.channels.fitting import MOST_BYTES, fitted
from streams.channels.gathered import SHORT_ID, gathered
from streams.channels.messages import message
from streams.channels.sender import Note

ZONE = ZoneInfo("Asia/Shanghai")
GOLDEN = Path(__file__).parents[2] / "golden"


def test_one_alert_stays_as_it_is(make_note) -> None:
    """Nothing is gained by a list of one."""
    note = make_note()
    assert gathered([note]) is note


@pytest.mark.parametrize(
    ("language", "title", "subject"),
    [
        ("zh", "25 条告警：模型 m0 已用到限额的 80% 等", "模型 m0、模型 m1、模型 m2 等共 25 个"),
        ("en", "25 alerts: Model m0 has used 80% of its limit …", "model m0, model m1, model m2 and 22 more"),
    ],
)
def test_25_models_are_25_lines_and_one_meaning(make_note, language: str, title: str, subject: str) -> None:
    """A line with the numbers for each, the meaning for money and the advice once, all ids in the foot."""
    notes = [make_note(language, scope=f"model:m{number}") for number in range(25)]
    found = gathered(notes)
    assert found.alerts == tuple(note.alert for note in notes)
    assert (found.message.title, found.message.subject) == (title, subject)
    assert len(found.message.lines) == 25
    assert found.message.lines[24].text == "1,790,000 / 2,232,178 tokens (80%)"
    assert [section.text for section in found.message.sections] == [s.text for s in notes[0].message.sections]
    assert all(note.alert.id[:SHORT_ID] in found.message.foot for note in notes)


def test_the_most_severe_gives_title_and_colour(make_note) -> None:
    """Among warnings a critical one is not overlooked; order in time is kept below."""
    notes = [make_note("en"), make_note("en", scope="model:b", severity=Severity.CRITICAL, threshold=1.0)]
    found = gathered(notes).message
    assert (found.severity, found.tag) == (Severity.CRITICAL, "critical")
    assert found.title == "2 alerts: Model b has used 100% of its limit …"
    assert [line.label.split("]")[0] for line in found.lines] == ["[warning", "[critical"]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_card_is_the_golden_one(language: str, make_note) -> None:
    """What people see changes only on purpose: set BLASTDOOR_WRITE_GOLDEN to accept a change."""
    models = ("deepseek-v4-flash", "doubao-seed-1.6", "kimi-k2", "glm-4.6", "qwen3-max")
    notes = [
        make_note(
            language, scope=f"model:{name}", used=1_800_000 + 10_000 * number, limit=2_000_000, details={"wall": "cap"}
        )
        for number, name in enumerate(models)
    ]
    notes.append(make_note(language, scope="model:kimi-k2", severity=Severity.CRITICAL, threshold=1.0, used=2_232_178))
    found = json.dumps(card(gathered(notes).message, "2.0"), ensure_ascii=False, indent=1) + "\n"
    path = GOLDEN / f"feishu-group-{language}.json"
    if "BLASTDOOR_WRITE_GOLDEN" in os.environ:
        path.write_text(found)
    assert found == path.read_text()


def recovered(make_note, scope: str) -> Note:
    ends = (Ended(id="e", kind=Kind.THRESHOLD, severity=Severity.CRITICAL, threshold=1.0),)
    return make_note("en", scope=scope, kind=Kind.RECOVERED, severity=Severity.CRITICAL, threshold=None, ends=ends)


def test_good_news_is_good_only_if_all_of_it_is(make_note) -> None:
    """Green for recoveries alone; with one warning among them it is a warning."""
    good = [recovered(make_note, "model:a"), recovered(make_note, "model:b")]
    assert gathered(good).message.good
    mixed = gathered([*good, make_note("en", scope="model:c")]).message
    assert (mixed.good, mixed.severity) == (False, Severity.WARNING)
    assert mixed.title.startswith("3 alerts: Model c")


def test_charged_tokens_are_summed_over_scopes_not_over_alerts(make_note) -> None:
    """Two alerts of one model tell of the same charge."""
    notes = [
        make_note("en", scope="model:a", charged_high=100_000),
        make_note("en", scope="model:a", charged_high=149_616, threshold=1.0),
        make_note("en", scope="model:b", charged_high=384),
    ]
    assert "An estimated 150,000 tokens at most" in gathered(notes).message.sections[0].text


def test_other_kinds_are_told_with_their_reason(make_note) -> None:
    """What has no share of a limit says why."""
    overdue = {"kind": Kind.RETURN_OVERDUE, "threshold": None, "reason": "500 of 900 tokens have not come back"}
    found = gathered([make_note("en", scope=f"model:{name}", **overdue) for name in "ab"]).message
    assert [line.text for line in found.lines] == ["500 of 900 tokens have not come back"] * 2


TEXTS = st.text(alphabet=st.sampled_from('长"\\<*é😀a \n'), max_size=5_000)


def body_of(names: list[tuple[str, str]], language: str) -> bytes:
    """The request about alerts with these names and reasons, as a bot gets it."""
    alerts = [
        Alert(
            id="f" * 64,
            kind=Kind.UNEXPLAINED,
            severity=Severity.CRITICAL,
            scope=f"model:{name}",
            at=1_786_591_320_000,
            window="2026-08-13",
            used=10**18,
            limit=10**18,
            reason=reason,
        )
        for name, reason in names
    ]
    note = gathered([Note(alert, message(alert, language, ZONE)) for alert in alerts])
    return fitted(lambda clip: {"card": card(note.message.clipped(clip), "2.0")})


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("letter", ["😀", "长", '"', "a"])
def test_the_largest_message_fits(letter: str, language: str) -> None:
    """As many alerts as a card may hold, with names and reasons of thousands of characters: within 20 KB."""
    assert len(body_of([(letter * 300, letter * 5_000)] * MOST, language)) <= MOST_BYTES


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=MOST), st.sampled_from(["zh", "en"]))
def test_every_message_is_valid(names: list[tuple[str, str]], language: str) -> None:
    """Whatever the names: no property is refused, and it fits."""
    body = body_of(names, language)
    assert len(body) <= MOST_BYTES
    assert list(faults(json.loads(body)["card"])) == []
