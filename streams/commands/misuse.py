"""The end of a command that the operator has to change before it is worth starting again."""

from __future__ import annotations

import click

from streams.supervisor import MISUSE


class MisuseError(click.ClickException):
    """The operator's mistake: who started this process need not start it again."""

    exit_code = MISUSE
