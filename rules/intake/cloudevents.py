"""CloudEvents as usage: OpenMeter's shape, and the `litellm_tokens` events that LiteLLM sends to OpenMeter.

An event is one of a kind by `source` and `id` together, so both make our id. OpenMeter counts each kind of token in an
event of its own (`data.tokens` with `data.type`), and may write numbers as text. The `subject` is the customer: our
tenant. `time` is optional in CloudEvents and required here, as it decides the day.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo

import msgspec
from msgspec import Struct

from rules.intake.fields import LONGEST_NAME, MOST_TOKENS, Name, Text, Unfit, When, check_name, excerpt, instant
from rules.records import Reason, Usage

Count = int | str | None


class _Data(Struct):
    model: Name
    type: Text | None = None
    tokens: Count = None
    prompt_tokens: Count = None
    completion_tokens: Count = None
    total_tokens: Count = None


class _Event(Struct):
    specversion: str
    id: Name
    source: Name
    type: Name
    time: When
    data: _Data
    subject: Text | None = None


_decode = msgspec.json.Decoder(_Event).decode


def is_cloud_event(keys: Mapping[str, object]) -> bool:
    """Whether an object with these keys is a CloudEvent."""
    return "specversion" in keys


def cloud_usage(raw: bytes, zone: tzinfo) -> Usage:
    """The usage of a CloudEvent. Raises Unfit and msgspec's errors."""
    event = _decode(raw)
    name = f"{event.source}/{event.id}"
    if len(name) > LONGEST_NAME:
        raise Unfit(Reason.BAD_VALUE, f"source and id: longer than {LONGEST_NAME} characters together")
    check_name("id", event.id)
    check_name("source", event.source)
    check_name("data.model", event.data.model)
    if event.subject:
        check_name("subject", event.subject)
    total, prompt, completion = _tokens(event.data)
    return Usage(
        id=name,
        at=instant("time", event.time, zone),
        model=event.data.model,
        total_tokens=total,
        prompt_tokens=prompt,
        completion_tokens=completion,
        tenant=event.subject or "",
        source=event.source,
    )


def _tokens(data: _Data) -> tuple[int, int, int]:
    """(total, prompt, completion)"""
    prompt, completion = (
        _count("prompt_tokens", data.prompt_tokens),
        _count("completion_tokens", data.completion_tokens),
    )
    total = _count("total_tokens", data.total_tokens)
    if data.tokens is not None:
        total = _count("tokens", data.tokens) or 0
        prompt = total if data.type in {"input", "system"} else 0
        completion = total if data.type == "output" else 0
    if total is None and (prompt is None or completion is None):
        raise Unfit(Reason.MISSING_FIELD, "the required field `data.tokens` (or `data.total_tokens`) is missing")
    prompt, completion = prompt or 0, completion or 0
    most = max(total or 0, prompt + completion)
    if most > MOST_TOKENS:
        raise Unfit(Reason.BAD_VALUE, f"data: more than {MOST_TOKENS} tokens")
    return most, prompt, completion


def _count(field: str, written: Count) -> int | None:
    if written is None:
        return None
    if isinstance(written, str):
        if not re.fullmatch(r"[0-9]{1,13}", written):
            raise Unfit(Reason.BAD_VALUE, f"data.{field}: {excerpt(written)} is not a whole number of tokens")
        written = int(written)
    if not 0 <= written <= MOST_TOKENS:
        raise Unfit(Reason.BAD_VALUE, f"data.{field}: not within 0 to {MOST_TOKENS}")
    return written
