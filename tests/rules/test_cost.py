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

EVENTS = 2_000
BATCH = 500
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
    """The sums cost a step or two for each field and dimension, not a call: two fifths of it are the tenants'."""
    intake, meter = Intake(ZoneInfo("Asia/Shanghai")), PartitionMeter(0, Policy())
    found = [intake.read_usage(batch) for batch in batches(raws)]

    def fold() -> None:
        for start, calls in zip(range(0, EVENTS, BATCH), found, strict=True):
            assert calls is not None
            meter.fold_batch(range(start, start + BATCH), calls.calls, calls.ats, calls.ats)
            meter.duplicates.trim(start + BATCH)

    spent = steps(fold)
    assert meter.counts.counted + meter.counts.duplicates == EVENTS
    assert spent.total() / EVENTS < 300, spent
