"""A decision as a call of decision.lua, and how long its key lives."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import chain

from blastdoor_gateway.contract import DECISION_TTL_SECONDS, Action, Decision, Keys, version_score

from rules.moment import HOUR, MINUTE, SECOND, Millis, from_datetime
from streams.publish.scripts import DECISION, Call

EVENT_LIFE: Millis = HOUR
"""In event mode every key lives this long in real time, so that recordings leave nothing behind."""

LIFE: Millis = DECISION_TTL_SECONDS * SECOND

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def decision_call(keys: Keys, decision: Decision, lives: Millis) -> Call:
    """Writes the decision unless a newer one is there; `lives` as of `lifetime`."""
    fields = _encode([*chain.from_iterable(decision.to_hash().items())])
    return Call(DECISION, (keys.decision(decision.scope),), (version_score(decision.version), lives, fields))


def lifetime(decision: Decision, now: Millis) -> Millis:
    """How long the key lives if nobody writes it again, in ms; 0 is without end.

    A kill (a ban is one of a user or address) ends when it says, or never: it must outlive any engine. A block or
    degradation that lasts longer than two days is kept to its end. An end that has passed leaves a minute for the next
    decision to come.
    """
    ends = None if decision.until is None else from_datetime(datetime.fromisoformat(decision.until)) - now
    if decision.action is Action.KILL:
        return 0 if ends is None else max(ends, MINUTE)
    return max(LIFE, ends or 0) if decision.action in (Action.BLOCK, Action.DEGRADE) else LIFE
