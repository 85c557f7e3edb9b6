"""`blastdoor up`: a broker, a Redis and workers on this machine, for trying things out. Ctrl-C stops everything."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import click
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from streams.api.server import ListenError, check_free
from streams.commands.misuse import MisuseError
from streams.embedded.server import DidNotStartError, MissingPartError
from streams.embedded.stack import Plan, Stack, running
from streams.policy_file import PolicyError, load_policy
from streams.settings import Settings
from streams.supervisor import Death

CLOCK_HELP = "event: recordings bring their own times."
FILE = click.Path(path_type=Path)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command(
    name="up",
    epilog="""\b
Examples:
  blastdoor up --policy policy.yaml --http 127.0.0.1:6066
  blastdoor up --clock event --workers 2 --log-dir logs""",
)
@click.option("--workers", type=click.IntRange(1, 16), default=1, show_default=True, help="How many share the work.")
@click.option("--policy", metavar="FILE", help="Policy; without one the built-in defaults hold. [BLASTDOOR_POLICY]")
@click.option("--http", metavar="HOST:PORT", help="The first worker's metrics and API. [a free port]")
@click.option("--prefix", help="Prefix of topics and keys. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--clock", type=click.Choice(["wall", "event"]), default="wall", show_default=True, help=CLOCK_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one line of JSON once ready.")
@click.option("--ready-file", type=FILE, help="Write the same JSON here once ready; removed at the end.")
@click.option("--log-dir", type=FILE, help="Keep the output of the parts in this directory.")
def command(
    workers: int,
    policy: str | None,
    http: str | None,
    prefix: str | None,
    clock: str,
    as_json: bool,
    ready_file: Path | None,
    log_dir: Path | None,
) -> None:
    """Start a broker, a Redis and workers on 127.0.0.1 and free ports. Ctrl-C stops everything; nothing is kept."""
    settings = Settings.from_environment(policy=policy, prefix=prefix)
    _check(settings.policy, http)
    plan = Plan(
        workers=workers,
        policy=settings.policy,
        http=http,
        prefix=settings.prefix,
        event_clock=clock == "event",
        log_dir=log_dir,
    )
    run(plan, as_json=as_json, ready_file=ready_file)


def _check(policy: str | None, http: str | None) -> None:
    """What would end every worker is told before the parts are started."""
    try:
        load_policy(policy)
        if http is not None:
            check_free(http)
    except (PolicyError, ListenError) as mistake:
        raise MisuseError(str(mistake)) from mistake


def run(plan: Plan, *, as_json: bool = False, ready_file: Path | None = None) -> None:
    """Returns after Ctrl-C, SIGTERM or SIGHUP. Raises click.ClickException with what kept it from starting."""
    try:
        asyncio.run(_until_stopped(plan, as_json, ready_file))
    except asyncio.CancelledError:
        click.echo("stopped, nothing is left running", err=True)
    except (MissingPartError, DidNotStartError) as problem:
        raise click.ClickException(str(problem)) from problem


async def _until_stopped(plan: Plan, as_json: bool, ready_file: Path | None) -> None:
    stop = cast("asyncio.Task[None]", asyncio.current_task()).cancel
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop)
    async with running(plan, _tell_death) as stack:
        line = json.dumps(addresses(plan, stack))
        with _written(ready_file, line):
            if as_json:
                click.echo(line)
            else:
                greet(plan, stack)
            await stack.finished()


def addresses(plan: Plan, stack: Stack) -> dict[str, object]:
    """What a script needs to know. `prefix` is the one that topics and keys have, event mode's own where it is on."""
    return {
        "kafka": stack.kafka,
        "redis": stack.redis,
        "http": [f"http://{address}" for address in stack.http],
        "prefix": _prefix(plan),
        "pid": os.getpid(),
        "workers": [supervisor.pid for supervisor in stack.supervisors],
        "seconds": round(stack.seconds, 3),
    }


def greet(plan: Plan, stack: Stack) -> None:
    """The same for a person, with what to try next. Commands stand outside the frame, so that they can be copied."""
    where = Table.grid(padding=(0, 2))
    where.add_row("Kafka", stack.kafka)
    where.add_row("Redis", stack.redis)
    for address in stack.http:
        where.add_row("metrics", f"http://{address}/metrics")
    prefix = f" --prefix {plan.prefix}" if plan.prefix != Settings().prefix else ""
    clock = " --clock event" if plan.event_clock else ""
    console = Console(highlight=False)
    title = f"blastdoor is up after {stack.seconds:.1f} s"
    console.print(Panel(where, title=title, expand=False, border_style="green"))
    for title, text in (
        ("ship a log file or JSON lines", f"{program('blastdoor')} ship FILE --kafka {stack.kafka}{prefix}{clock}"),
        ("look at a decision", f"{program('redis-cli')} -u {stack.redis} HGETALL {_prefix(plan)}:decision:model:NAME"),
        ("stop everything", "Ctrl-C"),
    ):
        console.print(f"[dim]{title}[/dim]\n  {text}", soft_wrap=True)


def program(name: str) -> str:
    """As it can be typed here: by its name, or by its path where only the virtual environment has it."""
    beside = Path(sys.executable).with_name(name)
    return name if shutil.which(name) is not None or not beside.exists() else os.path.relpath(beside)


def _prefix(plan: Plan) -> str:
    settings = Settings(prefix=plan.prefix)
    return settings.on_event_clock().prefix if plan.event_clock else settings.prefix


def _tell_death(death: Death) -> None:
    click.echo(f"{death}\n{death.last_words}", err=True)


@contextmanager
def _written(path: Path | None, line: str) -> Iterator[None]:
    """The file holds the whole line from the moment it exists, and is gone afterwards."""
    if path is None:
        yield
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(line + "\n")
    draft.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
