"""From the books of days to one digest: at its time, once, over restarts."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from rules.alerts import Alert, Kind
from rules.calendar import Calendar
from rules.day_book import DayBook
from rules.digest import due
from rules.moment import DAY, HOUR, MINUTE, SECOND, Millis
from rules.policy import Alerting, Digest
from streams.channels.receiver import FEISHU, WEBHOOK
from streams.day_shelf import SETTLED, DayShelf

CALENDAR = Calendar()
TERMS = Digest(at="09:05")
END = CALENDAR.end("2026-08-13")


def book(name: str, day: str = "2026-08-13", used: int = 1) -> DayBook:
    return DayBook(scope=f"model:{name}", day=day, used=used)


class Desk:
    """A shelf on a clock that the test moves; its rows go through JSON."""

    def __init__(self, now: Millis = END) -> None:
        self.now = now
        self.rows: dict[str, Any] = {}
        self.start()

    def start(self) -> None:
        """A new owner, with what was kept."""
        self.shelf = DayShelf(TERMS, CALENDAR, lambda: self.now)
        self.shelf.begin(json.loads(json.dumps(self.rows)))

    def take(self, *, kept: bool = True) -> list[Alert]:
        """A flush; not `kept`: killed after its outputs."""
        alerts, rows = self.shelf.take()
        if kept:
            self.rows = {key: row for key, row in (self.rows | rows).items() if row is not None}
        return alerts


def test_the_digest_goes_out_at_its_time_with_all_books() -> None:
    """Kept until five past nine, then told once, and forgotten."""
    desk = Desk()
    for name in "abc":
        desk.shelf.hear(book(name))
    assert desk.take() == []
    assert len(desk.rows) == 3
    desk.now = due("2026-08-13", "09:05", CALENDAR) - 1
    assert desk.take() == []
    desk.now += 1
    (alert,) = desk.take()
    assert (alert.kind, alert.window, [each.scope for each in alert.books]) == (
        Kind.DIGEST, "2026-08-13", ["model:a", "model:b", "model:c"],
    )  # fmt: skip
    assert (desk.rows, desk.take()) == ({}, [])


def test_a_restart_before_it_loses_nothing() -> None:
    """The books are rows."""
    desk = Desk()
    desk.shelf.hear(book("a"))
    desk.take()
    desk.now += 10 * HOUR
    desk.start()
    assert desk.take() == []  # others may be on their way to the new owner
    desk.now += SETTLED
    (alert,) = desk.take()
    assert [each.scope for each in alert.books] == ["model:a"]


def test_killed_in_between_it_is_told_under_the_same_id() -> None:
    """The digest was sent, its rows were not: the next one is a repeat that `notify` knows by its id."""
    desk = Desk(END + 12 * HOUR)
    desk.shelf.hear(book("a"))
    desk.take()
    desk.now += SETTLED
    (first,) = desk.take(kept=False)
    desk.start()
    desk.now += SETTLED
    (again,) = desk.take()
    assert first.id == again.id


def test_late_books_are_waited_for_a_minute_and_no_more() -> None:
    """After the hour is past, a digest waits until no more books come; what comes after it changes nothing."""
    desk = Desk(END + 12 * HOUR)
    for number in range(5):
        desk.shelf.hear(book(f"m{number}"))
        desk.now += SETTLED - SECOND
        assert desk.take() == []
    desk.now += SECOND
    (alert,) = desk.take()
    assert len(alert.books) == 5
    desk.shelf.hear(book("late"))
    desk.now += DAY
    assert (desk.take(), desk.rows) == ([], {})


def test_each_day_has_its_own() -> None:
    """After days without a worker every day is told, the oldest first."""
    desk = Desk(END + 3 * DAY)
    for day in ("2026-08-14", "2026-08-13"):
        desk.shelf.hear(book("a", day))
    desk.now += MINUTE
    assert [alert.window for alert in desk.take()] == ["2026-08-13", "2026-08-14"]


@pytest.mark.parametrize("send", [(FEISHU,), None])
async def test_a_digest_reaches_its_channels(send: tuple[str, ...] | None, start, receiver) -> None:
    """Books arrive beside alerts, the digest goes the way of every alert and to the channels that are to have it."""
    now = END + 12 * HOUR
    terms = Digest(at="09:05", send=send)
    shelf = DayShelf(terms, CALENDAR, lambda: now)
    loop = await start(alerting=Alerting(send=(FEISHU, WEBHOOK), digest=terms), shelf=shelf)
    loop.offer(book("a", used=7), book("b"))
    loop.flush()
    assert sorted(loop.table) == ["day|2026-08-13|model:a", "day|2026-08-13|model:b"]
    now += SETTLED
    loop.flush()
    (output,) = loop.outputs
    assert output.topic == "blastdoor.alerts"
    loop.offer(msgspec.json.decode(output.value, type=Alert), msgspec.json.decode(output.value, type=Alert))
    await loop.until(lambda: loop.outcomes() and loop.settled())
    channels = sorted(arrival.channel for arrival in receiver.arrivals)
    assert channels == ([FEISHU] if send else [FEISHU, WEBHOOK])
    (card, *_) = [arrival for arrival in receiver.arrivals if arrival.channel == FEISHU]
    assert any("模型 a：已用 7" in text for text in card.texts())
