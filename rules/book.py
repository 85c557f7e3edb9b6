"""One model's book: what was metered and heard of it, and the ruling that follows. Everything a judge knows of a scope is in here."""

from __future__ import annotations

from msgspec import Struct

from rules.alerts import Alert
from rules.announce import Announced, announce
from rules.calendar import Calendar, Day
from rules.counter import Counter
from rules.curve import Folded
from rules.facts import Heard, Minutes, Partial, Scope
from rules.limit import Limit, effective_limit
from rules.marks import Marks
from rules.minutes import MinuteSheets
from rules.model_facts import model_facts
from rules.moment import DAY, HOUR, Millis
from rules.policy import Mode, ModelTerms, Policy
from rules.pool import calibrate, infer, observe
from rules.pool_state import Bounds, Metered, Notice, PoolState
from rules.records import Calibration, Reading
from rules.rulebook import Rulebook, Verdict
from rules.ruling import Ruling, is_history


class BookRow(Struct, kw_only=True):
    """What of a book is stored beside its partials and minutes."""

    born: Millis = 0  # when the counter began
    pool: PoolState = PoolState()
    folded: Folded = Folded()
    announced: Announced = Announced()
    carried: int = 0
    closed_before: Day = ""
    last: Ruling | None = None  # the newest in the history


class ModelBook:
    """The book of one model."""

    def __init__(self, scope: Scope, policy: Policy, row: BookRow) -> None:
        self.scope = scope
        self.model = scope.removeprefix("model:")
        self.row = row
        self.counter = Counter(row.carried, row.closed_before)
        self.sheets = MinuteSheets(row.folded)
        self._policy = policy
        self._terms: ModelTerms = policy.terms(self.model)
        self._calendar: Calendar = policy.calendar()
        self._notices: list[Notice] = []

    def merge(self, fact: Partial | Minutes) -> bool:
        """Take metered usage; says whether it was news."""
        return self.counter.merge(fact) if isinstance(fact, Partial) else self.sheets.merge(fact)

    def hear(self, heard: Heard) -> None:
        """Take a reading or a calibration."""
        record = heard.record
        if isinstance(record, Reading):
            self._notices += observe(self.row.pool, self._terms, record)
        elif isinstance(record, Calibration):
            self._notices += calibrate(self.row.pool, self._terms, record)

    def rule(self, now: Millis, marks: Marks, rulebook: Rulebook) -> tuple[Ruling, list[Alert]]:
        """What holds at `now`, and what people should hear of."""
        self.row.born = self.row.born or now
        metered = self._metered(now, marks)
        bounds, notices = infer(self.row.pool, self._terms, metered, now)
        limit = effective_limit(self._terms, bounds, metered)
        verdict = rulebook.decide("model", self._facts(metered, bounds, limit, now))
        ruling = self._ruling(now, metered, bounds, limit, verdict)
        told, self._notices = [*self._notices, *notices], []
        alerts, self.row.announced = announce(ruling, told, self.row.announced, self._policy.alerts)
        return ruling, alerts

    def enter(self, ruling: Ruling) -> bool:
        """Enter the ruling into the history if it belongs there; says whether it does."""
        if not is_history(self.row.last, ruling):
            return False
        self.row.last = ruling
        return True

    def tidy(self, now: Millis) -> list[str]:
        """Close what nothing can change any more; returns the keys of rows that may go."""
        gone = self.sheets.fold(now, self._terms.lag_ceiling + 2 * HOUR)
        oldest = self._calendar.day(now - (self._policy.close_after_days + 1) * DAY)
        gone += [partial.key for partial in self.counter.close_before(oldest)]
        return gone

    def stored(self) -> BookRow:
        """The row as it stands."""
        self.row.folded = self.sheets.curve.folded
        self.row.carried, self.row.closed_before = self.counter.carried, self.counter.closed_before
        return self.row

    def _metered(self, now: Millis, marks: Marks) -> Metered:
        day, since = self._calendar.day(now), marks.since()
        curve, counter = self.sheets.curve, self.counter
        first = None if since is None else self._calendar.day(since)
        curve.seed = counter.seed(first) if first is not None else curve.seed
        curve.count(counter.total(), now)
        seeded_before = curve.seed if first is not None and first < day else 0
        yesterday = self._calendar.previous(day)
        whole = since is not None and since <= self._calendar.start(yesterday)
        return Metered(
            curve=curve,
            complete_until=marks.complete_until(),
            since=since,
            day=day,
            day_start=self._calendar.start(day),
            day_base=counter.before(day) + seeded_before,
            yesterday=counter.tokens(yesterday) if whole else None,
        )

    def _facts(self, metered: Metered, bounds: Bounds, limit: Limit, now: Millis) -> dict[str, str | int | float | bool | None]:
        base = metered.day_base
        return model_facts(
            model=self.model,
            day=metered.day,
            used=metered.total - base,
            limit=limit.tokens,
            wall=limit.wall,
            pool_low=None if bounds.pool_low is None else bounds.pool_low - base,
            pool_high=None if bounds.pool_high is None else bounds.pool_high - base,
            charged_low=bounds.charged_low,
            charged_high=bounds.charged_high,
            complete=bounds.complete,
            lag_seconds=bounds.lag_seconds,
            lag_bound_seconds=bounds.lag_bound / 1000,
            stale=bounds.stale,
            reading_age_seconds=None if bounds.reading_at is None else max(0, now - bounds.reading_at) / 1000,
            unknown_mode=self._terms.unknown.value,
        )

    def _ruling(self, now: Millis, metered: Metered, bounds: Bounds, limit: Limit, verdict: Verdict) -> Ruling:
        observing = self._policy.mode is Mode.OBSERVE
        return Ruling(
            scope=self.scope,
            at=now,
            day=metered.day,
            until=self._calendar.end(metered.day),
            action="allow" if observing else verdict.action,
            rule=verdict.rule,
            reason=f"observed only, would be {verdict.action}: {verdict.reason}" if observing else verdict.reason,
            severity=verdict.severity,
            formula=self._terms.formula,
            policy=self._policy.hash,
            wall=limit.wall,
            limit=limit.tokens,
            used=metered.total - metered.day_base,
            base=metered.day_base,
            counter=str(self.row.born),
            guarded=self._guarded(metered.day),
            bounds=bounds,
        )

    def _guarded(self, day: Day) -> dict[Day, int]:
        return {each: tokens for each in (self._calendar.previous(day), day) if (tokens := self.counter.guarded(each))}
