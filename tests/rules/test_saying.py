"""What a rule says: templates over facts, and values as people read them."""

from __future__ import annotations

import pytest

from rules.saying import Saying, readable
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


def test_a_template_is_filled() -> None:
    """Braces hold names of facts; double braces are braces; a value is never read as a template."""
    saying = Saying.parse("{{{model}}}: {used}/{limit}!")
    assert set(saying.names()) == {"model", "used", "limit"}
    assert saying.about({"model": "{used}", "used": 1000, "limit": None}) == "{{used}}: 1,000/unknown!"


@pytest.mark.parametrize(
    "template", ["{", "}", "{}", "{0}", "{used:d}", "{used!r}", "{used.real}", "{a b}", "{used[0]}"]
)
def test_a_template_holds_names_only(template: str) -> None:
    """Formats, positions and attributes are refused: a policy file is no program."""
    with pytest.raises(ValueError, match=r"brace|'[{}]'"):
        Saying.parse(template)
