"""Which readings and changes shaped the bounds, and how: from a pool's state to the grounds of a decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from rules.evidence import (
    ending_soon,
    high_of,
    low_counts,
    low_of,
    perhaps_settled,
    raised_fold,
    raised_high,
    raised_low,
    surely_lost,
    surely_settled,
    window,
    witness,
)
from rules.grounds import LagBound, Moved, Part, Remembered, Said
from rules.lag_bound import lag_in_force
from rules.losses import unmetered_share
from rules.moment import Millis
from rules.policy import ModelTerms
from rules.pool_state import Bounds, Evidence, Expired, Metered, PoolState

READINGS_TOLD = 6
CHANGES_TOLD = 6

Origins = Mapping[str, str]


class Court(NamedTuple):
    """A pool at the instant of a decision."""

    state: PoolState
    terms: ModelTerms
    metered: Metered
    bounds: Bounds
    now: Millis
    origins: Origins  # reading id -> where it stood

    @property
    def lag(self) -> Millis:
        return lag_in_force(self.state, self.terms, self.now)

    def waiting(self) -> list[Evidence]:
        """Readings that wait for late usage."""
        return [witness(reading) for reading in self.state.pending if self.state.anchor <= reading.at <= self.now]

    def known(self) -> list[Evidence]:
        """All evidence in order of time."""
        return sorted([*self.state.evidence, *self.waiting()], key=lambda evidence: (evidence.at, evidence.id))


def believed_from(court: Court) -> Millis:
    """Readings older than this no longer count for the low end."""
    known = court.state.evidence + court.waiting()
    return max((evidence.seen for evidence in known), default=court.now) - window(known, court.lag)


def witnesses(court: Court) -> tuple[Said, ...]:
    """The readings that gave an end, those that wait, and the newest, in order of time."""
    known, bounds = court.known(), court.bounds
    waiting, oldest = {evidence.id for evidence in court.waiting()}, believed_from(court)
    chosen = _chosen(known, {bounds.low_from, bounds.high_from, bounds.latest})
    said = [_testify(court, evidence, _parts(court, evidence, waiting, oldest)) for evidence in chosen]
    if bounds.latest and bounds.latest not in {evidence.id for evidence in known}:
        said.append(_silent(court))
    return tuple(said)


def remembered(court: Court) -> Remembered | None:
    """The high end of a reading no longer kept, if it is the one that rules."""
    top, metered = court.state.top, court.metered
    if top is None or top.id != court.bounds.high_from or any(known.id == top.id for known in court.state.evidence):
        return None
    value = raised_fold(top, court.state.changes, metered.curve, court.now) - metered.day_base
    return Remembered(id=top.id, at=top.at, high=value, origin=court.origins.get(top.id, ""))


def moves(court: Court) -> tuple[Moved, ...]:
    """What came to the pool and left it, as far as a reading told here or the day knows of it."""
    oldest = min((evidence.at for evidence in court.state.evidence), default=court.now)
    begin = min(court.metered.day_start, oldest)
    recent = [change for change in court.state.changes if begin <= change.at <= court.now]
    return tuple(
        Moved(cause=change.cause, at=change.at, low=change.low, high=change.high, id=change.id, seen=change.seen)
        for change in recent[-CHANGES_TOLD:]
    )


def ended(court: Court) -> tuple[Expired, ...]:
    """Packages that ended since the day began."""
    today = [expired for expired in court.state.expired if court.metered.day_start <= expired.at <= court.now]
    return tuple(today[-CHANGES_TOLD:])


def lag_bound(court: Court) -> LagBound:
    """The bound in force and, where it was learned, when."""
    bound = court.lag
    return LagBound(bound=bound, usual=court.terms.max_lag, at=court.state.lag.at if bound > court.terms.max_lag else 0)


def _chosen(known: list[Evidence], needed: Collection[str]) -> list[Evidence]:
    spare = READINGS_TOLD - sum(evidence.id in needed for evidence in known)
    chosen = set(needed)
    for evidence in reversed(known):
        if evidence.id not in chosen and spare > 0:
            chosen.add(evidence.id)
            spare -= 1
    return [evidence for evidence in known if evidence.id in chosen]


def _parts(court: Court, evidence: Evidence, waiting: Collection[str], oldest: Millis) -> tuple[Part, ...]:
    bounds = court.bounds
    gives = {Part.LOW: bounds.low_from, Part.HIGH: bounds.high_from, Part.LATEST: bounds.latest}
    parts = [part for part, giver in gives.items() if giver == evidence.id]
    if evidence.id in waiting:
        parts.append(Part.WAITS)
    elif evidence.seen < court.state.opened:
        parts.append(Part.BEFORE)
    if not low_counts(evidence, court.metered.since, court.lag):
        parts.append(Part.EARLY)
    elif evidence.seen < oldest:
        parts.append(Part.OLD)
    return tuple(parts)


def _testify(court: Court, evidence: Evidence, parts: tuple[Part, ...]) -> Said:
    curve, base, lag, now = court.metered.curve, court.metered.day_base, court.lag, court.now
    low, high = low_of(evidence, curve, lag, now), high_of(evidence, curve, lag, now)
    changes = court.state.changes
    share = unmetered_share(court.state.losses, now)
    return Said(
        id=evidence.id,
        at=evidence.at,
        balance=evidence.balance,
        by=evidence.asked - lag if evidence.settled is None else evidence.settled,
        settled=surely_settled(evidence, curve, lag) - base,
        used=perhaps_settled(evidence, curve) - base,
        parts=parts,
        origin=court.origins.get(evidence.id, ""),
        ending=ending_soon(evidence, lag, now),
        lost=surely_lost(evidence, curve, lag, now),
        unmetered=round(share * (curve.total - curve.ended_by(evidence.asked - lag))) if share else 0,
        doubtful=evidence.balance + surely_settled(evidence, curve, lag) - ending_soon(evidence, lag, now) - low,
        came_low=raised_low(low, evidence.at, changes, now) - low,
        came_high=raised_high(high, evidence.at, changes, curve, now) - high,
        entered=evidence.entered,
        exact=evidence.exact,
    )


def _silent(court: Court) -> Said:
    """The newest reading where it is no evidence."""
    bounds, metered = court.bounds, court.metered
    at = bounds.reading_at or 0
    return Said(
        id=bounds.latest,
        at=at,
        balance=bounds.balance or 0,
        by=at - court.lag,
        settled=metered.curve.ended_by(at - court.lag) - metered.day_base,
        used=metered.curve.begun_by(at) - metered.day_base,
        parts=(Part.LATEST, Part.SILENT),
        origin=court.origins.get(bounds.latest, ""),
    )
