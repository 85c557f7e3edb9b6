"""One model's book: what was metered and heard of it, and the ruling that follows. Everything a judge knows of a scope
is in here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from rules.account import Account, Evening, account, evening_of
from rules.alerts import Alert
from rules.announce import Announced, announce
from rules.calendar import Calendar, Day
from rules.calibration import calibrate
from rules.charges import Charged, charged, charges, in_money, kept
from rules.concerns import concerns, money_concerns, refused_since
from rules.counter import Counter
from rules.curve import Folded
from rules.day_book import DayBook
from rules.day_end import DayEnd, Frame, Refusing, day_book, refusing_after
from rules.facts import Charge, Heard, Minutes, Partial, Scope, Stored
from rules.grounds import Grounds, Terms
from rules.hindsight import Seen
from rules.limit import Limit, effective_limit
from rules.marks import Marks
from rules.minutes import MinuteSheets
from rules.model_facts import model_facts
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.outcome import Outcome, Sight
from rules.policy import ModelTerms, Policy
from rules.pool import infer, names, newest_change, observe
from rules.pool_state import Metered, PoolState
from rules.prices import Prices
from rules.records import Calibration, Reading
from rules.rule_memory import Held
from rules.rulebook import Rulebook, Verdict
from rules.ruling import Ruling, changed, is_history, ruled
from rules.scope_book import Situation
from rules.scope_facts import FactValue
from rules.testimony import Court, believed_from, ended, lag_bound, moves, remembered, witnesses
from rules.totals import Shortfall, missing, shortfall


class BookRow(Struct, kw_only=True):
    """What of a book is stored beside its partials and minutes."""

    born: Millis = 0  # when the counter began
    pool: PoolState = field(default_factory=PoolState)
    calibrations: list[Calibration] = []  # taken in when the book is looked at next
    folded: Folded = field(default_factory=Folded)
    announced: Announced = Announced()
    refused_since: Millis = 0  # calls are to be refused since then; 0: they are not
    refusing: Refusing = Refusing()
    day_end: DayEnd | None = None  # of a day whose usage is not complete yet
    carried: int = 0
    closed_before: Day = ""
    last: Ruling | None = None  # the newest in the history
    evening: Evening | None = None  # how the day before ended
    short: Shortfall = Shortfall()
    origins: dict[str, str] = {}  # reading id -> where it stood
    charged: dict[Day, Charged] = {}
    rules: dict[str, Held] = {}  # what rules with `for:`, `clear:` or a ban remember


CALM: Millis = MINUTE
"""So often a book without a balance is looked at without news."""


class ModelBook:
    """The book of one model."""

    def __init__(self, scope: Scope, policy: Policy, row: BookRow) -> None:
        self.scope = scope
        self.model = scope.removeprefix("model:")
        self.row = row
        self.counter = Counter(row.carried, row.closed_before)
        self.sheets = MinuteSheets(row.folded)
        self._calm_until: Millis = 0
        self._late: list[str] = []  # keys of what was told of closed days
        self.adopt(policy)

    def adopt(self, policy: Policy) -> None:
        """Go on under this policy; the accounting day must be the same."""
        self._policy = policy
        self._terms: ModelTerms = policy.terms(self.model)
        self._calendar: Calendar = policy.calendar()
        self._prices = Prices(policy)
        self._sight: Sight | None = None

    @classmethod
    def open(cls, scope: Scope, policy: Policy, row: Any = None) -> ModelBook:
        """The book with its stored row, or a new one."""
        return cls(scope, policy, BookRow() if row is None else msgspec.convert(row, BookRow))

    @property
    def wakes(self) -> Millis:
        """Readings age, and completeness bears on them; without any there is no limit that could change by itself."""
        return 0 if self.is_heard else self._calm_until

    @property
    def is_heard(self) -> bool:
        """Whether a balance was ever told."""
        pool = self.row.pool
        return bool(pool.sync or pool.pending or pool.evidence or self.row.calibrations)

    def is_over(self, until: Millis) -> bool:
        """Whether by `until` nobody had told of a balance, or of usage, for longer than late usage is taken."""
        if self.is_heard:
            return False
        newest = max(self.counter.days, default=None)
        last = self.row.born if newest is None else self._calendar.end(newest)
        return 0 < last < until - (self._policy.close_after_days + 2) * DAY

    def keys(self) -> list[str]:
        """Of all rows of usage that are kept."""
        return [*self.counter.keys(), *self.sheets.keys()]

    def merge(self, fact: Stored) -> bool:
        """Take metered usage; says whether it was news."""
        if isinstance(fact, Partial):
            if fact.day < self.counter.closed_before:
                self._late.append(fact.key)
            return self.counter.merge(fact)
        return isinstance(fact, Minutes) and self.sheets.merge(fact)

    def hear(self, heard: Heard) -> None:
        """Take a reading or a calibration. Repeats change nothing."""
        record = heard.record
        if isinstance(record, Reading):
            if observe(self.row.pool, record, heard.received):
                self._note_origin(record.id, heard.origin)
        elif isinstance(record, Calibration):
            self.row.calibrations.append(record)
            self._note_origin(record.id, heard.origin)

    def consider(self, situation: Situation, before: Ruling | None) -> Outcome:
        """Look, rule, and find out what is new about it."""
        now, marks, rulebook, anew = situation
        sight = (None if anew else self.glance(now)) or self.look(now, marks)
        limit = effective_limit(self._terms, sight.bounds, sight.metered)
        verdict = self._verdict(sight, limit, rulebook)
        costs = self.charge(sight, anew=anew) if self._policy.counts_money else []
        self.row.rules, ruling = verdict.memory, in_money(self._ruling(sight, limit, verdict), costs)
        alerts = self.announce(ruling, sight, costs)
        self.turn(ruling, before)
        closed = self.close_day(sight)
        news = bool(alerts) or changed(before, ruling) or closed is not None
        history = news and self.enter(ruling)
        account = self.account(sight) if history else None
        wakes = rulebook.wakes("model", verdict.memory)  # what a rule waits for may come sooner
        self._calm_until = min(now + CALM, self._calendar.end(ruling.day), *([] if wakes is None else [wakes]))

        def because() -> Grounds:
            return self.grounds(sight, ruling, rulebook, marks)

        return Outcome(ruling, alerts, history, news, account, sight, because, closed, costs)

    def look(self, now: Millis, marks: Marks) -> Sight:
        """Work out what is known of the pool at `now`."""
        self.row.born = self.row.born or now
        pool, metered = self.row.pool, self._metered(now, marks)
        notices = [told for each in self.row.calibrations for told in calibrate(pool, self._terms, metered, each, now)]
        self.row.calibrations = []
        bounds, noticed = infer(pool, self._terms, metered, now)
        notices += noticed
        self._sight = Sight(now, metered, bounds, notices, self._used(metered))
        return self._sight

    def glance(self, now: Millis) -> Sight | None:
        """The same when nothing but usage was added since the last look, at a fraction of the cost: what the pool is
        does not depend on it. None if there was no look today."""
        last = self._sight
        if last is None or last.metered.day != self._calendar.day(now):
            return None
        return last._replace(now=now, notices=[], used=self._used(last.metered))

    def rule(self, sight: Sight, rulebook: Rulebook, formula: str | None = None) -> Ruling:
        """What holds then. `formula` in place of the policy's own is for comparison."""
        limit = effective_limit(self._terms, sight.bounds, sight.metered, formula)
        return self._ruling(sight, limit, self._verdict(sight, limit, rulebook))

    def _verdict(self, sight: Sight, limit: Limit, rulebook: Rulebook) -> Verdict:
        return rulebook.decide("model", self._facts(sight, limit), self.row.rules, sight.now)

    def grounds(self, sight: Sight, ruling: Ruling, rulebook: Rulebook, marks: Marks) -> Grounds:
        """What a ruling stands on; `sight` is the one it was made from."""
        metered, bounds = sight.metered, sight.bounds
        court = Court(self.row.pool, self._terms, metered, bounds, sight.now, self.row.origins)
        said = witnesses(court)
        rule = rulebook.rule("model", ruling.rule)
        return Grounds(
            terms=Terms(
                daily_cap=self._terms.daily_cap,
                small_buffer=self._terms.small_buffer,
                unknown=self._terms.unknown.value,
            ),
            lag=lag_bound(court),
            when=rule.when if rule else "",
            readings=said,
            others=max(0, len(court.known()) - len(said)),
            believed_from=believed_from(court),
            remembered=remembered(court),
            moves=moves(court),
            expired=ended(court),
            share=bounds.share,
            losses=len(self.row.pool.losses),
            why=bounds.why,
            stale=bounds.stale,
            since=metered.since,
            complete_until=metered.complete_until,
            balance=bounds.balance,
            usage=bounds.usage,
            reading_at=bounds.reading_at,
            yesterday=metered.yesterday,
            positions=dict(marks.positions()),
        )

    def seen(self, sight: Sight, formulas: Iterable[str]) -> Seen:
        """What is known, and every formula's limit, for who compares them afterwards."""
        metered, bounds, terms = sight.metered, sight.bounds, self._terms
        since, cause = newest_change(self.row.pool, sight.now)
        return Seen(
            scope=self.scope,
            at=sight.now,
            day=metered.day,
            base=metered.day_base,
            total=metered.total,
            low=bounds.pool_low,
            high=bounds.pool_high,
            limits={name: effective_limit(terms, bounds, metered, name).tokens for name in formulas},
            cap=terms.daily_cap,
            buffer=terms.small_buffer,
            since=since,
            cause=cause,
            reading_at=bounds.reading_at,
        )

    def charge(self, sight: Sight, *, anew: bool) -> list[Charge]:
        """What the day costs by now, and the day before. Only a look at the pool says anew what was charged."""
        day = sight.metered.day
        known = self.row.charged.get(day)
        if anew or known is None:
            found = charged(known or Charged(), sight.bounds, sight.metered, self.counter.placed(day))
            self.row.charged = kept(self.row.charged, day, found)
        return charges(self.model, self.row.charged, self.counter, self._prices)

    def announce(self, ruling: Ruling, sight: Sight, costs: Iterable[Charge] = ()) -> list[Alert]:
        """What people should hear of a ruling and of what was noticed on the way to it, once."""
        row, alerting = self.row, self._policy.alerts
        row.refused_since = refused_since(row.refused_since, ruling)
        found = list(concerns(row.pool, sight.metered, ruling, row.refused_since, alerting.watch, self._calendar))
        row.short = shortfall(row.short, self.counter, sight.metered, self._calendar, sight.now)
        found += missing(row.short)
        found += money_concerns(costs, ruling, self._policy.currency)
        alerts, row.announced = announce(ruling, sight.notices, row.announced, alerting, row.pool.told, found)
        return alerts

    def turn(self, ruling: Ruling, before: Ruling | None) -> None:
        """Note how the day before ended, if this is the first ruling of a day; and how long calls were refused."""
        row, last = self.row, before or self.row.last
        if last is not None and last.day != ruling.day:
            row.day_end = DayEnd(last.day, last.bounds, row.refusing.until(self._calendar.end(last.day)))
        row.refusing = refusing_after(row.refusing, ruling, self._calendar.start(ruling.day))

    def close_day(self, sight: Sight) -> DayBook | None:
        """The books of a day that has ended, once all its usage has arrived."""
        ended, complete = self.row.day_end, sight.metered.complete_until
        if ended is None or complete is None or complete < self._calendar.end(ended.day):
            return None
        self.row.day_end = None
        return day_book(self.scope, ended, self._frame(ended.day, sight.metered), self.row.pool, self.counter)

    def _frame(self, day: Day, metered: Metered) -> Frame:
        following = self._calendar.end(day)
        base, total = (self._base(each, metered.since) for each in (day, self._calendar.day(following)))
        return Frame(start=self._calendar.start(day), end=following, base=base, total=total)

    def _base(self, day: Day, since: Millis | None) -> int:
        """What the cumulative counter stood at when a day began."""
        seeded = since is not None and self._calendar.day(since) < day
        return self.counter.before(day) + (self.sheets.curve.seed if seeded else 0)

    def enter(self, ruling: Ruling) -> bool:
        """Enter the ruling into the history if it belongs there; says whether it does."""
        last = self.row.last
        if not is_history(last, ruling):
            return False
        if last is not None and last.day != ruling.day:
            self.row.evening = evening_of(last.day, last.bounds)
        self.row.last = ruling
        return True

    def account(self, sight: Sight) -> Account:
        """The day's account; `sight` is what the newest entry of the history was made from."""
        evening, day = self.row.evening, sight.metered.day
        if evening is not None and evening.day != self._calendar.previous(day):
            evening = None
        return account(self.row.pool, self._terms, sight.metered, sight.bounds, sight.now, evening)

    def tidy(self, now: Millis) -> list[str]:
        """Close what nothing can change any more; returns the keys of rows that may go."""
        gone, self._late = [*self._late, *self.sheets.fold(now, self._terms.lag_ceiling + 2 * HOUR)], []
        gone += [partial.key for partial in self.counter.close_before(self._oldest(now))]
        return gone

    def stored(self) -> BookRow:
        """The row as it stands."""
        self.row.folded = self.sheets.curve.folded
        self.row.carried, self.row.closed_before = self.counter.carried, self.counter.closed_before
        return self.row

    def _note_origin(self, name: str, origin: str) -> None:
        """Remember where a reading stood as long as the pool refers to it."""
        kept = names(self.row.pool) | {calibration.id for calibration in self.row.calibrations}
        self.row.origins = {known: at for known, at in self.row.origins.items() if known in kept}
        self.row.origins.setdefault(name, origin)

    def _oldest(self, now: Millis) -> Day:
        """The first day that stays open. A closed day takes no usage for ever, so our own clock alone closes none: one
        that once ran ahead would make all usage until then count for nothing."""
        newest = max(self.counter.days, default=None)
        if newest is None:
            return self.counter.closed_before
        known = min(now, self._calendar.end(newest))
        return self._calendar.day(known - (self._policy.close_after_days + 1) * DAY)

    def _metered(self, now: Millis, marks: Marks) -> Metered:
        day, since = self._calendar.day(now), marks.since()
        curve, counter = self.sheets.curve, self.counter
        first = None if since is None else self._calendar.day(since)
        curve.seed = counter.seed(first) if first is not None else curve.seed
        curve.count(counter.total(), now)
        return Metered(
            curve=curve,
            complete_until=marks.complete_until(),
            since=since,
            day=day,
            day_start=self._calendar.start(day),
            day_base=self._base(day, since),
            yesterday=None if since is None else self._whole(self._calendar.previous(day), since),
        )

    def _used(self, metered: Metered) -> int:
        seeded = metered.since is not None and self._calendar.day(metered.since) == metered.day
        return self.counter.tokens(metered.day) + (metered.curve.seed if seeded else 0)

    def _whole(self, day: Day, since: Millis) -> int | None:
        """Tokens of a day that was metered in full, or whose beginning gateways told; None of any other."""
        seeded = self._calendar.day(since) == day and self.counter.is_seeded(day)
        if since > self._calendar.start(day) and not seeded:
            return None
        return self.counter.tokens(day) + (self.counter.seed(day) if seeded else 0)

    def _facts(self, sight: Sight, limit: Limit) -> dict[str, FactValue]:
        metered, bounds = sight.metered, sight.bounds
        return model_facts(
            model=self.model,
            day=metered.day,
            used=sight.used,
            limit=limit.tokens,
            wall=limit.wall.value,
            pool_low=None if bounds.pool_low is None else bounds.pool_low - metered.day_base,
            pool_high=None if bounds.pool_high is None else bounds.pool_high - metered.day_base,
            charged_low=bounds.charged_low,
            charged_high=bounds.charged_high,
            complete=bounds.complete,
            lag_seconds=bounds.lag_seconds,
            lag_bound_seconds=bounds.lag_bound / 1000,
            stale=bounds.stale,
            reading_age_seconds=None if bounds.reading_at is None else max(0, sight.now - bounds.reading_at) / 1000,
            unknown_mode=self._terms.unknown.value,
        )

    def _ruling(self, sight: Sight, limit: Limit, verdict: Verdict) -> Ruling:
        day = sight.metered.day
        return ruled(
            verdict,
            self._policy,
            scope=self.scope,
            at=sight.now,
            day=day,
            until=verdict.until or self._calendar.end(day),
            formula=limit.formula,
            wall=limit.wall.value,
            limit=limit.tokens,
            used=sight.used,
            base=sight.metered.day_base,
            counter=str(self.row.born),
            guarded=self._guarded(day),
            prices=self._prices.of(self.model, day).as_dict() if self._policy.counts_money else {},
            basis=self._policy.spend.basis if self._policy.spend is not None else "",
            bounds=sight.bounds,
        )

    def _guarded(self, day: Day) -> dict[Day, int]:
        return {each: tokens for each in (self._calendar.previous(day), day) if (tokens := self.counter.guarded(each))}
