"""`blastdoor annex`: the clauses of a contract, with the numbers that the policy enforces."""

from __future__ import annotations

import click

from rules.annex import LANGUAGES, annex, missing
from rules.policy import Mode, Policy
from streams.policy_file import PolicyError, load_references
from streams.settings import Settings


@click.command(
    epilog="""\b
Examples:
  blastdoor annex --policy policy.yaml > annex.md
  blastdoor annex --policy policy.yaml --tenant acme --language en"""
)
@click.option("--policy", metavar="FILE", help="Where the numbers stand. [BLASTDOOR_POLICY]")
@click.option("--tenant", default="", help="With this tenant's budget. [that of tenants without their own]")
@click.option("--language", type=click.Choice(LANGUAGES), default="zh", show_default=True)
@click.pass_context
def command(ctx: click.Context, policy: str | None, tenant: str, language: str) -> None:
    """Print the technical annex as Markdown. Exit code 1 if the policy leaves one of its numbers open,
    or only observes."""
    settings = Settings.from_environment(policy=policy)
    try:
        found = Policy() if settings.policy is None else load_references(settings.policy)
    except PolicyError as error:
        raise click.ClickException(str(error)) from error
    click.echo(annex(found, language, tenant), nl=False)
    open_fields = missing(found, tenant)
    for field in open_fields:
        click.echo(f"the policy says nothing of {field}: its clause has no number", err=True)
    observing = found.mode is Mode.OBSERVE
    if observing:
        click.echo("the policy's mode is observe: nothing of this is enforced", err=True)
    ctx.exit(1 if open_fields or observing else 0)
