"""What a rule remembers of a scope between two looks: since when its condition holds, and since when it fires.

    quiet ──holds──> pending ──for so long──> firing ──clear, and then keep_firing_for──> quiet
                        └──holds no more──> quiet      └──ban: so long from when it fired, again if it holds then

It stands in the scope's stored row, so a restart changes nothing. Rules without such terms remember nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rules.moment import Millis
from rules.policy import RuleSpec


class Held(Struct, frozen=True, omit_defaults=True):
    """A rule whose condition holds, or that still fires. 0: not yet."""

    since: Millis  # the condition holds without a gap since
    fired: Millis = 0  # it fires since
    gone: Millis = 0  # it fires still, and its end began then


Memory = Mapping[str, Held]
NOTHING: Memory = {}


def remembers(spec: RuleSpec) -> bool:
    """Whether a rule needs to know more than how things are now."""
    return bool(spec.lasting or spec.clear or spec.keep_firing_for or spec.ban_for)


def advance(spec: RuleSpec, held: Held | None, now: Millis, *, holds: bool, ends: bool) -> Held | None:
    """What a rule remembers after a look. `ends`: without a `clear:` of its own, that the condition holds no more."""
    if held is not None and held.fired and spec.ban_for:
        if now < held.fired + spec.ban_for:
            return held
        held = None
    if holds:
        return _holding(spec, held or Held(now), now)
    if held is None or not held.fired:
        return None
    if not ends:
        return replace(held, gone=0)
    gone = held.gone or now
    return replace(held, gone=gone) if now < gone + spec.keep_firing_for else None


def _holding(spec: RuleSpec, held: Held, now: Millis) -> Held:
    if held.fired:
        return replace(held, gone=0)
    return replace(held, fired=now) if now >= held.since + spec.lasting else held


def fires(spec: RuleSpec, held: Held | None, now: Millis) -> bool:
    """Whether a rule fires by what it remembers, where a look cannot tell."""
    return held is not None and held.fired > 0 and (not spec.ban_for or now < held.fired + spec.ban_for)


def banned_until(spec: RuleSpec, held: Held | None) -> Millis | None:
    """The end of the ban that a firing rule laid on its scope."""
    return held.fired + spec.ban_for if spec.ban_for and held is not None and held.fired else None


def wakes(specs: Iterable[RuleSpec], memory: Memory) -> Millis | None:
    """The next instant at which time alone changes what a rule says; None: there is none."""
    ends = []
    for spec in specs:
        held = memory.get(spec.name)
        if held is None:
            continue
        if not held.fired:
            ends.append(held.since + spec.lasting)
        elif spec.ban_for:
            ends.append(held.fired + spec.ban_for)
        elif held.gone:
            ends.append(held.gone + spec.keep_firing_for)
    return min(ends, default=None)
