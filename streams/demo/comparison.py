"""What each formula made of a reading, beside what the provider's console knew. Pure: numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import tzinfo

from blastdoor_gateway.contract import Decision

from rules.formulas import FORMULAS, Inputs
from rules.moment import MINUTE, Millis
from rules.policy import ModelTerms
from rules.records import Reading
from rules.replay import Replayed
from streams.decision import to_decision

OURS, OLD, OLDER = "interval", "v6", "v4"
FORMULAS_SHOWN = (OURS, OLD, OLDER)

ASIDE = frozenset(
    ("because", "ledger", "expected_return", "returned", "return_overdue", "runs_out_at", "needed_per_day")
)
"""What Kafka's history tells beside the ruling. The replay of readings and the hash in Redis need not have it."""

LONGEST_SHOWN = 80  # characters of a value that came otherwise

SETTLED = 500
"""Up to so many tokens are a residual, no lag: the provider's books never agree to the last token."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A limit made from the pool alone, before the daily cap, and what it would have cost."""

    limit: int | None
    blocks: bool
    truth: int

    @property
    def charged(self) -> int:
        """Tokens beyond the free pool that the limit lets through."""
        return max(0, (self.limit or 0) - self.truth)

    def blocks_wrongly(self, used: int) -> bool:
        """Refuses calls while free tokens are left."""
        return self.blocks and used < self.truth


@dataclass(frozen=True, kw_only=True)
class Row:
    """One reading. `decision` is what blastdoor decided on it; `truth` is the console's pool of that day."""

    reading: Reading
    decision: Decision
    truth: int
    v6: Verdict
    v4: Verdict
    ours: Verdict

    @property
    def at(self) -> Millis:
        return self.reading.at

    @property
    def used(self) -> int:
        return self.decision.used or 0

    @property
    def believed(self) -> int:
        """What v6 takes for the pool: the balance, and what had been used when it was read."""
        return self.reading.available + self.used

    @property
    def too_high(self) -> int:
        return self.believed - self.truth

    @property
    def holds(self) -> bool:
        """Whether the true pool lies between our bounds."""
        low, high = self.decision.pool_low, self.decision.pool_high
        return low is not None and high is not None and low <= self.truth <= high

    @property
    def lag_minutes(self) -> str:
        """How far the provider was behind: nothing to speak of, at most the bound, or about so many minutes."""
        if (self.decision.lag_tokens_high or 0) <= SETTLED:
            return "settled"
        if not self.decision.lag_tokens_low:
            return f"≤ {round((self.decision.lag_bound_seconds or 0) * 1000 / MINUTE)}"
        return f"{(self.decision.lag_seconds or 0) * 1000 / MINUTE:.1f}"


def compare(replayed: Replayed, decision: Decision, terms: ModelTerms, truth: int) -> Row:
    """`decision` came by Kafka; the formulas that it did not use are those of the replay."""
    inputs = _inputs(replayed.reading, decision, terms)

    def verdict(name: str) -> Verdict:
        limit = FORMULAS[name].limit(inputs)
        return Verdict(limit=limit, blocks=replayed.rulings[name].action == "block", truth=truth)

    return Row(
        reading=replayed.reading,
        decision=decision,
        truth=truth,
        v6=verdict(OLD),
        v4=verdict(OLDER),
        ours=replace(verdict(OURS), blocks=decision.action == "block"),
    )


def _inputs(reading: Reading, decision: Decision, terms: ModelTerms) -> Inputs:
    return Inputs(
        pool_low=decision.pool_low,
        small_buffer=terms.small_buffer,
        balance=reading.available,
        usage=decision.used,
        yesterday=None,
    )


def differences(replayed: Replayed, decision: Decision | None, zone: tzinfo) -> list[str]:
    """Where what came by Kafka is not what the replay of the same recording says."""
    if decision is None:
        return ["no decision came by Kafka"]
    expected = to_decision(replayed.rulings[OURS], decision.version, zone)
    return [
        difference
        for field in fields(Decision)
        if field.name not in ASIDE
        for difference in _unlike(field.name, getattr(decision, field.name), getattr(expected, field.name))
    ]


def _unlike(name: str, came: object, expected: object) -> Iterator[str]:
    """What differs; of a mapping only the entries that do."""
    if isinstance(came, Mapping) and isinstance(expected, Mapping):
        for key in dict.fromkeys((*came, *expected)):
            yield from _unlike(f"{name}.{key}", came.get(key, "nothing"), expected.get(key, "nothing"))
    elif came != expected:
        yield f"{name}: {_short(came)} by Kafka, {_short(expected)} by replay"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
