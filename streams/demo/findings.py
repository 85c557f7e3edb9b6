"""What a performance has found, and what must hold of it: the demo checks itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import tzinfo

from blastdoor_gateway.contract import Decision

from rules.alerts import Alert
from rules.policy import Policy
from rules.records import Refusal
from rules.replay import Replay, Replayed
from rules.rulebook import Rulebook
from streams.channels.receiver import Arrival
from streams.demo.comparison import ASIDE, FORMULAS_SHOWN, Row, differences
from streams.demo.gate import Sight
from streams.demo.policy import CHANNELS
from streams.demo.recordings import Recordings
from streams.demo.witness import Witness


@dataclass(frozen=True)
class Expected:
    """What the same recordings give without Kafka."""

    replayed: tuple[Replayed, ...]
    alerts: tuple[Alert, ...]


def expect(recordings: Recordings, policy: Policy, rulebook: Rulebook) -> Expected:
    replay = Replay(policy, rulebook, FORMULAS_SHOWN)
    return Expected(tuple(replay.run(recordings.records)), tuple(replay.alerts))


@dataclass(frozen=True, kw_only=True)
class Findings:
    """`stored`: the decision as Redis has it. `key`: where."""

    rows: tuple[Row, ...]
    arrivals: tuple[Arrival, ...]
    key: str
    stored: Decision
    sight: Sight
    held: tuple[tuple[Refusal, Decision | None], ...]  # calls the gateway of that time refused, and what held for us
    faults: tuple[str, ...]


def faults(
    expected: Expected, witness: Witness, rows: Sequence[Row], arrivals: Iterable[Arrival], zone: tzinfo
) -> Iterator[str]:
    """Everything that came otherwise than it must."""
    for replayed in expected.replayed:
        for difference in differences(replayed, witness.on(replayed.reading), zone):
            yield f"reading {replayed.reading.id}: {difference}"
    yield from (f"reading {row.reading.id}: the real pool is not within the bounds" for row in rows if not row.holds)
    yield from _of_alerts(expected.alerts, list(arrivals))


def _of_alerts(alerts: Iterable[Alert], arrivals: Sequence[Arrival]) -> Iterator[str]:
    wanted = sorted(alert.id for alert in alerts)
    for name, kind in CHANNELS.items():
        got = sorted(arrival.id for arrival in arrivals if arrival.channel == kind)
        if got != wanted:
            yield f"{name}: {len(got)} alerts arrived, {len(wanted)} were expected, or others than these"


def _apart(stored: Decision, last: Decision) -> str:
    return ", ".join(field.name for field in fields(last) if getattr(stored, field.name) != getattr(last, field.name))


def of_redis(stored: Decision, last: Decision, sight: Sight) -> Iterator[str]:
    """What Redis holds must be the last decision, and an unchanged gate must never get further than it says."""
    aside = {name: getattr(last, name) for name in ASIDE}
    if (held := replace(stored, version=last.version, **aside)) != last:  # what changes nothing has a version, too
        yield f"Redis holds another decision than Kafka had last; what differs: {_apart(held, last)}"
    room = max(0, (stored.limit or 0) - (stored.used or 0))
    if sight.left > room:
        yield f"a v6 gate would admit {sight.left:,} tokens more, the decision only {room:,}"
