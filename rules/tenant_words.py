"""The line that operators of tenant quotas search their logs for."""

from __future__ import annotations

from rules.ruling import Ruling

_WINDOWS = {"day": "今日", "month": "本月"}
_REFUSING = frozenset({"block", "degrade"})


def refusal_line(ruling: Ruling) -> str | None:
    """The line, if the ruling refuses a tenant for its budget."""
    kind, _, tenant = ruling.scope.partition(":")
    if kind != "tenant" or ruling.action not in _REFUSING or ruling.wall not in _WINDOWS:
        return None
    return f"🚫 [防爆门触发] 租户 [{tenant}] {_WINDOWS[ruling.wall]} Token 配额 ({ruling.limit}) 已用尽，已阻断调用！"
