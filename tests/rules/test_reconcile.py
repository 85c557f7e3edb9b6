"""A bill against the books: what agrees, what is explained, and what somebody has to look into."""

from __future__ import annotations

import pytest

from rules.ledger import Amount
from rules.reconcile import Billed, Booked, Verdict, reconcile, worst

DAY, MODEL = "2026-08-13", "flash"


def booked(used: int = 1_000_000, lost: int = 0, **fields: object) -> Booked:
    return Booked(used=used, unexplained=Amount(0, lost), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("billed", "books", "verdict"),
    [
        pytest.param(Billed(tokens=1_000_000), booked(), Verdict.AGREES, id="the same"),
        pytest.param(Billed(tokens=1_000_500), booked(), Verdict.AGREES, id="a residual"),
        pytest.param(Billed(tokens=1_000_501), booked(), Verdict.UNMETERED, id="one token more than a residual"),
        pytest.param(Billed(tokens=999_499), booked(), Verdict.OVERMETERED, id="metered more than billed"),
        pytest.param(Billed(tokens=1_050_000), booked(lost=50_000), Verdict.EXPLAINED, id="the ledger had noticed"),
        pytest.param(Billed(tokens=1_060_000), booked(lost=50_000), Verdict.UNMETERED, id="more than it had noticed"),
        pytest.param(Billed(tokens=5), None, Verdict.NOT_METERED, id="nobody metered"),
        pytest.param(None, booked(), Verdict.NOT_BILLED, id="not on the bill"),
        pytest.param(None, booked(used=0), Verdict.AGREES, id="nothing on either side"),
        pytest.param(Billed(tokens=9_999_999), booked(whole=False), Verdict.OPEN, id="a day that is not over"),
        pytest.param(
            Billed(tokens=1_000_000, charged=10_000), booked(), Verdict.CHARGED, id="charged beyond the books"
        ),
        pytest.param(
            Billed(tokens=1_000_000, charged=10_000), booked(charged=Amount(0, 9_900)), Verdict.AGREES, id="within them"
        ),
    ],
)
def test_a_day(billed: Billed | None, books: Booked | None, verdict: Verdict) -> None:
    """Each way in which bill and books can meet."""
    (found,) = reconcile({(DAY, MODEL): billed} if billed else {}, {(DAY, MODEL): books} if books else {})
    assert found.verdict is verdict


def test_days_of_both_sides_come_in_order() -> None:
    """Nothing that stands on one side only is left out; the worst of all days is told."""
    found = reconcile(
        {("2026-08-13", "b"): Billed(tokens=5)}, {("2026-08-12", "a"): booked(), ("2026-08-13", "b"): booked(5)}
    )
    assert [(each.day, each.model) for each in found] == [("2026-08-12", "a"), ("2026-08-13", "b")]
    assert worst(found) is Verdict.NOT_BILLED
