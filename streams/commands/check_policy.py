"""`blastdoor check-policy FILE`: every mistake of a policy file at once, or a summary of what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from rules.policy import Budget, Policy
from rules.policy_check.schema import schema as policy_schema
from streams.policy_file import PolicyError, default_rules, load_policy, load_references

EXAMPLE = """\b
Example:
  blastdoor check-policy policy.yaml
  blastdoor check-policy --without-secrets policy.yaml    # where env:… and file:… are not known
  blastdoor check-policy --schema > policy.schema.json    # editors complete and check by it
"""


@click.command(epilog=EXAMPLE)
@click.argument("file", type=click.Path(), required=False)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a policy file, for editors.")
@click.option("--without-secrets", is_flag=True, help="Do not look up what env:NAME and file:PATH refer to.")
@click.pass_context
def command(ctx: click.Context, file: str | None, *, schema: bool, without_secrets: bool) -> None:
    """Check a policy FILE whole: each mistake with its line and field, then exit code 1; a summary if there is none."""
    if schema:
        click.echo(json.dumps(policy_schema(), ensure_ascii=False, indent=2))
        return
    if file is None:
        raise click.UsageError("which file? Give its name, or --schema")
    try:
        policy = load_references(file) if without_secrets else load_policy(file)
    except PolicyError as error:
        click.echo(str(error))
        click.echo(f"{len(error.faults)} mistake{'s' if len(error.faults) > 1 else ''}")
        ctx.exit(1)
    click.echo(f"{file}: ok, policy {policy.hash}")
    for line in summary(policy):
        click.echo(f"  {line}")


def summary(policy: Policy) -> Iterator[str]:
    """What the policy says, in a few lines. Secrets appear in none of them."""
    terms, alerts = policy.default, policy.alerts
    yield f"time: {policy.timezone}, days begin at {policy.day_starts}; mode {policy.mode}"
    yield f"models: {terms.formula}, daily cap {terms.daily_cap:,}, buffer {terms.small_buffer:,}"
    yield f"models with terms of their own: {len(policy.models)}; aliases: {len(policy.aliases)}"
    built_in = sum(rule in default_rules() for rule in policy.rules)
    yield f"rules: {built_in} built in, {len(policy.rules) - built_in} of your own"
    shares = ", ".join(f"{share:.0%}" for share in alerts.thresholds)
    yield f"alerts: at {shares or 'no share'} of a limit, to {', '.join(alerts.send) or 'nobody'}"
    yield f"tenants: {_budget(policy.tenant_default)}; with a budget of their own: {len(policy.tenants)}"
    if (spend := policy.spend) is not None:
        costs = "tokens beyond the free pool" if spend.basis == "charged" else "every token"
        yield f"spend: everything closes at {spend.daily:,} {spend.currency} a day; what counts: {costs}"
    if rates := policy.left_to_gates():
        yield f"held by gates, each by its own file, not by this one: {', '.join(rates)}"


def _budget(budget: Budget) -> str:
    windows = {"day": budget.daily_tokens, "month": budget.monthly_tokens}
    given = [f"{tokens:,} tokens a {window}" for window, tokens in windows.items() if tokens is not None]
    return f"{', '.join(given)}, beyond it {budget.over}" if given else "no budget"
