"""`blastdoor reconcile`: a bill against what was metered and what the ledger says."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

import click
import msgspec
from aiokafka.errors import KafkaError
from rich.console import Console
from rich.table import Table

from rules.ledger import Amount
from rules.policy import Policy
from rules.reconcile import FINE, Comparison, Verdict, reconcile
from streams.delivery.errors import DeliveryError
from streams.delivery.run import configure_logging
from streams.policy_file import PolicyError, load_references
from streams.reconcile.bill import BadBillError, read_bill
from streams.reconcile.history import read_books
from streams.settings import Settings
from streams.topics import BrokerUnavailable

ADVICE = {
    Verdict.NOT_BILLED: "metered, and not on the bill: another account, or a name the bill spells otherwise (aliases)?",
    Verdict.OVERMETERED: "metered more than billed: two sources of usage? blastdoor doctor looks for twins",
    Verdict.NOT_METERED: "billed, and never metered: who calls this model past the gateway?",
    Verdict.UNMETERED: "billed more than metered: calls past the gateway, or usage that was lost; see the dead letters",
    Verdict.CHARGED: "charged more than the books think possible: raise max_lag, and look at the day's readings",
}


@click.command(
    epilog="""\b
The bill is CSV with the head day,model,tokens[,charged], or one JSON object a line with these names.
Exit code: 0 everything agrees or is explained, 1 something is not, 2 the bill or the policy cannot be used.

\b
Examples:
  blastdoor reconcile bill.csv --since 2026-08-01
  my-export-of-the-bill | blastdoor reconcile -"""
)
@click.argument("bill", type=click.Path(path_type=Path), metavar="BILL|-")
@click.option("--since", default="", metavar="DAY", help="Only days from this one on. [all]")
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--policy", metavar="FILE", help="Policy, for the names of models. [BLASTDOOR_POLICY]")
@click.option("--prefix", help="Prefix of the topics. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a day and model.")
@click.pass_context
def command(
    ctx: click.Context,
    bill: Path,
    *,
    since: str,
    kafka: str | None,
    policy: str | None,
    prefix: str | None,
    as_json: bool,
) -> None:
    """Compare a BILL with what was metered, by day and model, and name what nobody can explain."""
    configure_logging(logging.CRITICAL)
    settings = Settings.from_environment(kafka=kafka, policy=policy, prefix=prefix)
    try:
        loaded = load_references(settings.policy) if settings.policy else Policy()
        billed = {key: value for key, value in read_bill(bill, loaded.canonical).items() if key[0] >= since}
        found = reconcile(billed, asyncio.run(read_books(settings, since)))
    except (BadBillError, PolicyError) as error:
        mistake = click.ClickException(str(error))
        mistake.exit_code = 2
        raise mistake from error
    except (BrokerUnavailable, DeliveryError, KafkaError) as error:
        raise click.ClickException(str(error)) from error
    _show(found, as_json=as_json)
    ctx.exit(0 if all(each.verdict in FINE for each in found) else 1)


def _show(found: list[Comparison], *, as_json: bool) -> None:
    if as_json:
        for each in found:
            click.echo(json.dumps(msgspec.to_builtins(each), ensure_ascii=False))
        return
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    table = Table(title="tokens by day and model", title_justify="left")
    for column in ("day", "model", "billed", "metered", "difference", "unexplained", "charged", "booked as", ""):
        table.add_column(column, justify="left" if column in {"day", "model", ""} else "right", no_wrap=True)
    for each in found:
        table.add_row(*_row(each))
    console.print(table)
    for verdict in dict.fromkeys(each.verdict for each in found if each.verdict in ADVICE):
        console.print(f"{verdict}: {ADVICE[verdict]}", markup=False)


def _row(each: Comparison) -> tuple[str, ...]:
    billed, booked = each.billed, each.booked
    color = "green" if each.verdict in FINE else "red"
    return (
        each.day,
        each.model,
        f"{billed.tokens:,}" if billed else "",
        f"{booked.used:,}" if booked else "",
        f"{each.difference:+,}",
        _ends(booked.unexplained) if booked else "",
        f"{billed.charged:,}" if billed and billed.charged is not None else "",
        _ends(booked.charged) if booked else "",
        f"[{color}]{each.verdict}[/]",
    )


def _ends(amount: Amount) -> str:
    return f"{amount.low:,}" if amount.low == amount.high else f"{amount.low:,} to {amount.high:,}"
