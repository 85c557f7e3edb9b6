"""What a finished call used, from what LiteLLM logs of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blastdoor_gateway.litellm.call import mapping_of, text_of
from blastdoor_gateway.money import Tokens

MOST = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """`tokens` None: what was logged cannot be believed, the reservation has to do. A cache hit used none."""

    tokens: Tokens | None
    status: str = "success"
    cache_hit: bool = False
    estimated: bool = False
    department: str = ""
    knowledge_base: str = ""


def used_of(kwargs: Mapping[str, Any]) -> Used:
    """From the arguments of a logging hook. A client that went away left guessed tokens."""
    payload = mapping_of(kwargs.get("standard_logging_object"))
    metadata = mapping_of(payload.get("metadata"))
    told = mapping_of(metadata.get("requester_metadata"))
    gone = mapping_of(payload.get("error_information")).get("error_class") == "ClientDisconnected"
    return Used(
        tokens=_tokens(payload, metadata),
        status=text_of(payload.get("status")) or "success",
        cache_hit=payload.get("cache_hit") is True,
        estimated=gone,
        department=text_of(told.get("department")),
        knowledge_base=text_of(told.get("knowledge_base")),
    )


def _tokens(payload: Mapping[str, Any], metadata: Mapping[str, Any]) -> Tokens | None:
    prompt, completion = _count(payload.get("prompt_tokens")), _count(payload.get("completion_tokens"))
    total = _count(payload.get("total_tokens"))
    if prompt is None or completion is None or total is None:
        return None
    details = mapping_of(mapping_of(metadata.get("usage_object")).get("prompt_tokens_details"))
    cached = min(prompt, _count(details.get("cached_tokens")) or 0)
    return Tokens(max(total, prompt + completion), prompt, completion, cached)


def _count(found: Any) -> int | None:
    """A number of tokens; absent is 0, anything else is not to be believed."""
    if found is None:
        return 0
    whole = isinstance(found, int) and not isinstance(found, bool)
    return found if whole and 0 <= found <= MOST else None
