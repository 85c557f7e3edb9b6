"""What is remembered of alerts: bounded, in order, and the same after a restart."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from rules.moment import DAY
from streams.channels.outcome import Outcome, Progress
from streams.notify_ledger import PREFIX, Entry, Keep, Ledger

NOW = 1_786_591_320_000
WAITING = Outcome(Progress.WAITING, NOW)


@pytest.fixture
def entry(make_alert):
    """An alert that waits for channel `f`."""

    def make(alert_id: str, offset: int = 0, **outcomes: Outcome) -> Entry:
        return Entry(make_alert(alert_id), NOW, (1, offset), {"f": WAITING} | outcomes)

    return make


def done(at: int = NOW, progress: Progress = Progress.DELIVERED) -> Outcome:
    """A final outcome."""
    return Outcome(progress, at, 1, "why")


def kept(ledger: Ledger, now: int = NOW) -> dict[str, Any]:
    """The rows of a flush, as they come back from the table."""
    rows: dict[str, Any] = json.loads(json.dumps(ledger.take(now)))
    return rows


def test_an_alert_may_be_sent_only_after_its_row_is_kept(entry) -> None:
    """The flush after the one that held the row says that it is kept."""
    ledger = Ledger(Keep())
    ledger.add(entry("a"))
    assert ledger.confirm() == []
    assert list(kept(ledger)) == ["alert|a"]
    assert [due.entry.alert.id for due in ledger.confirm()] == ["a"]
    assert ledger.confirm() == []


def test_only_what_changed_is_written(entry) -> None:
    """A row goes out once per change."""
    ledger = Ledger(Keep())
    ledger.add(entry("a"))
    ledger.add(entry("b"))
    assert len(kept(ledger)) == 2
    assert kept(ledger) == {}
    ledger.record("b", "f", done())
    assert list(kept(ledger)) == ["alert|b"]


def test_a_restart_resumes_in_the_order_of_the_log(entry) -> None:
    """Rows come back in any order; what is under way goes on by incarnation and offset."""
    ledger = Ledger(Keep())
    for number in (2, 10, 1):
        ledger.add(entry(f"n{number}", number))
    ledger.record("n2", "f", done())
    again, unreadable = Ledger.restored(kept(ledger), Keep())
    assert [e.alert.id for e in again.waiting()] == ["n1", "n10"]
    assert unreadable == 0
    assert "n2" in again


def test_outcomes_survive_a_restart(entry) -> None:
    """Reason, attempts and time of each channel come back as they were."""
    ledger = Ledger(Keep())
    ledger.add(entry("a", g=done(progress=Progress.REFUSED)))
    again, _ = Ledger.restored(kept(ledger), Keep())
    assert again.waiting()[0].outcomes == {"f": WAITING, "g": done(progress=Progress.REFUSED)}


def test_a_row_that_cannot_be_read_is_counted_and_left_out(entry) -> None:
    """A damaged row stops nothing; foreign rows are not ours to judge."""
    ledger = Ledger(Keep())
    ledger.add(entry("a"))
    rows = kept(ledger) | {PREFIX + "b": {"alert": 1}, PREFIX + "c": None, "other": {}}
    again, unreadable = Ledger.restored(rows, Keep())
    assert unreadable == 2
    assert [e.alert.id for e in again.waiting()] == ["a"]


def test_finished_alerts_are_forgotten_after_their_time(entry) -> None:
    """Thirty days after it ended a row is deleted; one under way never is."""
    ledger = Ledger(Keep())
    ledger.add(entry("a"))
    ledger.add(entry("b"))
    ledger.record("a", "f", done())
    kept(ledger)
    assert kept(ledger, NOW + 30 * DAY) == {}
    assert kept(ledger, NOW + 30 * DAY + 1) == {"alert|a": None}
    assert "a" not in ledger
    assert "b" in ledger


@pytest.mark.parametrize("restarted", [False, True])
def test_no_more_than_so_many_finished_alerts_are_kept(restarted: bool, entry) -> None:
    """Beyond the number the oldest goes first, before and after a restart."""
    keep = Keep(number=3)
    ledger, table = Ledger(keep), {}
    for number in range(4):
        ledger.add(entry(f"n{number}", number))
        ledger.record(f"n{number}", "f", done(NOW + number))
        if restarted:
            table |= kept(ledger)
            ledger, _ = Ledger.restored({key: row for key, row in table.items() if row}, keep)
    table |= kept(ledger)
    assert table["alert|n0"] is None
    assert {key for key, row in table.items() if row} == {"alert|n1", "alert|n2", "alert|n3"}


def test_what_did_not_arrive_is_not_pushed_out_by_what_did(entry) -> None:
    """Thousands of delivered alerts later the refused one is still there to be sent again."""
    ledger = Ledger(Keep(number=3))
    ledger.add(entry("refused"))
    ledger.record("refused", "f", done(progress=Progress.REFUSED))
    for number in range(10):
        ledger.add(entry(f"n{number}", number))
        ledger.record(f"n{number}", "f", done(NOW + number))
    kept(ledger)
    assert "refused" in ledger
    assert [f"n{number}" in ledger for number in range(10)] == [False] * 7 + [True] * 3


def test_sent_again_it_waits_as_if_it_were_new(entry) -> None:
    """Where it did not arrive, or where an operator says; one under way is left alone."""
    ledger = Ledger(Keep())
    ledger.add(entry("a", g=done(), h=done(progress=Progress.GAVE_UP)))
    assert ledger.reopen("a", (), (2, 5), NOW + DAY) == ["h"]
    assert ledger.reopen("a", ("f", "g", "new"), (2, 6), NOW + DAY) == ["g", "new"]
    kept(ledger)
    assert [due.channels for due in ledger.confirm()] == [["f"], ["h"], ["g", "new"]]
    (waiting,) = ledger.waiting()
    assert (waiting.heard, waiting.place) == (NOW + DAY, (2, 6))
    assert set(waiting.waiting()) == {"f", "g", "h", "new"}


def test_the_tally_is_that_of_the_entries(entry) -> None:
    """Whatever happens, the numbers shown are those one would count; after a restart as well."""
    ledger = Ledger(Keep(number=2))
    for number in range(6):
        ledger.add(entry(f"n{number}", number, g=done()))
        ledger.record(f"n{number}", "f", done(progress=Progress.REFUSED if number % 2 else Progress.DELIVERED))
    ledger.reopen("n1", (), (1, 9), NOW)
    rows = kept(ledger)
    counted = Counter((name, each.progress) for e in ledger.entries for name, each in e.outcomes.items())
    assert +ledger.tally == counted
    again, _ = Ledger.restored({key: row for key, row in rows.items() if row}, Keep())
    assert again.tally == counted


def test_crowded_counts_what_is_under_way(entry) -> None:
    """Only alerts that wait count against the bound."""
    ledger = Ledger(Keep(waiting=2))
    ledger.add(entry("a"))
    ledger.add(entry("b"))
    assert ledger.crowded
    ledger.record("a", "f", done())
    assert not ledger.crowded
