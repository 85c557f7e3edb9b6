"""An event's way through meter and judge: time and trace arrive with the decision, and change nothing in it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from blastdoor_gateway.contract import Decision

from rules.policy import Policy
from streams.facts_topic import FactsTopic
from streams.judge import JudgeStep
from streams.meter import Meter
from streams.metrics import Metrics
from streams.policy_file import default_rulebook, load_policy
from streams.spans import Spans, open_spans
from streams.topics import Topics
from streams.trails import TRACE
from tests.streams.partition import Partition

NOON = 1_786_593_600_000
TOPICS = Topics("t")
TRACEPARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@dataclass
class Desk:
    """A publisher that remembers."""

    offered: list[tuple[Decision, int | None]] = field(default_factory=list)

    def offer(self, decision: Decision, _legacy: object, sent: int | None) -> None:
        self.offered.append((decision, sent))


def usage(number: int, at: int) -> bytes:
    return json.dumps({"type": "usage", "id": str(number), "ts": at / 1000, "model": "m", "total_tokens": 5}).encode()


def way(*records: tuple[bytes, int, bool], traces: bool, spans: Spans | None = None) -> tuple[Desk, list[Any]]:
    """What is offered and what decisions go onto the topics; a record is (value, sent, traced)."""
    policy: Policy = load_policy(None)
    desk: Any = Desk()
    metered = Partition(
        lambda: Meter(
            TOPICS, FactsTopic(TOPICS.facts, 1), policy, Metrics(), event_clock=False, clock=lambda: NOON,
            traces=traces,
        )
    )  # fmt: skip
    judged = Partition(
        lambda: JudgeStep(
            TOPICS, 1, policy, default_rulebook(policy), desk, Metrics(), event_clock=False, clock=lambda: NOON,
            spans=spans,
        )
    )  # fmt: skip
    for value, sent, traced in records:
        metered.append(value, sent, headers=((TRACE, TRACEPARENT),) if traced else ())
    metered.handle(len(records))
    metered.flush(NOON)
    for output in metered.sent:
        if output.topic == TOPICS.facts:
            judged.append(output.value or b"", NOON, output.key, output.headers)
    judged.handle(len(judged.log))
    judged.flush(NOON)
    return desk, [output for output in judged.sent if output.topic in {TOPICS.decisions, TOPICS.decisions_latest}]


def test_a_decision_knows_when_its_oldest_record_was_sent() -> None:
    """And carries the trace of the call behind it on both topics of decisions."""
    desk, told = way((usage(1, NOON), NOON - 40, False), (usage(2, NOON), NOON - 10, True), traces=True)
    ((decision, sent),) = desk.offered
    assert (decision.used, sent) == (10, NOON - 40)
    assert [output.headers for output in told] == [((TRACE, TRACEPARENT),)] * 2


def test_a_decision_is_a_span_of_the_call_that_led_to_it() -> None:
    """Where the SDK is: a child of the call's span, from the sending of the record on; what goes on is its own name."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    kept, provider = export.InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    _, told = way((usage(1, NOON), NOON - 10, True), traces=True, spans=Spans(provider))
    (span,) = kept.get_finished_spans()
    trace_id, parent = TRACEPARENT.split(b"-")[1:3]
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (trace_id.decode(), parent.decode())
    assert span.start_time == (NOON - 10) * 1_000_000
    assert span.attributes["blastdoor.scope"] == "model:m"
    ((_, header),) = told[0].headers
    assert header == f"00-{trace_id.decode()}-{span.context.span_id:016x}-01".encode()


def test_without_the_sdk_no_spans_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where nobody wants them; traces are handed on as they came."""
    assert open_spans(wanted=False) is None
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert open_spans(wanted=True) is None


@pytest.mark.parametrize("traces", [True, False])
def test_traces_are_off_unless_asked_for(traces: bool) -> None:
    """The same decision with and without."""
    desk, told = way((usage(1, NOON), NOON, True), traces=traces)
    ((decision, _),) = desk.offered
    assert decision.used == 5
    assert {bool(output.headers) for output in told} == {traces}
