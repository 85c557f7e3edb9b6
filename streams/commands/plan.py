"""`blastdoor plan`: what may be used up before packages expire, once a day; and before each step whether to go on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

import click
import msgspec
from aiokafka.errors import KafkaError
from blastdoor_gateway.contract import Keys
from redis.exceptions import RedisError

from rules.consumption import Planned, plan
from rules.legacy import GATE_DAYS
from rules.moment import Millis, to_datetime, to_rfc3339
from rules.policy import Policy
from streams.consuming.standings import NobodyDecidesError, standings
from streams.delivery.errors import DeliveryError
from streams.explaining.history import History
from streams.policy_file import PolicyError, load_references
from streams.publish.client import open_redis
from streams.settings import Settings
from streams.topics import BrokerUnavailable, Topics
from streams.wall_clock import wall_clock

FROM_HOUR = 23  # of the policy's day by the clock: earlier, the day's own users still need the tokens
REMEMBERED_SECONDS = 48 * 3600
STOP = 3  # exit code

T = TypeVar("T")


@click.command(
    epilog="""\b
It plans and sends no call. Exit code: 0 planned, 1 not possible, 3 nothing to do, or a step must stop.

\b
Examples:
  0 23 * * *  blastdoor plan --policy policy.yaml --json          once a day, for whoever makes the calls
  blastdoor plan --step deepseek-v4-flash                         before each step: may it go on, and how far"""
)
@click.option("--now", "asked", is_flag=True, help="Also before 23:00, and where nothing is about to expire.")
@click.option("--again", is_flag=True, help="Also if today's plan was made already.")
@click.option("--step", metavar="MODEL", help="Look again at one model; makes no plan of the day.")
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--redis", metavar="URL", help="Where decisions are. [BLASTDOOR_REDIS, redis://127.0.0.1:6379/0]")
@click.option("--policy", metavar="FILE", help="For caps, buffers and the zone. [BLASTDOOR_POLICY]")
@click.option("--prefix", help="Prefix of topics and keys. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a model.")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    asked: bool,
    again: bool,
    step: str | None,
    kafka: str | None,
    redis: str | None,
    policy: str | None,
    prefix: str | None,
    as_json: bool,
) -> None:
    """Plan how many tokens of each model may be used up before packages with tokens left expire."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    settings = Settings.from_environment(kafka=kafka, redis=redis, policy=policy, prefix=prefix)
    loaded, now = _policy(settings), wall_clock()
    if step is not None:
        found = [
            each for each in _run(_planned(settings, loaded, now, asked=True)) if each.model == loaded.canonical(step)
        ]
        _show(found, loaded, as_json=as_json)
        ctx.exit(0 if found and found[0].tokens else STOP)
    if not asked and to_datetime(now, loaded.calendar().zone).hour < FROM_HOUR:
        click.echo(f"it is not {FROM_HOUR}:00 yet; --now plans all the same", err=True)
        ctx.exit(STOP)
    found = _run(_planned(settings, loaded, now, asked=asked))
    if any(each.tokens for each in found) and not _run(_claim(settings, now, again=again)):
        click.echo("today's plan was made already; --again makes another", err=True)
        ctx.exit(STOP)
    _show(found, loaded, as_json=as_json)
    ctx.exit(0 if any(each.tokens for each in found) else STOP)


def _policy(settings: Settings) -> Policy:
    try:
        return Policy() if settings.policy is None else load_references(settings.policy)
    except PolicyError as error:
        raise click.ClickException(str(error)) from error


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Nothing is planned by what cannot be read."""
    try:
        return asyncio.run(work)
    except (BrokerUnavailable, DeliveryError, KafkaError, NobodyDecidesError) as error:
        raise click.ClickException(str(error)) from error
    except (RedisError, OSError) as error:
        raise click.ClickException(f"Redis cannot be asked ({type(error).__name__})") from error
    except ValueError as error:
        raise click.ClickException(f"a decision cannot be read: {error}") from error


async def _planned(settings: Settings, policy: Policy, now: Millis, *, asked: bool) -> list[Planned]:
    calendar = policy.calendar()
    day = calendar.day(now)
    redis = open_redis(settings.redis)
    try:
        history = History(settings.kafka, Topics(settings.prefix), event_clock=False)
        found = await standings(redis, Keys(settings.prefix), history, policy)
    finally:
        await redis.aclose()
    return [plan(each, now, calendar.start(day), calendar.end(day), asked=asked) for each in found.values()]


async def _claim(settings: Settings, now: Millis, *, again: bool) -> bool:
    """One plan a day, whoever makes it: the key that consumption tasks have always known."""
    redis = open_redis(settings.redis)
    key, at = Keys(settings.prefix).last_run(GATE_DAYS.day(now)), datetime.now(GATE_DAYS.zone).isoformat()
    try:
        return bool(await redis.set(key, at, ex=REMEMBERED_SECONDS, nx=not again))
    finally:
        await redis.aclose()


def _show(found: list[Planned], policy: Policy, *, as_json: bool) -> None:
    zone = policy.calendar().zone
    for each in found:
        if as_json:
            told = msgspec.to_builtins(each)
            told["first_end"] = None if each.first_end is None else to_rfc3339(each.first_end, zone)
            click.echo(json.dumps(told, ensure_ascii=False))
        else:
            stake = f"; {each.at_stake:,} would end unused, the first on {to_rfc3339(each.first_end, zone)[:10]}" \
                if each.first_end is not None else ""  # fmt: skip
            click.echo(f"{each.model}: {each.tokens:,} tokens ({each.why}{stake})")
