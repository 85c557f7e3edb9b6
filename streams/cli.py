"""The `blastdoor` command. A subcommand's module is imported only when it is used, so that `--help` answers at once."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import click

from rules.fault import meant, shown
from streams.settings import SettingsError

# `import cel` would import its own command line as well, and with it a toolkit of terminals: half of a command's start.
sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))

# name -> (module under streams.commands, what `--help` says of it). The module's click command is called `command`,
# unless its name follows a colon.
COMMANDS = {
    "alerts": ("alerts", "Show alerts and what became of them; send one again."),
    "annex": ("annex", "Print the clauses of a contract with the policy's numbers."),
    "ban": ("order:ban", "Refuse calls of an address or a user."),
    "calibrate": ("order:calibrate", "Tell what pool the provider's console shows."),
    "check-policy": ("check_policy", "Check a policy file: every mistake at once."),
    "clean": ("clean", "Find and remove keys in Redis that outlived their use."),
    "controls": ("controls", "List the orders of operators: who, when, why."),
    "demo": ("demo", "Show two recorded incidents pass through Kafka and Redis."),
    "doctor": ("doctor", "Look at everything a worker stands on, and say what to do."),
    "explain": ("explain", "Tell why a decision is as it is."),
    "forget": ("forget", "Take a user's name out of what is kept of usage."),
    "kill": ("order:kill", "Refuse all calls, at once."),
    "plan": ("plan", "Plan what may be used up before packages expire."),
    "poll": ("poll", "Ask providers for balances."),
    "quota": ("order:quota", "Set a tenant's daily budget."),
    "reconcile": ("reconcile", "Compare a bill with what was metered."),
    "replay": ("replay", "Show what each formula makes of recordings; needs no Kafka or Redis."),
    "resume": ("order:resume", "Take a kill back."),
    "ship": ("ship", "Send usage and balances from files to Kafka."),
    "simulate": ("simulate", "Compare the formulas before a simulated provider."),
    "test-alert": ("probe", "Send a test message to a channel of the policy."),
    "test-rules": ("test_rules", "Test rules over facts as time goes by."),
    "topup": ("order:topup", "Give a tenant more tokens."),
    "unban": ("order:unban", "Take a ban back."),
    "up": ("up", "Start a broker, a Redis and workers here, to try things out."),
    "usage": ("usage", "Show what a tenant used, as a table, JSON or CSV."),
    "worker": ("worker", "Meter, judge, publish and notify: the service."),
}


class LazyGroup(click.Group):
    """A group whose commands are looked up in COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        found: Any = getattr(import_module(f"streams.commands.{module}"), attribute or "command")
        return found if isinstance(found, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            ctx.fail(f"there is no command {shown(name)}{meant(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SettingsError as error:
            mistake = click.ClickException(str(error))
            mistake.exit_code = 2  # who started this need not start it again
            raise mistake from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="blastdoor")
def main() -> None:
    """Spend limits for LLM gateways that hold even though the provider's balance arrives late."""
