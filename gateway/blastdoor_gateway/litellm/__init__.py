"""The plugin for LiteLLM's proxy. In its config.yaml:

    litellm_settings:
      callbacks: ["blastdoor_gateway.litellm.handler"]

The handler is made when it is first asked for, from the environment (`settings.py`). To import this package does
nothing.
"""

from __future__ import annotations

from typing import Any

_made: list[Any] = []


def __getattr__(name: str) -> Any:
    if name != "handler":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    if not _made:
        from blastdoor_gateway.litellm.plugin import make_plugin  # noqa: PLC0415  (needs litellm)
        from blastdoor_gateway.settings import Settings  # noqa: PLC0415

        _made.append(make_plugin(Settings.from_environment()))
    return _made[0]
