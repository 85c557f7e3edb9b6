"""`blastdoor demo`: two recorded incidents through everything there is, on a machine with nothing but this package."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from importlib.resources import files
from io import TextIOWrapper
from pathlib import Path
from typing import cast

import click
from rich.console import Console
from rich.text import Text

from rules.policy import Policy
from streams.commands.up import SIGNALS, program
from streams.demo.closing import closing
from streams.demo.findings import Findings
from streams.demo.live import Scene
from streams.demo.picture import picture
from streams.demo.recordings import Recordings, read_recordings
from streams.demo.run import DemoFailed, Options, perform
from streams.demo.shipping import Pace
from streams.demo.show import Show
from streams.embedded.server import DidNotStartError, MissingPartError

INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended
WATCHED = Pace(tick=0.04, reading=0.6)  # ten seconds for what took two days


class Failed(click.ClickException):
    """What kept the demo from its end."""

    exit_code = 1


@click.command(
    epilog="""\b
Examples:
  blastdoor demo
  blastdoor demo --fast --log-dir logs"""
)
@click.option("--fast", is_flag=True, help="Do not wait between the recorded minutes.")
@click.option("--plain", is_flag=True, help="Plain lines, no live view; always so where there is no terminal.")
@click.option("--log-dir", type=click.Path(path_type=Path), help="Keep the output of the parts in this directory.")
@click.option("--svg", type=click.Path(path_type=Path), help="Keep the closing screen as a picture.")
def command(*, fast: bool, plain: bool, log_dir: Path | None, svg: Path | None) -> None:
    """Show two recorded incidents pass through Kafka and Redis, with their own times, and compare the formulas.

    Starts a broker, a Redis, a worker and a receiver of alerts on 127.0.0.1 and leaves nothing behind. Fails if what
    comes by Kafka is not what the rules say without it.
    """
    begun = time.monotonic()
    policy = Policy()
    recordings = read_recordings(policy.calendar().zone)
    console = _console()
    animated = console.is_terminal and not console.is_dumb_terminal and not plain
    watched = console.is_terminal and not fast
    options = Options(
        pace=WATCHED if watched else Pace(),
        language="zh" if _speaks_chinese(console) else "en",
        log_dir=log_dir,
    )
    found = _perform(recordings, options, console, animated=animated)
    _close(found, console, policy, time.monotonic() - begun)
    if svg is not None:
        svg.write_text(picture(found, policy))
    sys.exit(1 if found.faults else 0)


def _console() -> Console:
    """What cannot be written in this terminal's encoding becomes a question mark instead of an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False)


def _speaks_chinese(console: Console) -> bool:
    return console.encoding.lower().replace("-", "").startswith("utf")


def _perform(recordings: Recordings, options: Options, console: Console, *, animated: bool) -> Findings:
    scene = Scene(ticks=recordings.ticks, zone=Policy().calendar().zone)
    try:
        with Show(console, scene, animated=animated) as show:
            return asyncio.run(_until_stopped(recordings, options, show))
    except asyncio.CancelledError:
        click.echo("stopped, nothing is left running", err=True)
        sys.exit(INTERRUPTED)
    except (DemoFailed, DidNotStartError, MissingPartError) as problem:
        raise Failed(str(problem)) from problem


async def _until_stopped(recordings: Recordings, options: Options, show: Show) -> Findings:
    stop = cast("asyncio.Task[None]", asyncio.current_task()).cancel
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop)
    return await perform(recordings, options, show)


def _close(found: Findings, console: Console, policy: Policy, seconds: float) -> None:
    for part in closing(found, policy):
        console.print()
        console.print(part)
    console.print()
    if found.faults:
        console.print(Text("\n".join(("THE DEMO FAILED ITS OWN CHECK", *found.faults)), style="bold red"))
        return
    console.print(
        Text.assemble(
            ("✓ ", "bold green"),
            "Each decision that came by Kafka is what the same rules say without it. ",
            f"{seconds:.0f} s in all, and nothing is left running.",
        )
    )
    _next(console)


def _next(console: Console) -> None:
    """Commands as they can be typed here, each on a line of its own, so that they can be copied."""
    blastdoor, samples = program("blastdoor"), os.path.relpath(str(files("streams").joinpath("samples")))
    console.print("\n[bold underline]What to try next[/]\n")
    for why, what in (
        ("the same rules on the same recordings, without Kafka or Redis", f"{blastdoor} replay {samples}/*.log"),
        ("all parts on this machine, for a log of your own", f"{blastdoor} up"),
        ("in a second terminal, with the address that it prints", f"{blastdoor} ship --follow FILE --kafka ADDRESS"),
        ("a gateway of your own", "README.md, “Connect a gateway in five minutes”"),
    ):
        console.print(f"[dim]{why}[/]\n  {what}", soft_wrap=True)
