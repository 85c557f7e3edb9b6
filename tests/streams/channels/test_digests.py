"""The daily digest in words: what people see is agreed, whatever the day was like."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.day_book import DayBook
from rules.digest import MOST, digest
from rules.moment import HOUR, MINUTE
from streams.channels.card_check import faults
from streams.channels.cards import card
from streams.channels.digests import MOST as LINES
from streams.channels.fitting import MOST_BYTES, fitted
from streams.channels.messages import message
from streams.channels.phrases_en import KINDS as EN
from streams.channels.webhook import payload

GOLDEN = Path(__file__).parents[2] / "golden"
ZONE = ZoneInfo("Asia/Shanghai")
DAY = "2026-08-13"
AT = 1_786_669_500_000  # 2026-08-14 09:05 +08:00
DASHBOARD = "https://grafana.example/d/blastdoor"


def book(name: str, used: int, **fields: Any) -> DayBook:
    known: dict[str, Any] = {"returned": (0, 0), "expired": (0, 0), "charged": (0, 0), "unexplained": (0, 0)}
    return DayBook(scope=f"model:{name}", day=DAY, used=used, **(known | fields))


BOOKS = (
    book(
        "deepseek-v4-flash", 1_998_412, requests=4_210, cache_hits=311, returned=(1_696_135, 1_696_135),
        refused=2 * HOUR + 40 * MINUTE, left=(243_581, 243_766),
    ),
    book(
        "doubao-seed-1.6", 820_000, requests=1_377, returned=(910_000, 910_000), expired=(120_000, 180_000),
        left=(2_090_000, 2_150_500),
    ),
    book("kimi-k2", 64_250, requests=120, charged=(0, 12_500), left=(0, 0), refused=5 * HOUR),
    DayBook(scope="model:glm-4.6", day=DAY, used=3_100, requests=9, refused=24 * HOUR),
)  # fmt: skip


def rendered(language: str, books: tuple[DayBook, ...] = BOOKS) -> dict[str, Any]:
    return card(message(digest(DAY, books, AT), language, ZONE, DASHBOARD), "2.0")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_card_is_the_golden_one(language: str) -> None:
    """What people see changes only on purpose: set BLASTDOOR_WRITE_GOLDEN to accept a change."""
    found = json.dumps(rendered(language), ensure_ascii=False, indent=1) + "\n"
    path = GOLDEN / f"feishu-digest-{language}.json"
    if "BLASTDOOR_WRITE_GOLDEN" in os.environ:
        path.write_text(found)
    assert found == path.read_text()
    assert list(faults(json.loads(found))) == []


def test_what_is_unknown_is_said_to_be() -> None:
    """A pool that was never known has no charge of nothing: the message says that it cannot tell."""
    unknown = message(digest(DAY, BOOKS[3:], AT), "en", ZONE)
    assert "returned unknown" in unknown.lines[0].text
    assert unknown.sections[0].text == "The free pool was not known, so what was charged is not either."


def test_a_quiet_day_needs_nothing() -> None:
    """Nothing was lost or charged: said so, in one line per model and no sum of one."""
    quiet = message(digest(DAY, (book("m", 5, requests=1),), AT), "en", ZONE)
    assert [line.text for line in quiet.lines] == ["used 5 · returned 0 · requests 1"]
    assert [section.text for section in quiet.sections] == [
        "Within the free pool nothing was charged.",
        "Nothing is to be done.",
    ]


def test_of_what_went_wrong_the_worst_gives_the_advice() -> None:
    """A loss nobody can explain before packages that ended."""
    wrong = (book("a", 1, expired=(5, 5)), book("b", 1, unexplained=(7, 9)))
    assert message(digest(DAY, wrong, AT), "en", ZONE).sections[1].text == EN["unexplained"].advice
    assert message(digest(DAY, wrong[:1], AT), "en", ZONE).sections[1].text == EN["expired"].advice


def test_very_many_models_are_summed_up() -> None:
    """A line each for the most used, one for the rest; the sum is that of all."""
    many = tuple(book(f"m{number}", 10) for number in range(LINES + 20))
    found = message(digest(DAY, many, AT), "en", ZONE)
    assert len(found.lines) == LINES + 2
    assert found.lines[0].text.startswith(f"used {10 * len(many)}")
    assert (found.lines[-1].label, found.lines[-1].text.split(" · ")[0]) == ("more 20", "used 200")


@pytest.mark.parametrize("letter", ["😀", "长", "a"])
def test_the_largest_digest_fits_everywhere(letter: str) -> None:
    """As many models as a digest holds, with the longest names and numbers: within 20 KB as card and as webhook."""
    span = (10**15, 10**15 + 1)
    many = tuple(
        DayBook(
            scope=f"model:{letter * 200}", day=DAY, used=10**15, requests=10**12, cache_hits=10**12, cached=10**15,
            refused=24 * HOUR, returned=span, expired=span, unexplained=span, charged=span, left=span,
        )
        for _ in range(MOST)
    )  # fmt: skip
    alert = digest(DAY, many, AT)
    words = message(alert, "zh", ZONE, DASHBOARD)
    assert len(fitted(lambda clip: {"card": card(words.clipped(clip), "2.0")})) <= MOST_BYTES
    assert len(fitted(lambda clip: payload(alert, words, clip))) <= MOST_BYTES
