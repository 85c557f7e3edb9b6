"""All examinations, one after the other; those that cannot be made say so."""

from __future__ import annotations

from streams.doctor import kafka, policy, redis, sources
from streams.doctor.finding import Finding
from streams.settings import Settings


async def examine(settings: Settings, *, ask: bool) -> list[Finding]:
    """Every finding. `ask`: also ask providers for balances, and reach for the channels."""
    found_policy, findings = policy.examine(settings)
    findings += await kafka.examine(settings)
    findings += await sources.examine(settings, found_policy)
    findings += await redis.examine(settings)
    if ask:
        findings += await policy.reach(found_policy)
        findings += await policy.ask(found_policy, settings.policy)
    return findings
