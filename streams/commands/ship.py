"""`blastdoor ship`: files, pipes and growing logs go to Kafka, line by line."""

from __future__ import annotations

import asyncio
import logging
import signal
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from rules.policy import Policy
from streams.policy_file import PolicyError, load_references
from streams.settings import Settings, state_directory
from streams.ship.display import Display
from streams.ship.outbox import NotDelivered
from streams.ship.places import BadPlaceFile, Places
from streams.ship.run import Job, ship
from streams.ship.sources import STDIN, Form, UnreadableSource
from streams.ship.tally import Tally
from streams.topics import TopicError

INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


class Failed(click.ClickException):
    """What the operator has to see to."""

    exit_code = 2


@click.command(
    epilog="""\b
Examples:
  blastdoor ship usage.jsonl gateway.log.1.gz
  blastdoor ship --follow /var/log/litellm/gateway.log
  docker logs -f litellm 2>&1 | blastdoor ship -
  blastdoor ship --clock event incident-2026-08-12.log incident-2026-08-13.log

\b
A .jsonl file (.ndjson, .json) holds one record a line, and what cannot be read there becomes a dead letter.
A log holds lines of other programs, too, which are skipped and counted. Where the name does not tell (or with -) the
first lines do.
Docker's and Kubernetes' wrapping of lines is taken off. A file may be packed (.gz, .bz2, .xz). With --follow a log
may be rotated in any way, packed at once, also while nobody follows it."""
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...|-")
@click.option("--follow", "-f", is_flag=True, help="Wait for more; go on where the last run ended.")
@click.option(
    "--clock",
    type=click.Choice(["wall", "event"]),
    default="wall",
    show_default=True,
    help="event: a recording brings its own time; goes to topics of its own.",
)
@click.option("--zone", help="Zone of times without one, like Asia/Shanghai. [timezone of the policy]")
@click.option(
    "--as",
    "form",
    type=click.Choice([form.value for form in Form]),
    help="Form of all files. [by name, else by content]",
)
@click.option("--place", metavar="FILE", type=click.Path(path_type=Path), help="Where --follow remembers its place.")
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--prefix", help="Prefix of the topics. [BLASTDOOR_PREFIX, blastdoor]")
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    *,
    follow: bool,
    clock: str,
    zone: str | None,
    form: str | None,
    place: Path | None,
    kafka: str | None,
    prefix: str | None,
) -> None:
    """Ship usage, balance readings and controls from FILEs, or from standard input (-), to Kafka.

    Records and gateway logs, also gzipped. A repeat is recognised by its id, which for a line of a log comes from its
    content, as long as no more than 50,000 records of its partition lie between.
    """
    _check(files, follow=follow, event_clock=clock == "event")
    settings = Settings.from_environment(kafka=kafka, prefix=prefix)
    settings = settings.on_event_clock() if clock == "event" else settings
    tally = Tally()
    with Display(tally, follow=follow) as display:
        job = Job(
            settings=settings,
            sources=files,
            zone=_zone(zone, settings),
            form=Form(form) if form else None,
            places=_places(place, settings) if follow else None,
            progress=display.show,
        )
        code = _run(job, tally)
    click.echo(f"shipped to {settings.kafka}, topics {settings.prefix}.*\n{tally.summary()}")
    if tally.sent["dead letters"]:
        click.echo(f"the first dead letter: {tally.complaint}")
        click.echo(f"the reason of each stands with it on the topic {settings.prefix}.dead-letters")
    ctx.exit(0 if follow else code)


def _run(job: Job, tally: Tally) -> int:
    """The exit code: Ctrl-C and SIGTERM are an orderly end."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters of it is said in one line
    try:
        asyncio.run(_until_terminated(job, tally))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except (NotDelivered, UnreadableSource, BadPlaceFile, TopicError) as error:
        acknowledged = f"\n{tally.sent.total():,} records had been acknowledged" if tally.sent else ""
        raise Failed(f"{error}{acknowledged}") from error
    return 0


async def _until_terminated(job: Job, tally: Tally) -> None:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  for the type checker
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await ship(job, tally)


def _check(files: tuple[Path, ...], *, follow: bool, event_clock: bool) -> None:
    if follow and event_clock:
        raise click.UsageError("--follow waits for what happens now, --clock event is for what has happened.")
    if follow and STDIN in files:
        raise click.UsageError("--follow is for files; standard input is read until it ends anyway.")
    for file in files:
        if file != STDIN and not file.is_file() and not (follow and not file.exists()):
            raise click.UsageError(f"{file}: {'not a file' if file.exists() else 'no such file'}")


def _zone(name: str | None, settings: Settings) -> tzinfo:
    if name is None:
        try:
            policy = load_references(settings.policy) if settings.policy else Policy()
            return policy.calendar().zone
        except PolicyError as error:
            raise Failed(str(error)) from error
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise click.UsageError(f"--zone: no zone is called {name!r}; a name looks like Asia/Shanghai.") from error


def _places(file: Path | None, settings: Settings) -> Places:
    default = state_directory() / "blastdoor" / "ship.json"
    return Places(file or default, f"{settings.kafka}/{settings.prefix}")
