"""`blastdoor alerts`: what was raised and what became of it, and sending again what did not arrive."""

from __future__ import annotations

import asyncio
import getpass
import json
import logging
from collections.abc import Coroutine, Iterator
from datetime import tzinfo
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import click
import msgspec

from rules.moment import to_datetime
from rules.policy import Policy
from streams.alert_archive import NoSuchAlertError, ask, find, kept
from streams.alert_records import Resend
from streams.channels.outcome import Outcome
from streams.channels.redaction import plain
from streams.notify_ledger import Entry
from streams.policy_file import PolicyError, load_references
from streams.settings import Settings
from streams.topics import BrokerUnavailable
from streams.wall_clock import wall_clock

T = TypeVar("T")

SHORT = 12  # letters of an id, as in the log


@click.group(
    epilog="""\b
Examples:
  blastdoor alerts list --undelivered
  blastdoor alerts resend 65c419c83402
  blastdoor alerts resend 65c419c83402 --to on-call"""
)
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--policy", metavar="FILE", help="For the zone of times. [BLASTDOOR_POLICY]")
@click.option("--prefix", help="Prefix of the topics. [BLASTDOOR_PREFIX, blastdoor]")
@click.pass_context
def command(ctx: click.Context, kafka: str | None, policy: str | None, prefix: str | None) -> None:
    """Show the alerts that are kept, and send one again."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters of it is said in one line
    ctx.obj = Settings.from_environment(kafka=kafka, policy=policy, prefix=prefix)


@command.command("list", epilog="\b\nExample:\n  blastdoor alerts list --undelivered --limit 10")
@click.option("--undelivered", is_flag=True, help="Only those that did not arrive everywhere.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="The newest so many.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line: the alert with its outcomes.")
@click.pass_obj
def show(settings: Settings, *, undelivered: bool, limit: int, as_json: bool) -> None:
    """List alerts, the newest last, with what became of them in each channel."""
    zone = _zone(settings)
    found = [entry for entry in _kept(settings) if entry.undelivered or not undelivered]
    for entry in found[-limit:]:
        for line in [json.dumps(msgspec.to_builtins(entry), ensure_ascii=False)] if as_json else _lines(entry, zone):
            click.echo(line)
    if not as_json:
        click.echo(f"{len(found)} alert{'' if len(found) == 1 else 's'}, {min(limit, len(found))} shown")


@command.command("resend", epilog="\b\nExample:\n  blastdoor alerts resend 65c419c83402 --to on-call")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--to", "channels", multiple=True, metavar="CHANNEL", help="Also where it has arrived. [where it did not]"
)
@click.pass_obj
def resend(settings: Settings, ids: tuple[str, ...], channels: tuple[str, ...]) -> None:
    """Have alerts sent again, by default where they did not arrive. The beginning of an ID is enough."""
    entries = _kept(settings)
    try:
        chosen = [find(entries, name) for name in ids]
    except NoSuchAlertError as error:
        raise click.ClickException(str(error)) from error
    wishes = [
        Resend(id=entry.alert.id, at=wall_clock(), by=getpass.getuser(), channels=channels)
        for entry in chosen
        if channels or entry.undelivered
    ]
    _run(ask(settings, wishes))
    for entry in chosen:
        to = channels or tuple(entry.undelivered)
        what = f"asked for, to {', '.join(to)}" if to else "it has arrived everywhere; name a channel with --to"
        click.echo(f"{entry.alert.id[:SHORT]}: {what}")


def _kept(settings: Settings) -> list[Entry]:
    return _run(kept(settings))


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except BrokerUnavailable as error:
        raise click.ClickException(str(error)) from error


def _zone(settings: Settings) -> tzinfo:
    try:
        policy = Policy() if settings.policy is None else load_references(settings.policy)
    except PolicyError as error:
        raise click.ClickException(str(error)) from error
    return ZoneInfo(policy.timezone)


def _lines(entry: Entry, zone: tzinfo) -> Iterator[str]:
    """The alert, then a line for each channel."""
    alert = entry.alert
    at = to_datetime(alert.at, zone).isoformat(sep=" ", timespec="seconds")
    what = f"{alert.kind.value} {alert.threshold:.0%}" if alert.threshold is not None else alert.kind.value
    yield f"{alert.id[:SHORT]}  {at}  {alert.severity.value:<8}  {plain(alert.scope, 80)}  {what}"
    for channel, outcome in entry.outcomes.items():
        yield f"{'':>{SHORT}}  {channel}: {_outcome(outcome)}"


def _outcome(outcome: Outcome) -> str:
    tries = f", {outcome.attempts} attempt{'' if outcome.attempts == 1 else 's'}" if outcome.attempts else ""
    return f"{outcome.progress.value}{tries}" + (f": {outcome.detail}" if outcome.detail else "")
