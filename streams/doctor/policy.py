"""Looks at the policy, at whom it names, and whether they can be reached."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from rules.policy import Channel, Mode, Policy
from rules.providers.answer import Failure, Trouble
from streams.doctor.finding import Finding, error, fine, note, warning
from streams.policy_file import PolicyError, credentials, default_rulebook, load_policy, load_references
from streams.poll.build import build_provider
from streams.poll.provider import MissingExtraError, Surroundings
from streams.settings import Settings
from streams.wall_clock import wall_clock

PART = "policy"
REACH_SECONDS = 5.0


def examine(settings: Settings) -> tuple[Policy, list[Finding]]:
    """The policy as far as it can be read, and what is to be said of it."""
    if settings.policy is None:
        found = [note(PART, "no policy: the built-in defaults hold", "name one with BLASTDOOR_POLICY")]
        return Policy(), [*found, *_holes(Policy())]
    try:
        policy = load_policy(settings.policy)
        default_rulebook(policy)
    except PolicyError as mistakes:
        advice = "repair it: no worker starts with it"
        found = [error(PART, line, advice) for line in str(mistakes).splitlines()]
        return _readable(settings.policy), found
    return policy, [fine(PART, f"{settings.policy} is in order, hash {policy.hash}"), *_holes(policy)]


def _readable(path: str) -> Policy:
    try:
        return load_references(path)
    except PolicyError:
        return Policy()


def _holes(policy: Policy) -> list[Finding]:
    found = []
    if policy.mode is Mode.OBSERVE:
        found.append(warning(PART, "mode is observe: every key says allow", "write mode: enforce once you trust it"))
    if not policy.alerts.send:
        found.append(warning("channels", "nobody is alerted", "name a channel in alerts.send"))
    if not policy.providers:
        found.append(note("providers", "nobody is asked for balances", "name a provider, or produce readings yourself"))
    if rates := policy.left_to_gates():
        what = f"{', '.join(rates)} bind gates only where their own file says the same"
        found.append(warning(PART, what, "compare with each gate's per_ip and per_user"))
    counting = [gateway.name for gateway in policy.gateways.values() if gateway.usage == "daily_usage"]
    if counting and len(policy.gateways) > len(counting):
        what = f"usage is read from daily_usage of {', '.join(counting)} while other gateways send events"
        found.append(
            warning("gateways", what, "make sure that no call is told twice: a gate that counts there sends none")
        )
    return found


async def reach(policy: Policy) -> list[Finding]:
    """Whether the channels' servers take a connection. Nothing is sent to them."""
    return list(await asyncio.gather(*(_reach(channel) for channel in policy.channels.values())))


async def _reach(channel: Channel) -> Finding:
    parts = urlsplit(channel.url)
    if not parts.hostname:
        return error("channels", f"{channel.name} has no address", "set the secret that it refers to")
    tls = parts.scheme == "https"
    try:
        async with asyncio.timeout(REACH_SECONDS):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or (443 if tls else 80), ssl=tls or None
            )
    except (OSError, TimeoutError) as away:
        advice = "check name, network and proxy; alerts wait until then"
        return error("channels", f"{channel.name} cannot be reached: {type(away).__name__}", advice)
    writer.close()
    return fine("channels", f"{channel.name} takes connections")


async def ask(policy: Policy, path: str | None) -> list[Finding]:
    """Each provider is asked once."""
    if path is None:
        return []
    return [await _ask(policy, path, name) for name in policy.providers]


async def _ask(policy: Policy, path: str, name: str) -> Finding:
    spec = policy.providers[name]
    around = Surroundings(policy.calendar().zone, wall_clock, asyncio.sleep, Path(path).parent)
    try:
        provider = build_provider(spec, credentials(path, spec), around)
    except (PolicyError, MissingExtraError) as problem:
        return note("providers", f"{name} is not asked from here: {problem}", "look from where the poller runs")
    answer = await provider.ask()
    await provider.close()
    if isinstance(answer, Failure):
        advice = (
            "check key and permission"
            if answer.trouble is Trouble.PERMANENT
            else "try again; see blastdoor poll --show"
        )
        return error("providers", f"{name} gives no balance: {answer}", advice)
    known = {balance.model for balance in answer.balances}
    missing = sorted(set(spec.packages) - known)
    if missing:
        what = f"{name} tells nothing of {', '.join(missing)}"
        return warning("providers", what, "see blastdoor poll --show, and name their packages")
    return fine("providers", f"{name} tells the balance of {len(known)} model(s)")
