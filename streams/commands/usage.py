"""`blastdoor usage`: what a tenant used, by department, user, knowledge base, model or day."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import suppress
from typing import NamedTuple

import click
from aiokafka.errors import KafkaError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rules.calendar import Day
from rules.policy import Policy
from rules.prices import Prices
from rules.rollup import Rollup
from rules.usage_table import MOST_DAYS, Amounts, By, UsageTable, usage_table
from streams.channels.redaction import plain
from streams.delivery.errors import DeliveryError
from streams.policy_file import PolicyError, load_references
from streams.settings import Settings
from streams.topics import BrokerUnavailable, Topics, partition_count
from streams.usage.forms import as_csv, as_json, money
from streams.usage.index import NotReadyError, RollupIndex, days_between
from streams.wall_clock import wall_clock

READY_SECONDS = 60.0


class Question(NamedTuple):
    """What is asked."""

    tenant: str
    first: Day
    last: Day
    by: By


@click.command(
    epilog="""\b
Examples:
  blastdoor usage acme
  blastdoor usage acme --from 2026-08-01 --to 2026-08-31 --by user
  blastdoor usage acme --by knowledge_base --csv --bom > usage.csv
  blastdoor usage ""              what no tenant is named with"""
)
@click.argument("tenant")
@click.option("--from", "first", type=click.DateTime(["%Y-%m-%d"]), help="First day. [of the month]")
@click.option("--to", "last", type=click.DateTime(["%Y-%m-%d"]), help="Last day. [today]")
@click.option("--by", default=By.DEPARTMENT.value, show_default=True, type=click.Choice([by.value for by in By]))
@click.option("--json", "form", flag_value="json", help="One JSON object.")
@click.option("--csv", "form", flag_value="csv", help="RFC 4180; formulas are defused.")
@click.option("--bom", is_flag=True, help="Let Excel take the CSV for UTF-8.")
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--policy", metavar="FILE", help="For days and prices. [BLASTDOOR_POLICY]")
@click.option("--prefix", help="Prefix of the topics. [BLASTDOOR_PREFIX, blastdoor]")
def command(  # one argument an option
    tenant: str,
    first: object,
    last: object,
    by: str,
    form: str | None,
    *,
    bom: bool,
    kafka: str | None,
    policy: str | None,
    prefix: str | None,
) -> None:
    """Show what TENANT used. Needs Kafka and no worker; the numbers are as of the worker's last second."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    settings = Settings.from_environment(kafka=kafka, policy=policy, prefix=prefix)
    try:
        loaded = Policy() if settings.policy is None else load_references(settings.policy)
        question = _question(tenant, first, last, By(by), loaded)
        rollups = asyncio.run(_ask(settings, question))
    except (PolicyError, BrokerUnavailable, DeliveryError, KafkaError, NotReadyError) as error:
        raise click.ClickException(str(error)) from error
    table = usage_table(tenant, (question.first, question.last), question.by, rollups, Prices(loaded))
    currency = loaded.currency
    if form == "json":
        click.echo(json.dumps(as_json(table, loaded.calendar().zone, currency), ensure_ascii=False))
    elif form == "csv":
        sys.stdout.buffer.write(as_csv(table, currency, bom=bom).encode())
        sys.stdout.buffer.flush()
    else:
        Console(highlight=False).print(_shown(table, currency))


def _question(tenant: str, first: object, last: object, by: By, policy: Policy) -> Question:
    until = str(last)[:10] if last else policy.calendar().day(wall_clock())
    since = str(first)[:10] if first else f"{until[:7]}-01"
    if since > until:
        raise click.UsageError("--from lies after --to")
    if len(list(days_between(since, until))) > MOST_DAYS:
        raise click.UsageError(f"at most {MOST_DAYS} days are kept")
    return Question(tenant, since, until, by)


async def _ask(settings: Settings, question: Question) -> list[Rollup]:
    topic = Topics(settings.prefix).rollups
    partitions = await partition_count(settings.kafka, topic)
    if not partitions:
        raise NotReadyError(f"there is no topic {topic}: no worker of this version has run")
    index = RollupIndex(settings.kafka, topic, partitions)
    following = asyncio.create_task(index.follow())
    try:
        async with asyncio.timeout(READY_SECONDS):
            await index.ready()
        return await index.tables(question.tenant, list(days_between(question.first, question.last)))
    except TimeoutError:
        raise NotReadyError(f"{topic} could not be read within {READY_SECONDS:.0f} s") from None
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        await index.close()


def _shown(table: UsageTable, currency: str) -> Table:
    found = Table(title=f"{plain(table.tenant, 60) or '(no tenant)'}, {table.first} to {table.last}", show_footer=True)
    found.add_column(table.by.value.replace("_", " "), "total", overflow="fold", max_width=48)
    total = _cells(table.total)
    for place, heading in enumerate(("tokens", "requests", "cache hits", "saved", currency)):
        found.add_column(heading, total[place], justify="right")
    for row in table.rows:
        found.add_row(Text(plain(row.value, 200) or "(unassigned)"), *_cells(row.amounts))
    if table.other.requests:
        found.add_row(Text("(other)"), *_cells(table.other))
    return found


def _cells(amounts: Amounts) -> list[str]:
    numbers = (amounts.tokens, amounts.requests, amounts.cache_hits, amounts.saved)
    return [f"{number:,}" for number in numbers] + ["" if amounts.cost is None else money(amounts.cost)]
