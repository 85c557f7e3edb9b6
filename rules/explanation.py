"""Which readings shaped the bounds and how, in order of time: what a person asks for after a block."""

from __future__ import annotations

from msgspec import Struct

from rules.ends import high_end, low_end
from rules.evidence import high_of, low_counts, low_of, raised_high, raised_low, window, witness
from rules.lag_bound import lag_in_force
from rules.moment import Millis
from rules.policy import ModelTerms
from rules.pool_state import Change, Evidence, Metered, PoolState


class Testimony(Struct, frozen=True, kw_only=True):
    """What one reading says about the pool now (cumulative tokens), and what is made of it."""

    id: str
    at: Millis
    balance: int
    low: int | None  # None: usage before it was not metered in full
    high: int
    roles: tuple[str, ...]


class Explanation(Struct, frozen=True, kw_only=True):
    """Everything the bounds at an instant stand on."""

    lag_bound: Millis
    low_evidence_from: Millis  # older readings are no longer believed for the low end
    readings: tuple[Testimony, ...]
    changes: tuple[Change, ...]


def explain(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> Explanation:
    """The evidence kept, each reading with its part."""
    lag = lag_in_force(state, terms, now)
    waiting = [witness(reading) for reading in state.pending]
    known = sorted([*state.evidence, *waiting], key=lambda evidence: (evidence.at, evidence.id))
    oldest = max((evidence.seen for evidence in known), default=now) - window(known, lag)
    low, high = low_end(state, terms, metered, now), high_end(state, terms, metered, now)
    givers = {"gives the low end": low.id if low else "", "gives the high end": high.id if high else ""}
    pending = {reading.id for reading in state.pending}

    def roles(evidence: Evidence) -> tuple[str, ...]:
        found = [role for role, giver in givers.items() if giver == evidence.id]
        if evidence.id in pending:
            found.append("waits for late usage: bounds nothing from above yet")
        elif evidence.seen < state.opened:
            found.append("before an arrival of unknown size: bounds nothing from above")
        if evidence.seen < oldest:
            found.append("too old for the low end")
        elif not low_counts(evidence, metered.since, lag):
            found.append("metering had not run for the lag bound: no low end")
        return tuple(found)

    def testimony(evidence: Evidence) -> Testimony:
        low = raised_low(low_of(evidence, metered.curve, lag, now), evidence.at, state.changes, now)
        high = high_of(evidence, metered.curve, lag, now)
        return Testimony(
            id=evidence.id,
            at=evidence.at,
            balance=evidence.balance,
            low=low if low_counts(evidence, metered.since, lag) else None,
            high=raised_high(high, evidence.at, state.changes, metered.curve, now),
            roles=roles(evidence),
        )

    readings = tuple(testimony(evidence) for evidence in known)
    return Explanation(lag_bound=lag, low_evidence_from=oldest, readings=readings, changes=tuple(state.changes))
