"""`blastdoor controls`: every order that is kept, with who, when and why."""

from __future__ import annotations

import asyncio
import json
import logging

import click
import msgspec
from aiokafka.errors import KafkaError

from rules.intake.wire import encode
from rules.moment import to_datetime
from rules.policy import Policy
from rules.records import Control
from streams.channels.redaction import plain
from streams.delivery.errors import DeliveryError
from streams.orders.archive import Archive, Filed
from streams.orders.order import scope_of
from streams.policy_file import PolicyError, load_references
from streams.settings import Settings
from streams.topics import BrokerUnavailable, Topics


@click.command(
    epilog="""\b
Examples:
  blastdoor controls
  blastdoor controls --scope global --json"""
)
@click.option("--scope", default="", help="Only those about this scope.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="The newest so many.")
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--policy", metavar="FILE", help="For the zone of times. [BLASTDOOR_POLICY]")
@click.option("--prefix", help="Prefix of the topics. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line: the order, and where it stands.")
def command(
    *, scope: str, limit: int, kafka: str | None, policy: str | None, prefix: str | None, as_json: bool
) -> None:
    """List the orders of operators, the newest last: when, who, what, why. Orders are kept for 30 days, calibrations
    for 7."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    settings = Settings.from_environment(kafka=kafka, policy=policy, prefix=prefix)
    try:
        zone = (Policy() if settings.policy is None else load_references(settings.policy)).calendar().zone
        found = asyncio.run(Archive(settings.kafka, Topics(settings.prefix), zone).all())
    except (PolicyError, BrokerUnavailable, DeliveryError, KafkaError) as error:
        raise click.ClickException(str(error)) from error
    found = [filed for filed in found if scope in {"", scope_of(filed.order)}]
    for filed in found[-limit:]:
        if as_json:
            told = msgspec.json.decode(encode(filed.order)) | {"origin": filed.origin}
            click.echo(json.dumps(told, ensure_ascii=False))
        else:
            click.echo(_line(filed, to_datetime(filed.order.at, zone).isoformat(sep=" ", timespec="seconds")))
    if not as_json:
        click.echo(f"{len(found)} order{'' if len(found) == 1 else 's'}, {min(limit, len(found))} shown")


def _line(filed: Filed, at: str) -> str:
    order = filed.order
    what, amount = ("calibrate", order.pool) if not isinstance(order, Control) else (order.action.value, order.tokens)
    number = "" if amount is None else f" {amount:,}"
    who, why = plain(order.by or "?", 40), plain(order.why or "no reason given", 200)
    return f"{at}  {who:<12}  {what}{number} {plain(scope_of(order), 80)}: {why}  ({plain(order.id, 80)})"
