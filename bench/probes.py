"""Probes: events of models that get nothing else, so that each can be followed to its decision."""

from __future__ import annotations

from rules.intake.wire import encode
from rules.records import Usage

MODELS = 10
A_SECOND = 50

PREFIX = "probe-"


def model_of(number: int) -> str:
    """The model of a probe. It comes round only after a fifth of a second: seldom does a probe wait for another one."""
    return f"{PREFIX}{number % MODELS}"


def used_after(number: int) -> int:
    """What the probe's model has used once the probe is counted."""
    return number // MODELS + 1


def probe(number: int, at: float) -> tuple[bytes, bytes]:
    """Key and value; one token each. `at` is in seconds."""
    usage = Usage(id=f"{PREFIX}{number}", at=int(at * 1000), model=model_of(number), total_tokens=1, source="gate")
    return usage.id.encode(), encode(usage)
