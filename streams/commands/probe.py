"""`blastdoor test-alert CHANNEL`: one message through the channel's own sender, and what the receiver says."""

from __future__ import annotations

import asyncio
from secrets import token_hex

import click

from rules.alerts import Alert, Kind, Severity
from rules.moment import MINUTE
from rules.policy import Policy
from streams.channels.build import ChannelError, build_senders
from streams.channels.messages import message
from streams.channels.sender import Note, Result, Sent
from streams.channels.timing import Timing
from streams.channels.wire import Wire
from streams.policy_file import PolicyError, load_policy
from streams.settings import Settings
from streams.wall_clock import wall_clock

LASTS = 5 * MINUTE  # in Alertmanager, which would keep it for days


@click.command(
    epilog="""\b
Examples:
  blastdoor test-alert feishu-main
  blastdoor test-alert --policy policy.yaml feishu-main on-call"""
)
@click.argument("channels", nargs=-1, required=True, metavar="CHANNEL...")
@click.option("--policy", metavar="FILE", help="Where the channels stand. [BLASTDOOR_POLICY]")
@click.option("--severity", type=click.Choice([each.value for each in Severity]), default="info", show_default=True)
@click.pass_context
def command(ctx: click.Context, channels: tuple[str, ...], policy: str | None, severity: str) -> None:
    """Send a test alert to each CHANNEL, once, and tell what the receiver said. Exit code 1 if one did not arrive.

    It needs neither Kafka nor a worker: what works here works there, from the same machine.
    """
    settings = Settings.from_environment(policy=policy)
    try:
        found = load_policy(settings.policy)
        _check(found, channels)
        answers = asyncio.run(_send(found, channels, Severity(severity)))
    except (PolicyError, ChannelError) as error:
        raise click.ClickException(str(error)) from error
    for channel, sent in answers.items():
        click.echo(f"{channel}: {_said(sent)}")
    ctx.exit(0 if all(sent.result is Result.DELIVERED for sent in answers.values()) else 1)


def _check(policy: Policy, channels: tuple[str, ...]) -> None:
    for channel in channels:
        if channel not in policy.channels:
            known = ", ".join(policy.channels) or "none"
            raise click.UsageError(f"the policy has no channel {channel}; it has: {known}")


async def _send(policy: Policy, channels: tuple[str, ...], severity: Severity) -> dict[str, Sent]:
    async with Wire() as wire:
        senders = build_senders({name: policy.channels[name] for name in channels}, wire, Timing())
        return {name: await sender.send(_note(policy, severity)) for name, sender in senders.items()}


def _note(policy: Policy, severity: Severity) -> Note:
    now, calendar, alerting = wall_clock(), policy.calendar(), policy.alerts
    alert = Alert(
        id=f"test-{token_hex(16)}",
        kind=Kind.TEST,
        severity=severity,
        scope="global",
        at=now,
        window=calendar.day(now),
        until=now + LASTS,
    )
    return Note(alert, message(alert, alerting.language, calendar.zone, alerting.dashboard))


def _said(sent: Sent) -> str:
    if sent.result is Result.DELIVERED:
        return "delivered"
    how = "not delivered" if sent.result is Result.RETRY else "refused"
    return f"{how}: {sent.detail}"
