"""The pool of one model: take readings in, test each once all usage before it has arrived, and say the bounds."""

from __future__ import annotations

from bisect import insort

from msgspec.structs import replace

from rules.alerts import Kind
from rules.arrivals import find_arrivals, remember_packages
from rules.bounds import bounds, charged_at_most, charged_for_certain, published
from rules.clocks import apart
from rules.contradictions import Finding, Verdict, examine
from rules.ends import forget, high_end, low_end
from rules.evidence import CLOCKS_DIFFER, is_empty, low_counts, witness
from rules.expiry import record_expired
from rules.lag_bound import lag_in_force, learned, needed, undone
from rules.losses import raise_floor, with_loss
from rules.moment import DAY, MINUTE, Millis
from rules.policy import ModelTerms
from rules.pool_state import Bounds, Cause, Change, Evidence, Loss, Metered, Notice, PoolState, Stamp, Sync
from rules.records import Reading
from rules.standing import standing

PENDING_KEPT = 256
PENDING_PACKAGES_KEPT = 2_000
CHANGES_MOST = 256


def observe(state: PoolState, reading: Reading, received: Millis | None = None) -> bool:
    """Take a reading in; False for a duplicate, one too old to say anything, and an empty list, which is no reading.

    `received`: when, if that is known; its own time is compared with it.
    """
    if reading.at < max(state.anchor, state.sealed) or reading.packages == ():
        return False
    if reading.id in _ids(state):
        return False
    if received is not None:
        state.stamp = Stamp(reading.at, apart(reading.at, received))
    insort(state.pending, reading, key=lambda known: (known.at, known.id))
    del state.pending[:-PENDING_KEPT]
    while sum(len(known.packages or ()) for known in state.pending[:-1]) > PENDING_PACKAGES_KEPT:
        del state.pending[0]
    return True


