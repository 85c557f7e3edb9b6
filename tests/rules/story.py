"""One model before a judge: usage and readings go in as facts, rulings come out; what was stored survives restarts."""

from __future__ import annotations

from typing import Any

import msgspec

from rules.account import Account
from rules.facts import Heard, Minutes, Partial, Sums, Watermark
from rules.judge import Judge
from rules.moment import HOUR, MINUTE, Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.records import Calibration, Package, Reading
from rules.ruling import Ruling
from streams.policy_file import default_rulebook

SCOPE = "model:m"


class Story:
    """One model, metered without a gap since `since` in one partition."""

    def __init__(self, since: Millis, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self.calendar = self.policy.calendar()
        self.rulebook = default_rulebook(self.policy)
        self.since = since
        self.rows: dict[str, Any] = {}
        self.days: dict[str, int] = {}
        self.hours: dict[int, list[int]] = {}
        self.offset = 0
        self.judge = self.start()

    def start(self) -> Judge:
        """A new owner with what was stored."""
        self.judge = Judge(self.policy, self.rulebook, usage_partitions=1)
        self.judge.restore(msgspec.json.decode(msgspec.json.encode(self.rows)))
        return self.judge

    def use(self, at: Millis, tokens: int) -> None:
        """A call that ended at `at`."""
        day, hour = self.calendar.day(at), self.hours.setdefault(at // HOUR, [0] * 60)
        self.days[day] = self.days.get(day, 0) + tokens
        hour[at // MINUTE % 60] += tokens
        self.offset += 1
        self.judge.apply(Partial(SCOPE, 0, day, 0, self.offset, Sums(tokens=self.days[day])))
        self.judge.apply(Minutes(SCOPE, 0, at // HOUR, 0, self.offset, list(hour)))

    def read(self, at: Millis, available: int, *packages: Package) -> None:
        """A balance of the provider's."""
        self.hear(Reading(id=f"r{at}", at=at, model="m", available=available, source="api", packages=packages or None))

    def hear(self, record: Reading | Calibration) -> None:
        self.offset += 1
        self.judge.apply(Heard(SCOPE, record, f"b/0/{self.offset}"))

    def rule(self, now: Millis) -> list[Outcome]:
        """All usage up to `now` has arrived; what is new then."""
        self.offset += 1
        self.judge.apply(Watermark("usage", 0, 0, self.offset, now, self.since))
        outcomes = self.judge.rule(now, every=True)
        for key, row in self.judge.take_rows().items():
            self.rows.pop(key, None) if row is None else self.rows.update({key: row})
        return outcomes

    def ruling(self, now: Millis) -> Ruling:
        """What holds at `now`, news or not."""
        self.rule(now)
        found = self.judge.ruling(SCOPE)
        assert found is not None
        return found

    def account(self, now: Millis) -> Account:
        """The account of the entry of the history made at `now`."""
        (outcome,) = self.rule(now)
        assert outcome.history
        assert outcome.account is not None
        return outcome.account
