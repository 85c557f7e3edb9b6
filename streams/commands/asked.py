"""What all order commands are asked alike: who, why, under which id, and where the parts are."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar

import click

from rules.moment import DAY, SECOND, Millis
from rules.policy_check.values import BadValueError, duration
from streams.orders.order import new_id
from streams.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

WITHIN = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of an order that do not depend on what is ordered."""

    by: str
    why: str
    id: str | None
    wait: bool
    within: float
    kafka: str | None
    redis: str | None
    policy: str | None
    prefix: str | None

    @property
    def settings(self) -> Settings:
        """Raises SettingsError."""
        return Settings.from_environment(kafka=self.kafka, redis=self.redis, policy=self.policy, prefix=self.prefix)

    @property
    def order_id(self) -> str:
        return self.id or new_id()


class Lasting(click.ParamType):
    """A length of time such as `2h`, in milliseconds."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Millis:
        try:
            return int(duration(SECOND, 400 * DAY)(value))
        except BadValueError as mistake:
            self.fail(str(mistake), param, ctx)


_OPTIONS = (
    click.option("--why", prompt="Why", help="The reason, kept with the order. [asked]"),
    click.option("--by", default=getpass.getuser, metavar="NAME", help="Who orders it. [the user of this session]"),
    click.option("--id", metavar="ID", help="The same id again does nothing again. [a new one]"),
    click.option("--wait/--no-wait", default=True, help="Until a decision shows it, or only until Kafka has it."),
    click.option("--within", default=WITHIN, show_default=True, metavar="SECONDS", help="So long is waited."),
    click.option("--kafka", metavar="HOST:PORT[,…]", help="Bootstrap servers. [BLASTDOOR_KAFKA, 127.0.0.1:9092]"),
    click.option("--redis", metavar="URL", help="Where decisions are. [BLASTDOOR_REDIS, redis://127.0.0.1:6379/0]"),
    click.option("--policy", metavar="FILE", help="For the zone of times and names. [BLASTDOOR_POLICY]"),
    click.option("--prefix", help="Prefix of topics and keys. [BLASTDOOR_PREFIX, blastdoor]"),
)


def asked(command: F) -> F:
    """Gives a command these options, as one argument `asked`."""

    @wraps(command)
    def gather(**given: Any) -> Any:
        common = Asked(**{field.name: given.pop(field.name) for field in fields(Asked)})
        return command(common, **given)

    for option in reversed(_OPTIONS):
        gather = option(gather)
    return gather  # type: ignore[return-value]
