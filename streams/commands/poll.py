"""`blastdoor poll`: providers are asked for balances, now and then or once."""

from __future__ import annotations

import asyncio
import logging
import sys
from datetime import tzinfo
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from rules.moment import to_rfc3339
from rules.policy import Policy
from rules.providers.answer import Answer, Balance, Failure
from streams.api.server import ListenError, split_address
from streams.commands.misuse import MisuseError
from streams.delivery.run import configure_logging
from streams.log_lines import FORMATS
from streams.policy_file import PolicyError, credentials, load_references
from streams.poll.build import build_provider
from streams.poll.provider import MissingExtraError, Surroundings
from streams.poll.run import Asked, Job, ask, poll, send
from streams.settings import Settings, environment
from streams.ship.outbox import NotDelivered
from streams.topics import TopicError
from streams.wall_clock import wall_clock

POLL_HTTP = "127.0.0.1:6067"  # a worker on the same machine has the port before it


@click.command(
    epilog="""\b
Examples:
  blastdoor poll --policy policy.yaml --show       which packages there are, and which count for no model
  blastdoor poll --policy policy.yaml --once       for a timer of your own
  blastdoor poll --kafka kafka:9092 --redis redis://redis:6379/0 --policy policy.yaml

\b
Any number of these may run: one asks, the others wait to take its place."""
)
@click.argument("names", nargs=-1, metavar="[PROVIDER]...")
@click.option("--once", is_flag=True, help="Ask once, send the readings, end.")
@click.option("--show", is_flag=True, help="Ask once and show the answer; send nothing. Needs neither Kafka nor Redis.")
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--redis", metavar="URL", help="Redis of the gateways. [BLASTDOOR_REDIS, redis://127.0.0.1:6379/0]")
@click.option("--policy", metavar="FILE", help="Policy with the section `providers`. [BLASTDOOR_POLICY]")
@click.option("--http", metavar="HOST:PORT", help=f"Address of /metrics and /ready. [BLASTDOOR_HTTP, {POLL_HTTP}]")
@click.option("--prefix", help="Prefix of topics and keys. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--log-format", type=click.Choice(FORMATS), help="[BLASTDOOR_LOG_FORMAT, human]")
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    *,
    once: bool,
    show: bool,
    kafka: str | None,
    redis: str | None,
    policy: str | None,
    http: str | None,
    prefix: str | None,
    log_format: str | None,
) -> None:
    """Ask the providers of the policy (or only the PROVIDERs named) for balances, and send them as readings; read usage
    of gateways that count in daily_usage keys only."""
    http = http or environment().get("BLASTDOOR_HTTP", POLL_HTTP)
    settings = Settings.from_environment(
        kafka=kafka, redis=redis, policy=policy, http=http, prefix=prefix, log_format=log_format
    )
    configure_logging(logging.WARNING if show or once else logging.INFO, settings.log_format)
    try:
        split_address(settings.http)
        job = _job(settings, names)
        if show or once:
            ctx.exit(_once(job, sending=once and not show))
        asyncio.run(poll(job))
    except NotDelivered as error:
        raise click.ClickException(str(error)) from error
    except (PolicyError, MissingExtraError, ListenError, TopicError) as error:
        raise MisuseError(str(error)) from error


def _job(settings: Settings, names: tuple[str, ...]) -> Job:
    """Raises PolicyError, MissingExtraError, MisuseError."""
    if settings.policy is None:
        raise MisuseError("whom to ask stands in the policy: give one with --policy or BLASTDOOR_POLICY")
    policy = load_references(settings.policy)
    unknown = [name for name in names if name not in policy.providers]
    counting = () if names else tuple(each for each in policy.gateways.values() if each.usage == "daily_usage")
    if unknown or not (policy.providers or counting):
        known = ", ".join(policy.providers) or "none"
        raise MisuseError(f"{settings.policy}: no provider {', '.join(unknown)}; `providers` has: {known}")
    around = Surroundings(policy.calendar().zone, wall_clock, asyncio.sleep, Path(settings.policy).parent)
    asked = {
        name: Asked(spec, build_provider(spec, credentials(settings.policy, spec), around))
        for name, spec in policy.providers.items()
        if not names or name in names
    }
    return Job(settings, policy, asked, counting)


def _once(job: Job, *, sending: bool) -> int:
    """The exit code: 0 if every provider answered."""
    answers = asyncio.run(_ask_once(job, sending=sending))
    for name, answer in answers.items():
        _show(name, answer, job.policy)
    return 1 if any(isinstance(answer, Failure) for answer in answers.values()) else 0


async def _ask_once(job: Job, *, sending: bool) -> dict[str, Answer | Failure]:
    answers = await ask(job)
    if sending:
        await send(job, answers)
    return answers


def _show(name: str, answer: Answer | Failure, policy: Policy) -> None:
    if isinstance(answer, Failure):
        click.echo(f"{name}: no reading: {answer} ({answer.trouble})", err=True)
        return
    zone = policy.calendar().zone
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(title=f"{name}, {to_rfc3339(answer.at, zone)}", title_justify="left")
    for column in ("model", "tokens left", "packages", "first to end", "settled until"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for balance in answer.balances:
        table.add_row(*_row(balance, zone))
    console.print(table)
    for left in answer.leftovers:
        console.print(f"for no model: {left.code} ({left.name}, {left.id}): {left.why}", markup=False, highlight=False)


def _row(balance: Balance, zone: tzinfo) -> tuple[str, ...]:
    packages = balance.packages
    ends = [package.expires for package in packages or () if package.available]
    return (
        balance.model,
        f"{balance.available:,}",
        "?" if packages is None else str(len(packages)),
        to_rfc3339(min(ends), zone)[:16] if ends else "",
        "" if balance.settled_until is None else to_rfc3339(balance.settled_until, zone)[:19],
    )
