"""The decision in force at an instant of a recording: the recording is judged again up to there."""

from __future__ import annotations

from typing import NamedTuple

from blastdoor_gateway.contract import Decision
from msgspec.structs import replace

from rules.grounds import Grounds
from rules.moment import Millis
from rules.policy import Policy
from rules.records import Refusal
from rules.replay import Replay, up_to
from rules.rulebook import Rulebook
from streams.decision import to_decision
from streams.recording import Recording


class Recalled(NamedTuple):
    """What a recording says of a model: its decision, and the last refusal of the day that the gate recorded."""

    decision: Decision
    refusal: Refusal | None


class NothingRecorded(Exception):  # noqa: N818 - the recording is as it is
    """The recording says nothing of the model up to the instant. `models`: those of which it does."""

    def __init__(self, models: list[str]) -> None:
        super().__init__(", ".join(models))
        self.models = models


def recall(recording: Recording, policy: Policy, rulebook: Rulebook, model: str, at: Millis | None) -> Recalled:
    """Judge a recording up to `at` (None: to its end). Raises NothingRecorded, and UnreadableSource of the files."""
    replay = Replay(policy, rulebook, ())
    for _ in replay.run(recording.records if at is None else up_to(recording.records, at)):
        pass
    scope, now = f"model:{model}", replay.now
    models = replay.judge.models()
    book = models.get(scope)
    if book is None or now is None:
        raise NothingRecorded([name.removeprefix("model:") for name in models])
    sight = book.look(now, replay.judge.marks)
    ruling = book.rule(sight, rulebook)
    grounds = _located(book.grounds(sight, ruling, rulebook, replay.judge.marks), recording.origins)
    refusal = replay.refusals.get(scope)
    if refusal is not None and refusal.at < sight.metered.day_start:
        refusal = None
    return Recalled(to_decision(ruling, (0, 0), policy.calendar().zone, book.account(sight), grounds), refusal)


def _located(grounds: Grounds, origins: dict[str, str]) -> Grounds:
    """With file and line of each reading in place of its number in the replay; there are no Kafka positions."""
    readings = tuple(replace(said, origin=origins.get(said.id, "")) for said in grounds.readings)
    kept = grounds.remembered
    kept = None if kept is None else replace(kept, origin=origins.get(kept.id, ""))
    return replace(grounds, readings=readings, remembered=kept, positions={})