def infer(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> tuple[Bounds, list[Notice]]:
    """Test the readings whose usage is complete, then say what is known of the pool at `now`."""
    notices: list[Notice] = []
    _snapshot(state, metered)
    complete_until = min(now, metered.complete_until or 0)
    while state.pending and state.pending[0].at <= complete_until:
        notices += _seal(state, terms, metered, state.pending.pop(0))
    notices += record_expired(state, metered, lag_in_force(state, terms, now), now)
    notices += standing(state, terms, metered, now)
    return bounds(state, terms, metered, now), notices


def start_afresh(state: PoolState, evidence: Evidence) -> None:
    """Forget all evidence but one; what the pool was before says nothing any more."""
    state.evidence = [evidence]
    state.anchor = evidence.at
    state.opened = 0
    state.top = state.floor = None


def newest_change(state: PoolState, now: Millis) -> tuple[Millis, Cause | None]:
    """Since when the pool is the same, and what changed it then (None: a package ended, or nothing is known)."""
    changes = [(change.at, change.cause) for change in state.changes if change.at <= now]
    since, cause = max(changes, key=lambda change: change[0], default=(state.anchor, None))
    ended = max((expired.at for expired in state.expired if expired.at <= now), default=0)
    return (ended, None) if ended > since else (since, cause)


def names(state: PoolState) -> set[str]:
    """Ids of all readings that the state refers to."""
    folded = {fold.id for fold in (state.top, state.floor) if fold is not None}
    return _ids(state) | folded | {change.id for change in state.changes}


def _ids(state: PoolState) -> set[str]:
    """Readings known by now; older ones are too old to say anything new."""
    newest = set() if state.sync is None else {state.sync.id}
    return newest | {known.id for known in state.evidence} | {known.id for known in state.pending}


def _snapshot(state: PoolState, metered: Metered) -> None:
    """Note the newest reading beside the usage known now, as a v6 gate does."""
    if not state.pending or (state.sync is not None and state.pending[-1].at <= state.sync.at):
        return
    newest = state.pending[-1]
    count = min(metered.total, metered.curve.begun_by(newest.at))
    base = metered.day_base if newest.at >= metered.day_start else metered.day_base - (metered.yesterday or 0)
    state.sync = Sync(newest.id, newest.at, witness(newest).balance, max(0, count - base))


def _seal(state: PoolState, terms: ModelTerms, metered: Metered, reading: Reading) -> list[Notice]:
    evidence = witness(reading)
    evidence.since = metered.since
    state.sealed, state.vouched = evidence.at, evidence.asked
    lag = lag_in_force(state, terms, evidence.at)
    notices = record_expired(state, metered, lag, evidence.at)
    arrivals = find_arrivals(state, reading, evidence, metered.curve, lag)
    remember_packages(state, reading)
    notices += [_arrive(state, terms, metered, change) for change in arrivals.changes]
    if arrivals.opens:
        state.opened, state.top = evidence.at, None
    explained = arrivals.opens or bool(arrivals.changes)
    notices += _settle(state, terms, metered, evidence, examine(state, terms, metered, evidence, explained))
    if state.evidence:
        forget(state, terms, metered, evidence.at)
    _bound_changes(state, evidence.at)
    return notices


def _bound_changes(state: PoolState, at: Millis) -> None:
    """Where a pool jumps with every reading, older readings no longer bound it from above: what came since is lost."""
    if len(state.changes) > CHANGES_MOST:
        del state.changes[:-CHANGES_MOST]
        state.opened, state.top = at, None


def _arrive(state: PoolState, terms: ModelTerms, metered: Metered, change: Change) -> Notice:
    low, high = published(low_end(state, terms, metered, change.seen), high_end(state, terms, metered, change.seen))
    certain = charged_for_certain(high, metered, change.came)
    at_most = charged_at_most(state, low, metered.curve.begun_by(change.at + CLOCKS_DIFFER), metered)
    change = replace(change, charged_low=certain, charged_high=max(certain, at_most))
    insort(state.changes, change, key=lambda known: known.at)
    state.grant += 1
    return Notice(
        kind=Kind.ARRIVAL,
        at=change.seen,
        reason=f"{change.low:,} to {change.high:,} tokens came to the pool ({change.id})",
        numbers={"low": change.low, "high": change.high},
    )


def _settle(state: PoolState, terms: ModelTerms, metered: Metered, evidence: Evidence, found: Finding) -> list[Notice]:
    """Do what the finding asks for."""
    at = evidence.at
    if found.verdict is Verdict.EMPTY:
        return []
    notices = []
    if found.verdict is Verdict.LAGS:
        state.lag = learned(state, terms, at, found.lag)
        state.floor = None
        notices = [
            Notice(
                kind=Kind.LAG_BOUND_BROKEN,
                at=at,
                reason=f"reading {evidence.id} is settled {found.lag // MINUTE} min behind: the lag bound is raised",
                numbers={"lag_ms": found.lag},
            )
        ]
    elif found.verdict is Verdict.LONG:
        state.lag = needed(state, at)
    elif found.verdict is not Verdict.FITS:
        notices = [_restart(state, terms, metered, evidence, found)]
    if is_empty(evidence):
        low = low_end(state, terms, metered, at)
        evidence.most = None if low is None else low.value - metered.curve.seed
    if found.verdict in (Verdict.FITS, Verdict.LONG, Verdict.LAGS):
        state.evidence.append(evidence)
    lag = lag_in_force(state, terms, at)
    if low_counts(evidence, metered.since, lag):
        raise_floor(state, evidence, metered, lag)
    return notices


def _restart(state: PoolState, terms: ModelTerms, metered: Metered, evidence: Evidence, found: Finding) -> Notice:
    at = evidence.at
    if found.verdict is Verdict.UNSEEN:
        change = Change(cause=Cause.UNSEEN, at=at, seen=at, low=found.least, high=found.most, id=evidence.id)
        state.lag = undone(state, terms, at)
        state.grant += 1
        kind, what = Kind.UNSEEN_ARRIVAL, f"at least {found.least:,} tokens came unseen"
    else:
        used = metered.curve.ended_by(at) - metered.curve.ended_by(state.floor.at if state.floor else at)
        change = Change(cause=Cause.LOSS, at=at, seen=at, low=-found.most, high=-found.least, id=evidence.id)
        state.losses = with_loss(state.losses, Loss(at, (found.least + found.most) // 2, used))
        idle = metered.total == metered.curve.ended_by(at - DAY)
        kind = Kind.READINGS_WITHOUT_USAGE if idle else Kind.UNEXPLAINED
        what = f"at least {found.least:,} tokens left the pool unmetered"
    insort(state.changes, change, key=lambda known: known.at)
    start_afresh(state, evidence)
    return Notice(
        kind=kind,
        at=at,
        reason=f"{what} (reading {evidence.id}): the pool is started afresh",
        numbers={"least": found.least, "most": found.most},
    )
