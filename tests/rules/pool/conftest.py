"""A model under observation: usage and readings go in by time, bounds and notices come out."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from rules.calendar import Calendar
from rules.calibration import calibrate
from rules.curve import Curve
from rules.limit import Limit, effective_limit
from rules.moment import Millis, from_datetime
from rules.policy import ModelTerms
from rules.pool import infer, observe
from rules.pool_state import Bounds, Metered, Notice, PoolState
from rules.records import Calibration, Package, Reading

CALENDAR = Calendar()


class Model:
    """One model of which every event is seen once; `low` and `high` are on the scale of the accounting day."""

    def __init__(self, terms: ModelTerms | None = None) -> None:
        self.terms = terms or ModelTerms()
        self.curve = Curve()
        self.state = PoolState()
        self.days: Counter[str] = Counter()
        self.since: Millis | None = None
        self.notices: list[Notice] = []
        self.bounds: Bounds | None = None
        self.metered: Metered | None = None
        self.count = 0

    @staticmethod
    def at(text: str, day: str = "2026-08-13") -> Millis:
        """`HH:MM[:SS]` of the day, or a whole RFC 3339 time, as an instant."""
        return from_datetime(datetime.fromisoformat(text if "T" in text else f"{day}T{text}+08:00"))

    def start(self, text: str) -> None:
        """Metering runs from here on."""
        self.since = self.at(text)

    def use(self, text: str, tokens: int) -> None:
        when = self.at(text)
        self.since = when if self.since is None else self.since
        self.curve.add(when, tokens)
        self.days[CALENDAR.day(when)] += tokens

    def read(
        self, text: str, available: int, *packages: Package, complete_until: str | None = None, **more: object
    ) -> Bounds:
        """Hear a reading and look at the pool at its time."""
        self.count += 1
        fields = {"id": f"r{self.count}", "packages": packages or None, "source": "api"} | more
        observe(self.state, Reading(at=self.at(text), model="m", available=available, **fields))
        return self.look(text, complete_until)

    def look(self, text: str, complete_until: str | None = None) -> Bounds:
        now = self.at(text)
        self.metered = self.meter(now, now if complete_until is None else self.at(complete_until))
        self.bounds, notices = infer(self.state, self.terms, self.metered, now)
        self.notices += notices
        return self.bounds

    def meter(self, now: Millis, complete_until: Millis | None) -> Metered:
        day = CALENDAR.day(now)
        base = sum(tokens for known, tokens in self.days.items() if known < day)
        return Metered(
            curve=self.curve,
            complete_until=complete_until,
            since=self.since,
            day=day,
            day_start=CALENDAR.start(day),
            day_base=base,
            yesterday=self.days.get(CALENDAR.previous(day)),
        )

    def calibrate(self, text: str, pool: int, **more: object) -> list[Notice]:
        now = self.at(text)
        fields = {"id": "cal-1", "day": CALENDAR.day(now)} | more
        calibration = Calibration(at=now, model="m", pool=pool, **fields)
        notices = calibrate(self.state, self.terms, self.meter(now, now), calibration, now)
        self.notices += notices
        return notices

    def limit(self, formula: str | None = None) -> Limit:
        assert self.bounds is not None
        assert self.metered is not None
        return effective_limit(self.terms, self.bounds, self.metered, formula)

    @property
    def low(self) -> int | None:
        return None if self.bounds.pool_low is None else self.bounds.pool_low - self.metered.day_base

    @property
    def high(self) -> int | None:
        return None if self.bounds.pool_high is None else self.bounds.pool_high - self.metered.day_base

    @property
    def kinds(self) -> list[str]:
        return [str(notice.kind) for notice in self.notices]

    def package(self, name: str, total: int, available: int, effective: str, expires: str) -> Package:
        return Package(
            id=name, total=total, available=available, effective=self.at(effective), expires=self.at(expires)
        )


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def observed() -> type[Model]:
    """For tests that need their own terms, or several models."""
    return Model
