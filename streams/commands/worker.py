"""`blastdoor worker`: one worker process, ended by a signal or by any error; a supervisor starts it again."""

from __future__ import annotations

import sys

import click

from streams.api.server import ListenError, check_free, split_address
from streams.channels.build import ChannelError
from streams.commands.misuse import MisuseError
from streams.counting import counting_of
from streams.delivery.run import configure_logging
from streams.log_lines import FORMATS
from streams.policy_file import PolicyError, default_rulebook, load_policy
from streams.settings import Settings
from streams.topics import BrokerUnavailable, TopicError


@click.command(
    epilog="""\b
Examples:
  blastdoor worker --kafka kafka:9092 --redis redis://redis:6379/0 --policy policy.yaml
  BLASTDOOR_KAFKA=kafka:9092 BLASTDOOR_REDIS=redis://redis:6379/0 blastdoor worker"""
)
@click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]")
@click.option("--redis", metavar="URL", help="Redis of the gateways. [BLASTDOOR_REDIS, redis://127.0.0.1:6379/0]")
@click.option("--policy", metavar="FILE", help="Policy; without one the built-in defaults hold. [BLASTDOOR_POLICY]")
@click.option("--http", metavar="HOST:PORT", help="Address of /metrics and /ready. [BLASTDOOR_HTTP, 127.0.0.1:6066]")
@click.option("--prefix", help="Prefix of topics and keys. [BLASTDOOR_PREFIX, blastdoor]")
@click.option("--log-format", type=click.Choice(FORMATS), help="[BLASTDOOR_LOG_FORMAT, human]")
@click.option("--traces", type=click.Choice(["off", "on"]), help="Hand on traceparents. [BLASTDOOR_TRACES, off]")
@click.option(
    "--user-metrics",
    type=click.Choice(["off", "on"]),
    help="Show names of users in metrics. [BLASTDOOR_USER_METRICS, off]",
)
@click.option(
    "--counting",
    type=click.Choice(["auto", "native", "python"]),
    help="Count with the compiled core (auto: where it is) or without. [BLASTDOOR_COUNTING, auto]",
)
@click.option(
    "--clock",
    type=click.Choice(["wall", "event"]),
    default="wall",
    show_default=True,
    help="event: recordings bring their own times.",
)
def command(
    kafka: str | None,
    redis: str | None,
    policy: str | None,
    http: str | None,
    prefix: str | None,
    log_format: str | None,
    traces: str | None,
    user_metrics: str | None,
    counting: str | None,
    clock: str,
) -> None:
    """Meter usage, judge limits, publish decisions to Redis and notify people."""
    settings = Settings.from_environment(
        kafka=kafka,
        redis=redis,
        policy=policy,
        http=http,
        prefix=prefix,
        log_format=log_format,
        traces=traces,
        user_metrics=user_metrics,
        counting=counting,
    )
    configure_logging(form=settings.log_format)
    if clock == "event":
        settings = settings.on_event_clock()
    try:
        split_address(settings.http)
        count = counting_of(settings.counting)
        loaded = load_policy(settings.policy)
        rulebook = default_rulebook(loaded)
        _check_free(settings.http)
        from streams.worker import work  # noqa: PLC0415 - Faust takes a while to import; a mistake is told at once

        sys.exit(work(settings, loaded, rulebook, count))
    except BrokerUnavailable as error:
        raise click.ClickException(str(error)) from error
    except (PolicyError, ChannelError, TopicError, ListenError) as error:
        raise MisuseError(str(error)) from error


def _check_free(address: str) -> None:
    """Exit code 1, unlike a mistake: who holds the port may be about to leave."""
    try:
        check_free(address)
    except ListenError as error:
        raise click.ClickException(f"{error} (another address: --http or BLASTDOOR_HTTP)") from error
