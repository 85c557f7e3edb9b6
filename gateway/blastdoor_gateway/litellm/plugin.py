"""The class that LiteLLM calls. Everything it does is in `hooks.py`."""
# ruff: noqa: ARG002  (LiteLLM passes all of these by name)

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from blastdoor_gateway.events.build import outbox_from
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.litellm.hooks import Hooks
from blastdoor_gateway.litellm.refusal import refusal
from blastdoor_gateway.metrics import observer_or_none
from blastdoor_gateway.self_test import report
from blastdoor_gateway.settings import Settings
from blastdoor_gateway.sync_guard import SyncGuard

log = logging.getLogger("blastdoor.gate")


class Plugin(CustomLogger):  # type: ignore[misc]
    """LiteLLM looks for these methods in the class itself, so they are not inherited."""

    def __init__(self, hooks: Hooks) -> None:
        super().__init__()
        self.hooks = hooks

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> None:
        """Raises the 429 of a refused call."""
        admission = await self.hooks.admit(user_api_key_dict, data, str(call_type))
        if not admission.allowed:
            raise refusal(admission)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        await _quietly(self.hooks.succeeded(kwargs))

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        await _quietly(self.hooks.attempt_failed(kwargs))

    async def async_post_call_failure_hook(
        self, request_data: Any, original_exception: Any, user_api_key_dict: Any, traceback_str: str | None = None
    ) -> None:
        await _quietly(self.hooks.failed(request_data))


async def _quietly(settling: Awaitable[None]) -> None:
    """A mistake of ours after the call hurts nobody's answer; the reservation ends with its lease."""
    try:
        await settling
    except Exception:
        log.exception("settling failed by a mistake of the gate")


def _self_test(settings: Settings) -> None:
    """Before there is a loop to wait in, so by a guard of its own that blocks for some milliseconds."""
    guard = SyncGuard.connect(settings.redis, settings.gate)
    try:
        report(guard.self_test())
    finally:
        guard.close()


def make_plugin(settings: Settings) -> Plugin:
    """The plugin with its guard and its way to the engine. Raises ConfigError for mistakes in the configuration, and
    SelfTestError for a layer that holds nothing: the proxy then does not start."""
    observer = observer_or_none()
    _self_test(settings)
    guard = Guard.connect(settings.redis, settings.gate, observer=observer)
    return Plugin(Hooks(guard, outbox_from(settings, observer), settings.source))
