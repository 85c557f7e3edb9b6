"""`blastdoor doctor`: looks at everything a worker stands on and says what to do."""

from __future__ import annotations

import asyncio
import json
import logging
import sys

import click
from rich.console import Console

from streams.delivery.run import configure_logging
from streams.doctor.finding import Finding, Level
from streams.doctor.run import examine
from streams.settings import Settings

MARKS = {Level.FINE: ("green", "ok"), Level.NOTE: ("cyan", "note"), Level.WARNING: ("yellow", "warning"),
         Level.ERROR: ("red", "error")}  # fmt: skip


@click.command(
    epilog="""\b
Exit code: 0 nothing to do, 1 something is wrong, 2 the command was misused. With --strict a warning is wrong, too.

\b
Examples:
  blastdoor doctor --policy policy.yaml
  blastdoor doctor --json | jq -r 'select(.level == "error") | .what'"""
)
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--redis", metavar="URL", help="Redis of the gateways. [BLASTDOOR_REDIS, redis://127.0.0.1:6379/0]")
@click.option("--policy", metavar="FILE", help="Policy. [BLASTDOOR_POLICY]")
@click.option("--prefix", help="Prefix of topics and keys. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--offline", is_flag=True, help="Do not ask providers, do not reach for channels.")
@click.option("--strict", is_flag=True, help="Let a warning decide about the exit code, too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a finding.")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    kafka: str | None,
    redis: str | None,
    policy: str | None,
    prefix: str | None,
    offline: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Look at Kafka, Redis, the policy, providers, channels, clocks and usage. Leaves a key for a second."""
    configure_logging(logging.CRITICAL)
    settings = Settings.from_environment(kafka=kafka, redis=redis, policy=policy, prefix=prefix)
    findings = asyncio.run(examine(settings, ask=not offline))
    for finding in findings:
        _show(finding, as_json=as_json)
    worst = max((finding.level for finding in findings), default=Level.FINE)
    ctx.exit(1 if worst >= (Level.WARNING if strict else Level.ERROR) else 0)


def _show(finding: Finding, *, as_json: bool) -> None:
    if as_json:
        said = {"level": finding.level.name.lower(), "part": finding.part, "what": finding.what}
        click.echo(json.dumps(said | ({"advice": finding.advice} if finding.advice else {}), ensure_ascii=False))
        return
    color, word = MARKS[finding.level]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    console.print(f"[{color}]{word:<8}[/]", end="")
    console.print(f"{finding.part:<10}{finding.what}", markup=False)
    if finding.advice:
        console.print(f"{'':<18}→ {finding.advice}", markup=False, style="dim")
