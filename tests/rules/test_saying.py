"""What a rule says: templates over facts, and values as people read them."""

from __future__ import annotations

import pytest

from rules.saying import Saying, duration, readable
from rules.scope_facts import FactValue


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2_242_178, "2,242,178"),
        (-5, "-5"),
        (0.8, "0.8"),
        (1800.0, "1,800"),
        (0.29803, "0.3"),
        (100.0, "100"),
        (True, "yes"),
        (False, "no"),
        (None, "unknown"),
        ("豆包 {used}", "豆包 {used}"),
    ],
)
def test_readable(value: FactValue, text: str) -> None:
    """Whole numbers get separators, decimals at most two places, null is unknown, and text stays as it is."""
    assert readable(value) == text


@pytest.mark.parametrize(
    ("seconds", "en", "zh"),
    [
        (0, "0 seconds", "0 秒"),
        (1.9, "1 second", "1 秒"),
        (59, "59 seconds", "59 秒"),
        (60, "1 minute", "1 分钟"),
        (61, "1 minute 1 second", "1 分钟 1 秒"),
        (7_200, "2 hours", "2 小时"),
        (7_205, "2 hours", "2 小时"),
        (9_360, "2 hours 36 minutes", "2 小时 36 分钟"),
        (9_404_113.92, "108 days 20 hours", "108 天 20 小时"),
        (-5.0, "0 seconds", "0 秒"),
    ],
)
def test_a_length_of_time_is_told_in_its_greatest_units(seconds: float, en: str, zh: str) -> None:
    """Two of them at most: nobody counts 9,404,113 seconds."""
    assert (duration(seconds), duration(seconds, "zh")) == (en, zh)


def test_a_fact_may_be_told_as_a_length_of_time() -> None:
    """In the language of the sentence; what is unknown or no number stays what it is."""
    facts: dict[str, FactValue] = {"age": 7_200.0, "none": None, "flag": True, "word": "w"}
    assert Saying.parse("{age:time} old").about(facts) == "2 hours old"
    zh = Saying.parse("{age:time} {none:time} {flag:time} {word:time} {none} {flag}", "zh")
    assert zh.about(facts) == "2 小时 未知 是 w 未知 是"


def test_a_template_is_filled() -> None:
    """Braces hold names of facts; double braces are braces; a value is never read as a template."""
    saying = Saying.parse("{{{model}}}: {used}/{limit}!")
    assert set(saying.names()) == {"model", "used", "limit"}
    assert saying.about({"model": "{used}", "used": 1000, "limit": None}) == "{{used}}: 1,000/unknown!"


@pytest.mark.parametrize(
    "template", ["{", "}", "{}", "{0}", "{used:d}", "{used:times}", "{used!r}", "{used.real}", "{a b}", "{used[0]}"]
)
def test_a_template_holds_names_only(template: str) -> None:
    """Formats, positions and attributes are refused: a policy file is no program."""
    with pytest.raises(ValueError, match=r"brace|'[{}]'"):
        Saying.parse(template)
