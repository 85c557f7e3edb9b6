"""`blastdoor clean`: keys of ours in Redis that should be gone, or should have an end: shown first."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import click
from blastdoor_gateway.contract import Keys
from redis.exceptions import RedisError

from rules.policy import Policy
from streams.channels.redaction import plain
from streams.cleaning.look import Finding, Look, Why, clean, look
from streams.policy_file import PolicyError, load_references
from streams.publish.client import open_redis
from streams.settings import Settings
from streams.wall_clock import wall_clock

SHOWN = 20  # keys of each kind of finding


@click.command(
    epilog="""\b
Exit code: 0 nothing to do, or done; 1 Redis cannot be asked; 3 something was found, and nothing was changed.

\b
Examples:
  blastdoor clean                 what it would do
  blastdoor clean --apply"""
)
@click.option("--apply", is_flag=True, help="Do it; without it nothing is changed.")
@click.option("--redis", metavar="URL", help="Where the keys are. [BLASTDOOR_REDIS, redis://127.0.0.1:6379/0]")
@click.option("--policy", metavar="FILE", help="For the names of models. [BLASTDOOR_POLICY]")
@click.option("--prefix", help="Prefix of the keys. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(
    ctx: click.Context, *, apply: bool, redis: str | None, policy: str | None, prefix: str | None, as_json: bool
) -> None:
    """Find keys of ours without an end that should have one, of days long past and of models that are gone, and what
    grows. Keys of others are counted and never touched."""
    settings = Settings.from_environment(redis=redis, policy=policy, prefix=prefix)
    try:
        loaded = Policy() if settings.policy is None else load_references(settings.policy)
        found, changed = asyncio.run(_run(settings, loaded, apply=apply))
    except PolicyError as error:
        raise click.ClickException(str(error)) from error
    except (RedisError, OSError) as error:
        raise click.ClickException(f"Redis cannot be asked ({type(error).__name__})") from error
    _show(found, changed, as_json=as_json)
    ctx.exit(3 if found.findings and changed is None else 0)


async def _run(settings: Settings, policy: Policy, *, apply: bool) -> tuple[Look, int | None]:
    """What was found, and how many keys were changed; None: nothing was to be."""
    client = open_redis(settings.redis)
    try:
        found = await look(client, Keys(settings.prefix), policy, wall_clock())
        return found, await clean(client, found.findings) if apply else None
    finally:
        await client.aclose()


def _show(found: Look, changed: int | None, *, as_json: bool) -> None:
    if as_json:
        told = {
            "findings": [
                {"key": each.key, "why": each.why.name.lower(), "life_ms": each.life} for each in found.findings
            ],
            "families": {name: {"keys": each.keys, "bytes": each.about} for name, each in sorted(found.counts.items())},
            "foreign": found.foreign,
            "changed": changed,
        }
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    for name, count in sorted(found.counts.items(), key=lambda item: -item[1].about):
        click.echo(f"{name}: {count.keys:,} keys, about {count.about / 1024:,.0f} KiB")
    click.echo(f"of others: {found.foreign:,} keys, not touched")
    if not found.engine:
        click.echo("no engine is at work: which models are gone cannot be told")
    for why, number in Counter(each.why for each in found.findings).items():
        click.echo(f"{number:,} {why.value}:")
        _list([each for each in found.findings if each.why is why])
    if changed is not None:
        click.echo(f"{changed:,} keys changed")
    elif found.findings:
        click.echo("nothing was changed; --apply does it")
    else:
        click.echo("nothing to do")


def _list(findings: list[Finding]) -> None:
    for each in findings[:SHOWN]:
        what = "ends" if each.why is Why.ENDLESS else "goes"
        click.echo(f"  {plain(each.key, 120)} {what}")
    if len(findings) > SHOWN:
        click.echo(f"  … and {len(findings) - SHOWN:,} more")
