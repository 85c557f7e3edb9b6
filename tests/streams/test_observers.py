"""What the delivery tells becomes metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from streams.metrics import Metrics
from streams.observers import DeliveryMetrics


def test_partitions_and_rebalances_are_told() -> None:
    """How often partitions moved, and how many are held; what is not held any more is told by its new owner alone."""
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    observer = DeliveryMetrics(metrics)
    observer.rebalanced(0, 2)
    for partition in (0, 1):
        observer.assigned("meter", partition, 3, False, 0.1)
        metrics.position.labels(step="meter", partition=str(partition)).set(7)
    observer.rebalanced(1, 0)
    observer.revoked("meter", 0)
    assert registry.get_sample_value("blastdoor_rebalances_total") == 2
    assert registry.get_sample_value("blastdoor_partitions", {"step": "meter"}) == 1
    assert registry.get_sample_value("blastdoor_position", {"step": "meter", "partition": "0"}) is None
    assert registry.get_sample_value("blastdoor_position", {"step": "meter", "partition": "1"}) == 7
