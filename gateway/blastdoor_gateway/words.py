"""What is said to people: the sentence behind a refusal, and the log lines that older gateways wrote."""

from __future__ import annotations

from collections.abc import Mapping

from blastdoor_gateway.money import NANO

SENTENCES = {
    "request-id-reused": "the request id has been used and settled before",
    "unknown-schema": "the decision about {scope} was written by a newer engine: it is not guessed at",
    "damaged-decision": "the decision about {scope} cannot be read: it is not guessed at",
    "per-ip": "too many calls from this address",
    "per-user": "too many calls of this user",
    "daily-budget": "tenant {tenant} has used its tokens of the day ({used}+{reserve}/{limit})",
    "monthly-budget": "tenant {tenant} has used its tokens of the month ({used}+{reserve}/{limit})",
    "tenant-budget": "tenant {tenant} has used its tokens ({used}+{reserve}/{limit})",
    "model-limit": "{model} has reached its limit ({used}+{reserve}/{limit})",
    "no-decision": "nothing has been decided about {model}: refused until the engine knows it",
    "engine-silent": "the engine has been silent for too long: refused until it decides again",
    "daily-spend": "the money of the day is spent ({used}/{limit})",
    "redis-unreachable": "limits cannot be checked: {cause}",
}


def sentence(rule: str, told: str, numbers: Mapping[str, str], names: Mapping[str, object]) -> str:
    """Why: the engine's own words, else ours."""
    if told or rule not in SENTENCES:
        return told or rule
    money = rule == "daily-spend"
    written = {
        name: _money(numbers[name]) if money else _grouped(numbers[name])
        for name in ("used", "limit")
        if name in numbers
    }
    return SENTENCES[rule].format_map({"scope": numbers.get("scope", "")} | dict(names) | written)


def usage_line(model: str, key_hash: str, tokens: int, today: int, balance: int, limit: int | None) -> str:
    """`📊 [Usage] MODEL:HASH: +38083 (Today: 1,279,904 | BalAtSync: 1,558,307 | Limit: 2,000,000)`."""
    shown = "-" if limit is None else f"{limit:,}"
    return f"📊 [Usage] {model}:{key_hash}: +{tokens} (Today: {today:,} | BalAtSync: {balance:,} | Limit: {shown})"


def model_line(model: str, used: str, reserve: int, limit: str) -> str:
    """`🚫 [PRE-BLOCK] MODEL daily limit reached (1,696,135+16/296,869)`."""
    return f"🚫 [PRE-BLOCK] {model} daily limit reached ({_grouped(used)}+{reserve:,}/{_grouped(limit)})"


def tenant_line(tenant: str, limit: str) -> str:
    """In the words that operators search for."""
    return f"🚫 [防爆门触发] 租户 [{tenant}] 今日 Token 配额 ({limit}) 已用尽，已阻断调用！"


def _grouped(number: str) -> str:
    return f"{max(0, int(number)):,}"


def _money(nano: str) -> str:
    return f"{int(nano) / NANO:.4f}"
