"""Conditions in CEL: what is accepted, and what holds when a number is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.condition import Condition, Failed, check_condition
from rules.model_facts import MODEL_FACTS
from rules.scope_facts import FactValue

FACTS: dict[str, FactValue] = {spec.name: spec.samples[-1] for spec in MODEL_FACTS}


def compiled(source: str) -> Condition:
    condition = Condition.compile(source)
    assert isinstance(condition, Condition), condition
    assert check_condition(condition, MODEL_FACTS) is None
    return condition


@pytest.mark.parametrize(
    ("source", "limit", "holds"),
    [
        pytest.param("used >= limit", 10, True, id="reached"),
        pytest.param("used >= limit", 11, False, id="not reached"),
        pytest.param("used >= limit", None, False, id="a comparison with an unknown number does not hold"),
        pytest.param("used < limit", None, False, id="nor does its opposite"),
        pytest.param("!(used >= limit)", None, False, id="nor its negation"),
        pytest.param("used >= limit || complete", None, True, id="what is true anyway holds"),
        pytest.param("used >= limit && complete", None, False, id="what depends on it does not"),
        pytest.param("limit == null", None, True, id="one can ask for the unknown"),
        pytest.param("limit != null", 10, True, id="and for the known"),
        pytest.param("limit == null || used >= limit", None, True, id="to close while unknown"),
        pytest.param("double(limit) * 0.8 <= double(used)", None, False, id="a function of an unknown number"),
        pytest.param("double(limit) * 0.8 <= double(used)", 12, True, id="a function of a known number"),
        pytest.param("limit > 0 && used * 10 / limit >= 8", 0, False, id="a guard against division by zero"),
        pytest.param('model in ["a", "m"] && model.startsWith("m")', 1, True, id="texts"),
        pytest.param("true // for a person", 1, True, id="a comment"),
    ],
)
def test_holds(source: str, limit: int | None, holds: bool) -> None:
    """Unknown is neither true nor false: a condition holds only where it holds whatever the number is."""
    facts = FACTS | {"model": "m", "used": 10, "limit": limit, "complete": True}
    assert compiled(source).holds(facts) is holds


def test_what_cannot_be_evaluated_is_a_failure() -> None:
    """A fault of the condition is told apart from an unknown number, with its cause."""
    assert compiled("used + used > 0").holds(FACTS | {"used": 2**62}) == Failed(
        f"Arithmetic overflow in 'add' on {2**62} and {2**62}"
    )
    assert compiled("complete").holds(FACTS | {"complete": 1}) == Failed("must be true or false, is 1")
    assert compiled("complete").holds({}) == Failed("nothing is found under 'complete'")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            'stale || day < timestamp("2026-01-01T00:00:00Z")', "no function 'timestamp'", id="hidden function"
        ),
        pytest.param('wall == "" && used > "a"', "the types do not fit", id="types behind a wall that is seldom there"),
        pytest.param("limit_known && 5 / used > 1", "division by zero", id="a division by nothing"),
    ],
)
def test_checked_by_trying(source: str, message: str) -> None:
    """What would fail one day is found when the rule is loaded, also behind `&&`."""
    condition = Condition.compile(source)
    assert isinstance(condition, Condition)
    assert message in (check_condition(condition, MODEL_FACTS) or "")


COMPARISONS = ["used >= limit", "limit > 5", "limit + 1 < used", "double(limit) <= share", "used > 3", "complete"]
conditions = st.recursive(
    st.sampled_from(COMPARISONS),
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!({})".format, inner),
    ),
    max_leaves=5,
)


@given(conditions, st.integers(0, 10), st.integers(-2, 12), st.booleans())
def test_an_unknown_number_only_takes_away(source: str, used: int, limit: int, complete: bool) -> None:
    """What holds while the limit is unknown holds for every limit."""
    condition = compiled(source)
    facts = FACTS | {"used": used, "complete": complete}
    if condition.holds(facts | {"limit": None}) is True:
        assert condition.holds(facts | {"limit": limit}) is True


@given(st.text(max_size=30) | st.text(alphabet="()[]{}<>=!&|+-*/.?:\"'\\ \nausedlmit01u", max_size=30))
def test_no_source_raises(source: str) -> None:
    """Any text is a condition or a message."""
    found = Condition.compile(source)
    message = found if isinstance(found, str) else check_condition(found, MODEL_FACTS)
    assert message is None or message.strip()


@pytest.mark.parametrize(
    "source",
    [
        "[1, 2].all(used, used > 0)",
        "[1].exists(used, used == 1)",
        "[1].exists_one(used, used == 1)",
        "[1].map(used, used * 2)[0] == 2",
        "size([1].filter(used, true)) > 0",
        "[1] . all // a comment (\n (used, true)",
        "model == r'\\' && [1].all(used, 'x' != '')",
        "model == '\\'' && [1].all(used, '' == '')",
        """model == '''it's''' && [1].all(used, true)""",
        "".join(f"[0,1,2,3,4,5,6,7,8,9].all({'used' if n % 2 else 'limit'}, " for n in range(20)) + "true" + ")" * 20,
    ],
)
def test_nothing_goes_through_lists(source: str) -> None:
    """A comprehension may run for hours, so it is refused before it is tried, however it is written."""
    found = Condition.compile(source)
    assert isinstance(found, str)
    assert "goes through a list" in found


@pytest.mark.parametrize("text", ["x.all(", "it\\'s.map(y)", "// .filter("])
def test_texts_are_no_calls(text: str) -> None:
    """What only looks like a comprehension inside of a text or a comment is none."""
    assert isinstance(Condition.compile(f"model == '{text}' // .exists(x, y)"), Condition)
