"""`blastdoor explain`: why a decision about a model is as it is, from the history on Kafka or from a recording."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import click
from blastdoor_gateway.contract import UnknownSchemaError
from rich.console import Console
from rich.text import Text

from rules.explain import Decided, Explanation, explain
from rules.facts import kind_of
from rules.fault import meant
from rules.moment import Millis
from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.bars import FileBars
from streams.explaining.decided import to_decided
from streams.explaining.document import document
from streams.explaining.recorded import NothingRecorded, recall
from streams.explaining.text import lines
from streams.explaining.wording import Times
from streams.instant import WrittenInstant, instant_in
from streams.policy_file import PolicyError, default_rulebook, load_policy, load_references
from streams.recording import Recording
from streams.settings import Settings
from streams.ship.sources import UnreadableSource


class Unreachable(click.ClickException):
    """A file or a broker that cannot be read."""

    exit_code = 2


class Undecided(click.ClickException):
    """Nothing was decided about the model."""

    exit_code = 3


class Question(NamedTuple):
    """What is asked: which model, at which instant (None: now), under which policy."""

    model: str
    at: Millis | None
    policy: Policy
    rulebook: Rulebook


@click.command(
    epilog="""\b
Examples:
  blastdoor explain deepseek-v4-flash
  blastdoor explain deepseek-v4-flash --at '2026-08-13 11:22' --kafka kafka:9092
  blastdoor explain deepseek-v4-flash --from gateway.log --at 2026-08-12T15:09:51+08:00
  blastdoor explain deepseek-v4-flash --json | jq .limit

\b
Exit codes: 0 explained, 1 the policy has mistakes, 2 Kafka or a file cannot be
read, 3 nothing was decided about the model."""
)
@click.argument("model")
@click.option("--at", "written", type=WrittenInstant(), help="The decision in force then. [the newest]")
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Judge this recording again instead of reading the history; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--prefix", help="Prefix of the topics. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--clock", type=click.Choice(["wall", "event"]), default="wall", help="event: shipped recordings.")
@click.option("--policy", type=click.Path(), help="Policy file; without one the defaults. [BLASTDOOR_POLICY]")
def command(
    model: str,
    written: datetime | None,
    files: tuple[Path, ...],
    *,
    as_json: bool,
    kafka: str | None,
    prefix: str | None,
    clock: str,
    policy: str | None,
) -> None:
    """Tell why MODEL is allowed or refused: the rule, the limit, and every reading that shaped it, in order."""
    settings = Settings.from_environment(kafka=kafka, prefix=prefix, policy=policy)
    settings = settings.on_event_clock() if clock == "event" else settings
    try:
        loaded = load_references(settings.policy) if settings.policy else load_policy(None)
        rulebook = default_rulebook(loaded)
    except PolicyError as error:
        raise click.ClickException(str(error)) from error
    zone = loaded.calendar().zone
    at = None if written is None else instant_in(written, zone)
    question = Question(loaded.canonical(model.removeprefix("model:")), at, loaded, rulebook)
    decided = _from_files(question, files) if files else asyncio.run(_from_history(question, settings))
    explanation = explain(decided, rulebook, loaded.hash)
    if as_json:
        click.echo(json.dumps(document(explanation, zone), ensure_ascii=False))
        return
    _print(explanation, Times(zone, str(decided.facts["day"])))


def _from_files(question: Question, files: tuple[Path, ...]) -> Decided:
    with FileBars(files) as bars:
        recording = Recording(files, question.policy.calendar().zone, bars.show)
        try:
            recalled = recall(recording, question.policy, question.rulebook, question.model, question.at)
        except UnreadableSource as error:
            raise Unreachable(str(error)) from error
        except NothingRecorded as nothing:
            raise _undecided(question, nothing.models, "The recording") from nothing
    return to_decided(recalled.decision, ", ".join(file.name for file in files), recalled.refusal)


async def _from_history(question: Question, settings: Settings) -> Decided:
    # Importing aiokafka takes longer than judging a short recording.
    from streams.delivery.errors import DeliveryError  # noqa: PLC0415
    from streams.explaining.history import History  # noqa: PLC0415
    from streams.topics import BrokerUnavailable, Topics  # noqa: PLC0415

    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters of it is said in one line
    history = History(settings.kafka, Topics(settings.prefix), event_clock=settings.event_clock)
    try:
        newest = await history.newest()
        kept = newest.get(f"model:{question.model}")
        if kept is None:
            where = f"{settings.prefix}.decisions-latest at {settings.kafka}"
            models = [scope.removeprefix("model:") for scope in newest if kind_of(scope) == "model"]
            raise _undecided(question, models, where)
        found = kept if question.at is None else await history.in_force(kept, question.at)
    except (BrokerUnavailable, DeliveryError, UnknownSchemaError) as error:
        raise Unreachable(str(error)) from error
    if found is None:
        raise Undecided(f"The history of {question.model} does not reach back so far.")
    return to_decided(found.decision, found.origin)


def _undecided(question: Question, models: list[str], where: str) -> Undecided:
    when = "" if question.at is None else " up to that time"
    return Undecided(f"{where} decides nothing about {question.model!r}{when}{meant(question.model, models)}")


def _print(explanation: Explanation, times: Times) -> None:
    """Headings stand out on a terminal."""
    console = Console(soft_wrap=True, highlight=False)
    for number, line in enumerate(lines(explanation, times)):
        heading = number == 0 or (line and not line.startswith(" "))
        gives_an_end = line.startswith(("    LOW ", "    HIGH "))
        console.print(Text(line, style="bold" if heading else "green" if gives_an_end else ""))
