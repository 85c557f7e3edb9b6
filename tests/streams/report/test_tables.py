"""The report in words and numbers."""

from __future__ import annotations

import io

from rich.console import Console

from rules.calendar import Calendar
from rules.hindsight import Gate, Hindsight, Tally
from rules.ledger import Amount
from rules.records import Refusal
from streams.report.tables import report

ZONE = Calendar().zone
AT = 1_786_591_320_000  # 2026-08-13T11:22:00+08:00


def told(*models: Hindsight) -> str:
    screen = io.StringIO()
    console = Console(file=screen, width=80)
    for part in report(models, ZONE):
        console.print(part)
    return screen.getvalue()


def hindsight(**tally: object) -> Hindsight:
    found = Hindsight("model:m", ())
    found.days = {"2026-08-12", "2026-08-13"}
    found.tallies = {"v6": Tally(formula="v6", **tally)}
    return found


def test_what_is_proven_is_shown() -> None:
    """The least of each amount; and when the limit was furthest beyond the pool."""
    found = told(hindsight(charged=Amount(1_234, 9_999), beyond=Amount(99_466, 99_881), beyond_at=AT))
    assert "in 2 days" in found
    assert "1,234" in found
    assert "9,999" not in found
    assert "v6 was furthest beyond the pool at 2026-08-13 11:22." in found


def test_false_blocks_say_how_long() -> None:
    """In hours and minutes beside their number."""
    assert "2, 5:07 h" in told(hindsight(false_blocks=2, refusing=(5 * 60 + 7) * 60_000))


def test_what_nothing_proves_is_said() -> None:
    """A report that left it out would look better than it is."""
    found = hindsight()
    found.unproven = 4_711
    assert "Of 4,711 tokens nothing proves whether they were free." in told(found)


def test_the_recorded_gate_is_told_only_where_it_refused() -> None:
    """With one refusal as an example, in the gate's own words."""
    found = hindsight()
    assert "gate" not in told(found)
    found.gate = Gate(
        refused=7, falsely=3, left=596_719,
        example=Refusal(id="x", at=AT, model="m", usage=1_696_135, reserve=16, limit=296_869),
    )  # fmt: skip
    assert "refused 7 calls, 3 of them though free." in told(found)
    assert "At 2026-08-13 11:22:00: 1,696,135+16/296,869, with 596,719 free tokens left." in told(found)


def test_the_columns_are_explained_once() -> None:
    """Below the last model."""
    assert told(hindsight(), hindsight()).count("let through   was charged") == 1
