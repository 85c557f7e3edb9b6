"""What the proxy knows of a call before it is made, as a request to the gate.

Rule 1: who is calling is what the proxy found out about the key (team, organisation, the key's user), as the engine has
it. What the client wrote (`user`, `metadata`) names a user only where the key names none, and never a tenant.
Rule 2: nothing a client can send raises, and nothing of it leaves the process but names and lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from blastdoor_gateway.address import Network, client_address
from blastdoor_gateway.admission import Request
from blastdoor_gateway.config import Gate
from blastdoor_gateway.estimate import estimate_of

LONGEST_NAME = 512
BOUNDS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
PROMPTS = ("messages", "input", "prompt", "instructions", "system", "tools", "documents", "query")
NO_ANSWER = {"aembedding", "embedding", "arerank", "rerank", "amoderation", "moderation"}
OPAQUE = {"image_url", "input_image", "image", "input_audio", "audio", "file", "input_file", "video_url"}
OPAQUE_CHARACTERS = 2_000
"""A picture or sound counts like so many characters: how long its encoding is says nothing about tokens."""
MOST_CHARACTERS = 4_000_000
DEEPEST = 12


def request_from(gate: Gate, proxies: Sequence[Network], key: Any, data: Mapping[str, Any], call_type: str) -> Request:
    """The request of a call. Its id is our own: a client may choose LiteLLM's."""
    answers = _whole(data.get("n")) or 1
    bound = next((found for name in BOUNDS if (found := _whole(data.get(name))) is not None), None)
    answer = 0 if call_type in NO_ANSWER else None if bound is None else bound * answers
    characters = sum(characters_in(data.get(name)) for name in PROMPTS)
    return Request(
        request_id=uuid4().hex,
        model=gate.canonical(text_of(data.get("model")) or "unknown"),
        tenant=tenant_of(lambda name: getattr(key, name, None)),
        user=text_of(getattr(key, "user_id", None), getattr(key, "end_user_id", None), data.get("user")),
        address=_address(data, proxies),
        tokens=estimate_of(characters, answer, gate.most_estimate),
        key_hash=text_of(getattr(key, "api_key", None))[:8] or "none",
    )


def tenant_of(field: Any) -> str:
    """The team of a key, else its organisation; `field` looks up one by name."""
    return text_of(field("team_id"), field("team_alias"), field("org_id"))


def text_of(*told: Any) -> str:
    """The first of these that is text, without control characters."""
    found = next((value for value in told if value and isinstance(value, str)), "")
    return "".join(letter for letter in found[:LONGEST_NAME] if ord(letter) >= 32 and ord(letter) != 127)


def characters_in(content: Any, depth: int = 0) -> int:
    """How many characters of text are in messages, inputs or prompts of whatever shape. Numbers are tokens."""
    if isinstance(content, str):
        return min(len(content), MOST_CHARACTERS)
    if depth > DEEPEST or content is None:
        return 0
    if isinstance(content, Mapping):
        if content.get("type") in OPAQUE:
            return OPAQUE_CHARACTERS
        return sum(characters_in(value, depth + 1) for name, value in content.items() if name not in {"role", "type"})
    if isinstance(content, Sequence):
        return sum(characters_in(each, depth + 1) for each in content)
    return 2 if isinstance(content, int) else 0


def _address(data: Mapping[str, Any], proxies: Sequence[Network]) -> str:
    metadata = mapping_of(data.get("metadata")) or mapping_of(data.get("litellm_metadata"))
    headers = mapping_of(mapping_of(data.get("proxy_server_request")).get("headers"))
    forwarded = next((value for name, value in headers.items() if str(name).lower() == "x-forwarded-for"), "")
    return client_address(text_of(metadata.get("requester_ip_address")), text_of(forwarded), proxies)


def mapping_of(found: Any) -> Mapping[str, Any]:
    """What is no mapping is an empty one."""
    return found if isinstance(found, Mapping) else {}


def _whole(found: Any) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
