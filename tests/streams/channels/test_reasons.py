"""What the core gives as reasons is told in Chinese where alerts are Chinese."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.channels.reasons_zh import LONGEST, SENTENCES, in_chinese

ROOT = Path(__file__).parents[3]
# Whose reasons go into alerts.
SOURCES = [*(ROOT / "rules").glob("*.py"), ROOT / "streams" / "poll" / "sending.py"]
ELSEWHERE = {"explain.py", "dead_letter.py"}

# What stands in places that hold more than a number or a name.
PARTS = {
    "what": ["at least 5 tokens came unseen", "at least 5 tokens left the pool unmetered"],
    "how": ["by force, against everything known before", "beside the readings"],
    "known": ["known up to 5 min ago", "not known at all"],
    "says(stamp.apart)": ["5 s ahead of their receipt: the clock that stamped them is fast, or ours is slow"],
    "says(ahead)": ["5 s behind their receipt: the clock that stamped them is slow, or they came late"],
    "more": ["", " and 5 more"],
}


def _texts(node: ast.expr) -> list[str]:
    """What an f-string may come to, with 5 in each place; none for anything but text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if not isinstance(node, ast.JoinedStr):
        return []
    parts = [
        [str(part.value)] if isinstance(part, ast.Constant) else PARTS.get(ast.unparse(part.value), ["5"])  # type: ignore[attr-defined]
        for part in node.values
    ]
    return ["".join(words) for words in itertools.product(*parts)]


def _reasons(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "reason":
            yield from _texts(node.value)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reason":
            yield from _texts(node.value)


REASONS = sorted({text for path in SOURCES if path.name not in ELSEWHERE for text in _reasons(path) if text})


def test_the_core_s_reasons_are_found() -> None:
    """As many as the catalogue has sentences, but for those that stand in others."""
    assert len(REASONS) >= 20


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_its_chinese_words(reason: str) -> None:
    """A sentence that is changed or added here is changed or added there."""
    told = in_chinese(reason)
    assert re.search("[\\u4e00-\\u9fff]", told)
    assert not re.search("[a-z]{2,} [a-z]{2,}", told)


@pytest.mark.parametrize("english", SENTENCES)
def test_both_have_the_same_places(english: str) -> None:
    """No number is lost on the way."""
    assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", SENTENCES[english]))


def test_numbers_and_names_stay() -> None:
    """As they stood."""
    assert in_chinese("12,345 records could not be read within 10 minutes") == "10 分钟内有 12,345 条记录无法读取"
    cost = in_chinese("5 to 1,000 tokens went beyond the free pool, for 0.02 to 12.5 CNY")
    assert cost == "5 至 1,000 tokens 超出免费额度，费用 0.02 至 12.5 CNY"
    odd = "at least 1,000 tokens left the pool unmetered (reading {by} (x): y): the pool is started afresh"
    assert "(读数 {by} (x): y)" in in_chinese(odd)
    apart = in_chinese(
        "times of usage are 90 s ahead of their receipt: the clock that stamped them is fast, or ours is slow"
    )
    assert apart == "用量的时间比收到时早 90 秒：打时间戳的时钟偏快，或本机时钟偏慢"


@given(st.text(max_size=200))
def test_what_is_not_known_is_shown_as_it_came(text: str) -> None:
    """An operator's own words among them."""
    assert in_chinese(f"own: {text}") == f"own: {text}"


def test_nobody_keeps_us_searching() -> None:
    """A name from outside that looks like many sentences is not looked into."""
    text = "calibration " + "x to 5 does not fit: " * LONGEST
    assert in_chinese(text) == text
