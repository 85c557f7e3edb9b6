"""The whole way on one screen: from a usage event on Kafka to a decision in Redis and an alert.

    usage ──> meter ──> facts ──> judge ──> publisher ──> Redis ──> gateway
    balances, controls ──> route ──┘  └──> decisions, decisions-latest, alerts ──> notify ──> Feishu, webhook
      meter ┄┄┄┄┄ sums ┄┄┄┄┄> judge, where both are in one worker: as true as by Kafka, and sooner
              meter ──> sheets ──> rollups: a table for each tenant and day, which every worker answers from
    what cannot be read ──> dead-letters

Each step folds whole batches of one partition and hands over what it changed; `streams/delivery` sends that, then
keeps the rows, then commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.active import PolicyStep
from streams.counting import MakeCounter, in_python
from streams.dead_letters import DeadLetters
from streams.facts_topic import FactsTopic
from streams.judge import JudgeStep
from streams.meter import Meter
from streams.metrics import Metrics
from streams.notify import Notify
from streams.publish.publisher import Publisher
from streams.rollups import Reread, RollupStep
from streams.route import Route
from streams.spans import open_spans
from streams.topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The collaborators that the steps share."""

    topics: Topics
    partitions: int
    policy: Policy
    rulebook: Rulebook
    metrics: Metrics
    publisher: Publisher
    notify: Notify
    reread: Reread
    event_clock: bool
    counter: MakeCounter = in_python
    traces: bool = False
    users: bool = False  # whether their names may stand in metrics


def steps(parts: Parts) -> Sequence[PolicyStep]:
    """All steps of the pipeline, in the order in which an event meets them."""
    topics, facts = parts.topics, FactsTopic(parts.topics.facts, parts.partitions)
    judge = JudgeStep(
        topics,
        parts.partitions,
        parts.policy,
        parts.rulebook,
        parts.publisher,
        parts.metrics,
        event_clock=parts.event_clock,
        spans=open_spans(parts.traces),
    )
    meter = Meter(
        topics,
        facts,
        parts.policy,
        parts.metrics,
        event_clock=parts.event_clock,
        traces=parts.traces,
        counter=parts.counter,
        ahead=judge.hear,
    )
    return [
        meter,
        _route("balances", topics.balances, facts, parts),
        _route("controls", topics.controls, facts, parts),
        judge,
        RollupStep(topics, parts.policy, parts.metrics, parts.reread, users=parts.users, event_clock=parts.event_clock),
        parts.notify,
    ]


def _route(source: str, topic: str, facts: FactsTopic, parts: Parts) -> Route:
    dead_letters = DeadLetters(parts.topics.dead_letters, topic, parts.metrics)
    return Route(
        source,
        topic,
        dead_letters,
        facts,
        parts.policy,
        sheets=parts.topics.sheets,
        event_clock=parts.event_clock,
    )
