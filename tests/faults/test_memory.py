"""What is held does not grow with what was counted."""

from __future__ import annotations

from tests.faults.memory import curve


def test_rows_stop_growing_after_the_first_days() -> None:
    """Twenty days of fifty models and fifty tenants: from the day on at which the first is dropped, as much is held as
    before."""
    sizes = list(curve(40_000, stretches=10, tenants=50))
    assert len({size.books for size in sizes[1:]}) == 1
    settled = [size.rows for size in sizes[4:]]
    assert max(settled) <= sizes[3].rows * 1.1
