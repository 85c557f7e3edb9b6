"""What is held does not grow with what was counted."""

from __future__ import annotations

import gc
import tracemalloc

from tests.faults.memory import Chain, curve


def test_rows_stop_growing_after_the_first_days() -> None:
    """Twenty days of fifty models and fifty tenants: from the day on at which the first is dropped, also by the
    roll-ups, as much is held as before."""
    sizes = list(curve(40_000, stretches=10, tenants=50))
    assert len({size.books for size in sizes[1:]}) == 1
    settled = [(size.rows, size.tables) for size in sizes[8:]]
    assert max(settled) <= (sizes[7].rows * 1.1, sizes[7].tables * 1.1)


def test_memory_stops_growing_after_the_first_days() -> None:
    """Ten more days add nothing that counts: what a scope holds is bounded by open days, not by days gone by."""
    chain = Chain(models=8, tenants=30, a_day=80)
    (metered,) = chain.meter._partitions.values()
    metered.meter.duplicates.window = 200
    tracemalloc.start()
    try:
        held = []
        for days in (18, 10):
            chain.run(80 * days)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert held[1] <= held[0] * 1.1
