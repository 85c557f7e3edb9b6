"""What one event costs in the core, counted in steps of the interpreter: the same on any machine, however busy it is.

A step is one bytecode instruction of ours; what C code does below it is not counted. The limits leave a fifth of room
over what was needed when they were set; whoever needs more should know why.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bench.workloads import WORKLOADS
from rules.intake.reader import Intake
from rules.meter import PartitionMeter
from rules.policy import Policy
from rules.sheet_keeping import SheetKeeper

EVENTS = 2_000
BATCH = 500
TENANTS = ("rules.tenant_sheets", "rules.open_sheet", "rules.cells")
NOON = 1_786_593_600_000


def steps(work: Callable[[], object]) -> Counter[str]:
    """Bytecode instructions executed in modules of `rules`, by module."""
    counted: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("rules."):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            counted[module] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


@pytest.fixture(params=sorted(WORKLOADS))
def raws(request: pytest.FixtureRequest) -> list[bytes]:
    workload = WORKLOADS[request.param]()
    return [workload.event(workload.original(number), NOON + number)[1] for number in range(EVENTS)]


def batches(items: list[Any]) -> list[list[Any]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def test_reading_an_event_takes_few_steps(raws: list[bytes]) -> None:
    """What the decoder makes is checked, and nothing else is made."""
    intake = Intake(ZoneInfo("Asia/Shanghai"))
    intake.read_usage(raws)  # what is learned once is learned
    spent = steps(lambda: [intake.read_usage(batch) for batch in batches(raws)])
    assert spent.total() / EVENTS < 68, spent


def test_folding_an_event_takes_few_steps(raws: list[bytes]) -> None:
    """The sums cost a step or two for each field, not a call. What is the tenants' is held down by itself."""
    intake, meter = Intake(ZoneInfo("Asia/Shanghai")), PartitionMeter(0, Policy())
    found = [intake.read_usage(batch) for batch in batches(raws)]

    def fold() -> None:
        for start, calls in zip(range(0, EVENTS, BATCH), found, strict=True):
            assert calls is not None
            meter.fold_batch(range(start, start + BATCH), calls.calls, calls.ats, calls.ats)
            meter.duplicates.trim(start + BATCH)

    meter.tenants.journal = []  # as in a worker
    spent = steps(fold)
    assert meter.counts.counted + meter.counts.duplicates == EVENTS
    of_tenants = sum(spent.pop(module, 0) for module in TENANTS)
    assert spent.total() / EVENTS < 190, spent
    assert of_tenants / EVENTS < 155, of_tenants


def test_telling_of_tenants_takes_steps_by_what_changed() -> None:
    """With 5,000 tenants kept, a flush costs by the calls since the last one, not by what the rows hold."""
    intake, meter = Intake(ZoneInfo("Asia/Shanghai")), PartitionMeter(0, Policy())
    keeper, workload = SheetKeeper(0, meter.tenants, 8), WORKLOADS["B"]()

    def fold(numbers: range) -> None:
        calls = intake.read_usage([workload.event(number, NOON)[1] for number in numbers])
        assert calls is not None
        meter.fold_batch(numbers, calls.calls, calls.ats, calls.ats)

    fold(range(20_000))
    while keeper.flush().parts:
        pass
    fold(range(20_000, 20_010))
    assert steps(keeper.flush).total() < 50_000
    fold(range(20_010, 22_010))
    assert steps(keeper.flush).total() / EVENTS < 90
