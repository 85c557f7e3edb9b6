"""docs/metrics.md: every metric of every process, from the code that exports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from blastdoor_gateway.metrics import PrometheusObserver
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from streams.metrics import Metrics
from streams.poll.metrics import PollMetrics

HEAD = """# Metrics

Made by `make dashboards` from the code that exports them; do not edit.

Every process answers `GET /metrics` at its HTTP address: the worker at 127.0.0.1:6066, the poller at 127.0.0.1:6076
(`BLASTDOOR_HTTP`). A gate counts into the Prometheus registry of the process that it lives in, where
`blastdoor-gateway[prometheus]` is installed; that process serves them.

- What is unknown is absent, never zero. Label values known beforehand exist from the start, so the rate of a failure
  that never happened is 0.
- No label grows without bound. Of models the first 500 of a worker are shown, the rest of the refusals as `(other)`;
  of tenants the 50 of each worker that use most. Of what tenants used today (`blastdoor_usage_…`) 20 tenants of each
  worker and 20 departments, knowledge bases and users of each have names; the others are `(other)`, so every sum is
  whole. Names are 64 characters at most, on one line; what had to be changed ends in a hash. Users are shown only with
  `--user-metrics on` ([why](security.md#names-in-metrics)). Addresses are no labels, nor are the readings behind a
  decision: their ids stand in the decision itself (`blastdoor explain`).
- Of several workers each shows the partitions and scopes that it owns. Sum over them; a model has one owner at a time.
- A metric decides nothing. When Prometheus is away, limits hold as before.
"""


class Line(NamedTuple):
    """A metric as the page shows it."""

    name: str
    kind: str
    unit: str
    labels: str
    meaning: str


UNITS = {
    "timestamp_seconds": "Unix time in s",
    "seconds": "s",
    "tokens": "tokens",
    "tokens_per_day": "tokens a day",
    "records": "records",
    "packages": "packages",
    "money": "the policy's currency",
}
PROCESSES = (
    ("The worker", Metrics),
    ("The poller", PollMetrics),
    ("The gate", PrometheusObserver),
)


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_section(title, lines(process)) for title, process in PROCESSES)


def lines(process: Any) -> list[Line]:
    """The metrics of a process, by name."""
    return sorted(_line(metric) for metric in _metrics(process(CollectorRegistry())))


def _metrics(holder: Any) -> Iterator[MetricWrapperBase]:
    return (value for value in vars(holder).values() if isinstance(value, MetricWrapperBase))


def _line(metric: MetricWrapperBase) -> Line:
    (family,) = metric.describe()
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = ", ".join(f"`{label}`" for label in metric._labelnames)
    return Line(name, family.type, _unit(family.name, family.type), labels, family.documentation)


def _unit(name: str, kind: str) -> str:
    found = [unit for ending, unit in UNITS.items() if name.endswith(f"_{ending}")]
    return found[0] if found else "count" if kind == "counter" else "number"


def _section(title: str, found: list[Line]) -> str:
    rows = "".join(
        f"| `{line.name}` | {line.kind} | {line.unit} | {line.labels} | {line.meaning} |\n" for line in found
    )
    return f"\n## {title}\n\n| metric | kind | unit | labels | meaning |\n|---|---|---|---|---|\n{rows}"
