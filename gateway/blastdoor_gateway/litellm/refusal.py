"""A refusal as LiteLLM passes it to the client, streaming or not."""

from __future__ import annotations

import math
from typing import Any

from blastdoor_gateway.admission import Admission

MARK = "blastdoor: "
"""What every refusal begins with: by it the engine knows our own refusals among logged failures."""


def detail_of(admission: Admission) -> dict[str, Any]:
    """What the client is told: why, by which rule, and whether a static answer may be given instead."""
    return {
        "error": f"{MARK}{admission.reason}",
        "rule": admission.rule,
        "layer": None if admission.layer is None else admission.layer.value,
        "action": admission.action.value,
    }


def headers_of(admission: Admission) -> dict[str, str]:
    """When to come back, in whole seconds."""
    wait = admission.retry_after
    return {} if wait is None else {"Retry-After": str(max(1, math.ceil(wait)))}


def refusal(admission: Admission) -> Exception:
    """The exception that LiteLLM turns into a 429."""
    from fastapi import HTTPException  # noqa: PLC0415  (part of the proxy)

    raised: Exception = HTTPException(429, detail=detail_of(admission), headers=headers_of(admission))
    return raised
