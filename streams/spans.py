"""Decisions as spans for OpenTelemetry, where the extra `otel` is installed and traces are on. Else trace contexts are
handed on as they came.

Whom spans are sent to is said by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_ENDPOINT` and the like). Sending is
done by a thread of the SDK; when nobody takes them, spans are dropped and nothing waits, not even the process's end.
"""

from __future__ import annotations

from typing import Any

from rules.ruling import Ruling
from streams.trails import TRACE, Trail

NAME = "blastdoor decide"


class Spans:
    """Makes a span of each decision that a traced call led to."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415  (an extra)
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._tracer = provider.get_tracer("blastdoor")
        self._propagator = TraceContextTextMapPropagator()
        self._inside = set_span_in_context

    def decided(self, trail: Trail, ruling: Ruling) -> Trail:
        """The span of a decision, from the sending of its oldest record until now; its trace is what goes on."""
        if trail.trace is None:
            return trail
        span = self._tracer.start_span(
            NAME,
            context=self._propagator.extract({TRACE: trail.trace.decode()}),
            start_time=None if trail.sent is None else trail.sent * 1_000_000,
            attributes={
                "blastdoor.scope": ruling.scope,
                "blastdoor.action": ruling.action,
                "blastdoor.rule": ruling.rule,
                "blastdoor.reason": ruling.reason,
            },
        )
        span.end()
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, self._inside(span))
        return trail._replace(trace=carrier[TRACE].encode())


def open_spans(wanted: bool) -> Spans | None:
    """Spans on their way to where OpenTelemetry's variables point; None where they are not wanted or not installed."""
    if not wanted:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  (an extra)
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        return None
    provider = TracerProvider(resource=Resource.create({"service.name": "blastdoor"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Spans(provider)
