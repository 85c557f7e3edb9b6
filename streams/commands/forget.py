"""`blastdoor forget`: an order that takes a user's name out of what is kept of usage."""

from __future__ import annotations

from dataclasses import replace

import click

from streams.commands.asked import Asked, asked
from streams.commands.order import give


@click.command(
    "forget",
    epilog="""\b
Example:
  blastdoor forget --tenant acme --user u1 --why "asked to on 13 August\"""",
)
@click.option("--tenant", required=True, help="Whose user it is.")
@click.option("--user", required=True, help="The name as calls carry it.")
@asked
def command(given: Asked, tenant: str, user: str) -> None:
    """Show a user of a tenant as forgotten-… in all tables up to today. No sum changes. Ends when Kafka has the order;
    the tables follow within a minute."""
    give(replace(given, wait=False), {"action": "forget", "scope": f"user:{tenant}/{user}"})
