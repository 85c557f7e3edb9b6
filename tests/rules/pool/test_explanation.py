"""A person can follow the bounds back to readings."""

from __future__ import annotations

from rules.explanation import explain


def told(model, text: str):
    model.look(text)
    return explain(model.state, model.terms, model.metered, model.at(text))


def test_the_readings_that_gave_the_ends_are_named(model) -> None:
    """In order of time, with what each says."""
    model.start("06:00")
    model.use("08:50", 40_000)
    model.read("09:00", 500_000)
    model.use("09:40", 10_000)
    model.read("09:45", 460_000)
    found = told(model, "09:45")
    assert [reading.id for reading in found.readings] == ["r1", "r2"]
    first, second = found.readings
    assert "gives the high end" in second.roles
    assert "gives the low end" in first.roles
    assert (first.low, first.high, second.low, second.high) == (500_000, 540_000, 500_000, 510_000)


def test_what_does_not_count_says_why(model) -> None:
    """Too early for the low end, too old for it, or from before an arrival."""
    model.start("08:50")
    model.read("09:00", 500_000)
    model.read("09:25", 500_000)
    model.read("10:40", 900_000)
    found = told(model, "10:40")
    early, old, newest = found.readings
    assert early.low is None
    assert "too old for the low end" in old.roles
    assert any("arrival" in role for role in old.roles)
    assert "gives the low end" in newest.roles
    assert [change.low for change in found.changes] == [400_000]


def test_a_reading_that_waits_for_usage_says_so(model) -> None:
    """It is not tested yet."""
    model.start("06:00")
    model.read("09:00", 500_000)
    model.read("09:30", 450_000, complete_until="09:29")
    found = explain(model.state, model.terms, model.metered, model.at("09:30"))
    assert any("waits" in role for role in found.readings[-1].roles)
