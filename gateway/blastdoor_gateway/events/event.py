"""A usage event, as the engine reads it. It tells who used how much of what; never what was asked or answered."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from blastdoor_gateway.money import NO_TOKENS, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent:
    """One finished call. `ts`: its end as RFC 3339; it decides the day. `id`: the admission's request id."""

    id: str
    ts: str
    model: str
    tenant: str = ""
    department: str = ""
    user: str = ""
    knowledge_base: str = ""
    key_hash: str = ""
    tokens: Tokens = NO_TOKENS
    status: str = "success"
    cache_hit: bool = False  # answered from a cache: a request, no tokens
    estimated: bool = False
    source: str = "litellm"  # the gateway's name in the engine's policy

    def encode(self) -> bytes:
        """One JSON object."""
        told = {name: value for name, value in asdict(self).items() if name != "tokens"}
        counted = {
            "prompt_tokens": self.tokens.prompt,
            "completion_tokens": self.tokens.completion,
            "total_tokens": self.tokens.total,
            "cached_tokens": self.tokens.cached,
        }
        return json.dumps({"type": "usage", **told, **counted}, ensure_ascii=False, separators=(",", ":")).encode()
