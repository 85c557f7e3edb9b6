"""The gate's own metrics: the extra `prometheus`. All names are here, each with its meaning; no label is unbounded.

Label values are there from the start, so that a rate over a failure that never happened is 0, not absent.
"""

from __future__ import annotations

from typing import Any

from blastdoor_gateway.admission import Admission, Do, Layer, Outage, Outcome, Settlement
from blastdoor_gateway.observer import Observer

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)
LAYERS = ("none", *Layer)
CACHE_OUTCOMES = ("same", "near", "miss", "stored")
EVENT_OUTCOMES = ("sent", "failed", "dropped")


class PrometheusObserver(Observer):
    """Counts into a registry of prometheus_client, by default the one that LiteLLM serves, too."""

    def __init__(self, registry: Any = None) -> None:
        from prometheus_client import REGISTRY, Counter, Gauge, Histogram  # noqa: PLC0415  (an extra)

        into: Any = {"registry": REGISTRY if registry is None else registry}
        self._admissions = Counter(
            "blastdoor_gate_admissions_total",
            "Calls by what was done with them, by the layer that spoke, and whether Redis was asked (no: local).",
            ["action", "layer", "local"], **into,
        )  # fmt: skip
        self._observed = Counter(
            "blastdoor_gate_observed_refusals_total",
            "Calls let through that would have been refused.",
            ["layer"],
            **into,
        )
        self._seconds = Histogram(
            "blastdoor_gate_admission_seconds", "Time that admission took.", buckets=BUCKETS, **into
        )
        self._settled = Counter("blastdoor_gate_settlements_total", "Settlements by outcome.", ["outcome"], **into)
        self._tokens = Counter("blastdoor_gate_settled_tokens_total", "Tokens counted by this process.", **into)
        self._outages = Counter(
            "blastdoor_gate_redis_failures_total", "Questions Redis did not answer, by cause.", ["cause"], **into
        )
        self._breaker = Gauge("blastdoor_gate_breaker_open", "1 while calls are kept from Redis.", **into)
        self._backlog = Gauge("blastdoor_gate_backlog", "Settlements that Redis has not taken yet.", **into)
        self._silent = Gauge("blastdoor_gate_engine_silent", "1 while the engine's heartbeat is not fresh.", **into)
        self._unpriced = Counter("blastdoor_gate_unpriced_total", "Calls reckoned at the assumed price.", **into)
        self._cache = Counter(
            "blastdoor_gate_cache_total", "Questions by what the answer cache had (same, near: a call saved).",
            ["outcome"], **into,
        )  # fmt: skip
        self._events = Counter(
            "blastdoor_gate_events_total", "Usage events by what became of them.", ["outcome"], **into
        )
        self._begin()

    def admitted(self, admission: Admission, seconds: float) -> None:
        layer = "none" if admission.layer is None else admission.layer.value
        local = "yes" if admission.local else "no"
        self._admissions.labels(admission.action.value, layer, local).inc()
        if admission.observed:
            self._observed.labels(layer).inc()
        self._seconds.observe(seconds)

    def settled(self, settlement: Settlement) -> None:
        self._settled.labels(settlement.outcome.value).inc()
        self._tokens.inc(settlement.tokens)

    def outage(self, cause: Outage) -> None:
        self._outages.labels(cause.value).inc()

    def breaker(self, *, is_open: bool) -> None:
        self._breaker.set(is_open)

    def backlog(self, waiting: int) -> None:
        self._backlog.set(waiting)

    def unpriced(self, model: str) -> None:  # noqa: ARG002  (no label: anybody can make up a name)
        self._unpriced.inc()

    def engine(self, *, is_silent: bool) -> None:
        self._silent.set(is_silent)

    def cache(self, outcome: str) -> None:
        self._cache.labels(outcome).inc()

    def event(self, outcome: str) -> None:
        self._events.labels(outcome).inc()

    def _begin(self) -> None:
        for action, layer in ((Do.PROCEED, "none"), *((Do.REJECT, layer.value) for layer in Layer)):
            for local in ("no", "yes"):
                self._admissions.labels(action.value, layer, local)
        each_of = (
            (self._observed, Layer), (self._settled, Outcome), (self._outages, Outage),
            (self._cache, CACHE_OUTCOMES), (self._events, EVENT_OUTCOMES),
        )  # fmt: skip
        for metric, values in each_of:
            for value in values:
                metric.labels(str(value))


def observer_or_none() -> Observer | None:
    """Metrics where prometheus_client is installed."""
    try:
        return PrometheusObserver()
    except ImportError:
        return None
