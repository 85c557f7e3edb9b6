"""A decision and its grounds survive the topic, and what another version wrote is not half understood."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice

import msgspec
import pytest
from blastdoor_gateway.contract import Decision

from rules.grounds import Grounds
from rules.outcome import Sight
from rules.replay import Replay
from rules.ruling import Ruling
from streams.decision import to_decision
from streams.explaining.decided import to_decided
from streams.recording import Recording
from tests.streams.explaining.golden import FIRST, POLICY, RULEBOOK, SCENARIOS, SECOND, ZONE


@pytest.fixture(scope="module")
def decision() -> Decision:
    """The last of the incident, as it lies on the topic."""
    return Decision.from_json(decide([FIRST, SECOND]).to_json())


def ruled(files) -> tuple[Ruling, Sight, Replay]:
    """What holds at the end of a recording."""
    replay = Replay(POLICY, RULEBOOK, ())
    for _ in replay.run(Recording(files, ZONE).records):
        pass
    (book,) = replay.judge.models().values()
    sight = book.look(replay.now, replay.judge.marks)
    return book.rule(sight, RULEBOOK), sight, replay


def decide(files) -> Decision:
    ruling, sight, replay = ruled(files)
    (book,) = replay.judge.models().values()
    account = book.account(sight)
    return to_decision(ruling, (7, 1), ZONE, account, book.grounds(sight, ruling, RULEBOOK, replay.judge.marks))


def test_grounds_survive_the_topic(decision: Decision) -> None:
    """Reading the record gives the grounds that were written, field for field."""
    found = to_decided(decision, "t/0/1").grounds
    assert found is not None
    assert msgspec.json.decode(msgspec.json.encode(found)) == decision.because


def test_the_days_account_survives_the_topic(decision: Decision) -> None:
    """Written anew from what was read, it is the same record."""
    account = to_decided(decision, "t/0/1").account
    assert account is not None
    again = to_decision(ruled([FIRST, SECOND])[0], decision.version, ZONE, account)
    for name in ("ledger", "expected_return", "returned", "return_overdue", "runs_out_at", "will_expire"):
        assert getattr(again, name) == getattr(decision, name)


@pytest.mark.parametrize(
    "changes",
    [{"ledger": {"opening": 7}}, {"will_expire": {"p": 7}}, {"will_expire": {"p": {}}}, {"runs_out_at": "soon"}],
)
def test_an_account_that_is_not_understood_is_none(decision: Decision, changes: dict[str, object]) -> None:
    """And the decision still is; a step of usage has none to begin with."""
    assert to_decided(replace(decision, **changes), "t/0/1").account is None
    assert to_decided(replace(decision, returned=None), "t/0/1").account is None


def test_the_facts_are_those_the_rules_saw(decision: Decision) -> None:
    """Every documented fact, so that every rule can be asked again."""
    decided = to_decided(decision, "t/0/1")
    rules = RULEBOOK.rules["model"]
    assert all(set(rule.condition.names) <= decided.facts.keys() for rule in rules)
    assert RULEBOOK.decide("model", decided.facts).reason == decision.reason
    assert decided.facts["reading_age_seconds"] == 0


@pytest.mark.parametrize(
    "because", [{"terms": 7}, {"nonsense": True}, {"terms": {}, "lag": {}}, {"readings": [{"parts": ["unheard-of"]}]}]
)
def test_foreign_grounds_are_none(decision: Decision, because: dict[str, object]) -> None:
    """What is not understood whole is not used at all; the decision itself still is."""
    decided = to_decided(replace(decision, because=because), "t/0/1")
    assert decided.grounds is None
    assert decided.facts["used"] == 665_268
    assert "stale" not in decided.facts


def test_grounds_stay_small() -> None:
    """Two busy days with 270 readings: under 4 KiB at every minute of the history."""
    sizes = []
    replay = Replay(POLICY, RULEBOOK, ())
    records = Recording([SCENARIOS / "expiring-live.jsonl.gz"], ZONE).records
    for replayed in islice(replay.run(records), 200):
        (book,) = replay.judge.models().values()
        sight = book.look(replayed.reading.at, replay.judge.marks)
        grounds = book.grounds(sight, book.rule(sight, RULEBOOK), RULEBOOK, replay.judge.marks)
        sizes.append(len(msgspec.json.encode(grounds)))
    assert len(sizes) == 200
    assert max(sizes) < 4096


def test_grounds_go_to_no_gateway(decision: Decision) -> None:
    """The Redis hash has none of it; the record on the topic has all."""
    assert "because" not in decision.to_hash()
    assert msgspec.convert(json.loads(decision.to_json())["because"], Grounds).readings
