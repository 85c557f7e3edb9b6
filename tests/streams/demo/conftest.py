"""Both recordings as the rules judge them in this process, in the shape in which they come back by Kafka."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from blastdoor_gateway.contract import Decision
from rich.console import Console, RenderableType

from rules.alerts import Alert
from rules.policy import Policy
from streams.channels.cards import card
from streams.channels.messages import message
from streams.channels.receiver import FEISHU, WEBHOOK, Arrival
from streams.channels.webhook import payload
from streams.decision import to_decision
from streams.demo.comparison import OURS, Row, compare
from streams.demo.findings import Expected, Findings, expect
from streams.demo.gate import Sight
from streams.demo.recordings import CONSOLE, Recordings, read_recordings
from streams.policy_file import default_rulebook

POLICY = Policy()
ZONE = POLICY.calendar().zone
EPOCH = 1_786_000_000_000

Printed = Callable[..., list[str]]


@pytest.fixture(scope="session")
def recordings() -> Recordings:
    return read_recordings(ZONE)


@pytest.fixture(scope="session")
def expected(recordings: Recordings) -> Expected:
    return expect(recordings, POLICY, default_rulebook(POLICY))


@pytest.fixture(scope="session")
def decisions(expected: Expected) -> list[Decision]:
    """One for each reading."""
    return [
        to_decision(replayed.rulings[OURS], (EPOCH, number), ZONE)
        for number, replayed in enumerate(expected.replayed, 1)
    ]


@pytest.fixture(scope="session")
def rows(expected: Expected, decisions: list[Decision]) -> list[Row]:
    return [
        compare(replayed, decision, POLICY.default, CONSOLE[decision.day])
        for replayed, decision in zip(expected.replayed, decisions, strict=True)
    ]


def arrivals(alert: Alert) -> list[Arrival]:
    """An alert by both channels."""
    words = message(alert, "zh", ZONE)
    return [
        Arrival(FEISHU, alert.at, (alert.id,), {"card": card(words, "2.0")}),
        Arrival(WEBHOOK, alert.at, (alert.id,), payload(alert, words, 1000)),
    ]


@pytest.fixture(scope="session")
def findings(recordings: Recordings, expected: Expected, rows: list[Row], decisions: list[Decision]) -> Findings:
    """A performance in which all went well."""
    model = recordings.model
    keys = (f"balance_at_sync:{model}", f"usage_at_sync:{model}", f"daily_usage:2026-08-13:{model}:ba0383d3")
    sight = Sight(prefix="test:", keys=keys, balance=1_726_526, usage_at_sync=323_474, counted=665_268)
    return Findings(
        rows=tuple(rows),
        arrivals=tuple(arrival for alert in expected.alerts for arrival in arrivals(alert)),
        key=f"test:decision:model:{model}",
        stored=decisions[-1],
        sight=sight,
        held=tuple((refusal, decisions[1]) for refusal in recordings.refusals),
        faults=(),
    )


@pytest.fixture
def printed() -> Printed:
    """Prints to a console of so many columns; the lines."""

    def lines(*parts: RenderableType, width: int = 80) -> list[str]:
        console = Console(width=width, file=StringIO(), force_terminal=False, legacy_windows=False)
        with console.capture() as captured:
            console.print(*parts, sep="\n")
        return captured.get().splitlines()

    return lines
