"""LiteLLM's StandardLoggingPayload as usage. What was seen of it, and what follows:

* `id` is the provider's and not unique: `litellm_call_id` is the event's id.
* A cache hit repeats the tokens of the first answer, which nobody is charged for: a request without tokens.
* A refusal of ours comes back as a failure: no usage, nothing is made of it.
* A client that went away gives a success with guessed tokens: marked as estimated.
* `model` is the deployment, `model_group` the public name that gateways ask for: the group counts, the deployment where
  there is none.
* `end_user` is whatever the client wrote into its request. A tenant is therefore the team (else the organisation) of
  the key, never the end user; a user is the key's user, and the end user only where the key has none.
* `requester_metadata` is the client's as well: department and knowledge base of it are good enough for a roll-up, never
  for a limit. Nothing a client can write makes an event unusable, or it could escape the meter.
* Cached tokens are a part of the prompt: more of them than that is the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

import msgspec
from msgspec import Struct

from rules.intake.fields import (
    LONGEST_NAME,
    MOST_TOKENS,
    Name,
    Text,
    Tokens,
    Unfit,
    When,
    check_name,
    has_control,
    instant,
)
from rules.records import Reason, Usage

# How the proxy prints the detail of our HTTPException(429, detail={"error": "blastdoor: …"}).
_OWN_REFUSAL = re.compile(r"""^429: \{'error': ['"]blastdoor""")


class _Metadata(Struct):
    user_api_key_hash: Any = None
    user_api_key_user_id: Any = None
    user_api_key_team_id: Any = None
    user_api_key_team_alias: Any = None
    user_api_key_org_id: Any = None
    user_api_key_end_user_id: Any = None
    requester_metadata: Any = None
    usage_object: Any = None


class _ErrorInformation(Struct):
    error_class: Any = None


class _Payload(Struct):
    litellm_call_id: Name
    endTime: When  # noqa: N815
    model: Text | None = None
    model_group: Text | None = None
    status: Text | None = None
    total_tokens: Tokens | None = None
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    cache_hit: bool | None = None
    end_user: Any = None
    error_str: Any = None
    error_information: _ErrorInformation | None = None
    metadata: _Metadata | None = None


# Any escape of a JSON string, one at a time; the group is half a surrogate pair.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

_decode = msgspec.json.Decoder(_Payload).decode


def is_litellm(keys: Mapping[str, object]) -> bool:
    """Whether an object with these keys is LiteLLM's."""
    return "litellm_call_id" in keys or ("call_type" in keys and "endTime" in keys)


def mended(raw: bytes) -> bytes:
    """The payload without halves of surrogate pairs: other JSON writers let a client's through."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found["half"] else found[0], raw)


def litellm_usage(raw: bytes, zone: tzinfo) -> Usage | None:
    """The call of a payload, None for a refusal of ours. Raises Unfit and msgspec's errors."""
    payload = _decode(raw)
    prompt, completion = payload.prompt_tokens or 0, payload.completion_tokens or 0
    total = max(payload.total_tokens or 0, prompt + completion)
    if payload.status == "failure" and not total and _OWN_REFUSAL.match(_first(payload.error_str)):
        return None
    if total > MOST_TOKENS:
        raise Unfit(Reason.BAD_VALUE, f"prompt_tokens + completion_tokens: more than {MOST_TOKENS}")
    return _usage(payload, zone, (0, 0, 0) if payload.cache_hit else (total, prompt, completion))


def _usage(payload: _Payload, zone: tzinfo, tokens: tuple[int, int, int]) -> Usage:
    key = payload.metadata or _Metadata()
    told = key.requester_metadata if isinstance(key.requester_metadata, dict) else {}
    total, prompt, completion = tokens
    return Usage(
        id=_required("litellm_call_id", payload.litellm_call_id),
        at=instant("endTime", payload.endTime, zone),
        model=_required("model_group", payload.model_group or payload.model or ""),
        total_tokens=total,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=min(prompt, _cached(key.usage_object)),
        tenant=_first(key.user_api_key_team_id, key.user_api_key_team_alias, key.user_api_key_org_id),
        department=_first(told.get("department")),
        user=_first(key.user_api_key_user_id, key.user_api_key_end_user_id, payload.end_user),
        knowledge_base=_first(told.get("knowledge_base")),
        key_hash=_first(key.user_api_key_hash),
        status=payload.status or "success",
        cache_hit=bool(payload.cache_hit),
        estimated=_is_estimated(payload.error_information),
        source="litellm",
    )


def _required(field: str, name: str) -> str:
    if not name:
        raise Unfit(Reason.MISSING_FIELD, f"the required field `{field}` is missing")
    check_name(field, name)
    return name


def _cached(usage_object: Any) -> int:
    details = usage_object.get("prompt_tokens_details") if isinstance(usage_object, dict) else None
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return cached if type(cached) is int and cached > 0 else 0


def _is_estimated(error: _ErrorInformation | None) -> bool:
    return error is not None and error.error_class == "ClientDisconnected"


def _first(*told: Any) -> str:
    """The first of these that is text, made presentable: a client may write what it likes and is metered."""
    text = next((value for value in told if value and isinstance(value, str)), "")
    return "".join(character for character in text[:LONGEST_NAME] if not has_control(character))
