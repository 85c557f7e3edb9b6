"""The `blastdoor` command. A subcommand's module is imported only when it is used, so that `--help` answers at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

# name -> module under streams.commands; the module holds a click command named `command`.
COMMANDS = {
    "check-policy": "check_policy",
    "demo": "demo",
    "explain": "explain",
    "replay": "replay",
    "ship": "ship",
    "simulate": "simulate",
    "up": "up",
    "worker": "worker",
}


class LazyGroup(click.Group):
    """A group whose commands are looked up in COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        found: Any = import_module(f"streams.commands.{COMMANDS[cmd_name]}").command
        return found if isinstance(found, click.Command) else None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="blastdoor")
def main() -> None:
    """Spend limits for LLM gateways that hold even though the provider's balance arrives late."""
