"""How far the engine is: told when usage is known only up to long ago, though there was time to read it."""

from __future__ import annotations

import msgspec
import pytest

from rules.alerts import Alert, Kind, Severity
from rules.calendar import Calendar
from rules.engine_watch import EngineRow, EngineWatch, behind
from rules.facts import Watermark
from rules.marks import Marks
from rules.moment import HOUR, MINUTE, SECOND, Millis
from rules.policy import Alerting

CALENDAR = Calendar()
START = CALENDAR.start("2026-08-13") + 10 * HOUR
MOST = 5 * MINUTE


@pytest.mark.parametrize(
    ("known", "started", "late"),
    [
        pytest.param(START - 6 * SECOND, 0, False, id="a healthy engine is a few seconds behind"),
        pytest.param(START - MOST, 0, False, id="exactly the bound is still within it"),
        pytest.param(START - MOST - 1, 0, True, id="beyond it is not"),
        pytest.param(START - HOUR, START - MINUTE, False, id="after a standstill there is time to catch up"),
        pytest.param(START - HOUR, START - MOST - 1, True, id="but no more than that"),
        pytest.param(None, START - MINUTE, False, id="a first start has nothing yet"),
        pytest.param(None, START - MOST - 1, True, id="a partition that never vouched has no worker"),
    ],
)
def test_when_it_is_behind(known: Millis | None, started: Millis, late: bool) -> None:
    """The lowest watermark of all partitions, against the time since the judge could have caught up."""
    assert (behind(known, started, START, MOST) is not None) is late


def test_one_partition_behind_is_told_until_it_has_caught_up() -> None:
    """Two partitions, one stands still for ten minutes: one alert, one recovery, nothing again after a restart."""
    marks, alerts, row = Marks(2), list[Alert](), EngineRow()
    for minute in range(30):
        now = START + minute * MINUTE
        stuck = now if minute < 5 or minute >= 20 else START + 4 * MINUTE
        for partition, at in ((0, now), (1, stuck)):
            marks.merge(Watermark("usage", partition, 0, minute, at, START))
        watch = EngineWatch(Alerting(), CALENDAR, START, row)  # as after a restart, but with time enough
        alerts += watch.look(marks, now)[0]
        row = msgspec.json.decode(msgspec.json.encode(watch.row), type=EngineRow)
    assert [(alert.kind, (alert.at - START) // MINUTE) for alert in alerts] == [
        (Kind.ENGINE_BEHIND, 10), (Kind.RECOVERED, 20),
    ]  # fmt: skip
    first, over = alerts
    assert (first.scope, first.severity, first.details) == ("engine", Severity.CRITICAL, {"seconds": "360"})
    assert over.ends[0].id == first.id
