"""`blastdoor kill`, `resume`, `topup`, `quota`, `ban`, `unban` and `calibrate`: an operator's orders.

Each is put onto Kafka once for an id, and then seen to: until a decision in Redis tells of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from datetime import datetime
from typing import Any

import click
from aiokafka.errors import KafkaError
from blastdoor_gateway.contract import Keys

from rules.intake.reader import Intake
from rules.moment import Millis, to_datetime
from rules.policy import Policy
from rules.records import Calibration, Control, Rejected
from streams.commands.asked import Asked, Lasting, asked
from streams.delivery.errors import DeliveryError
from streams.instant import WrittenInstant, instant_in
from streams.orders.effect import Seen, Sight
from streams.orders.order import Order, unheeded
from streams.orders.send import ConflictError, NotAcknowledgedError, Sent, send_from_here
from streams.policy_file import PolicyError, load_references
from streams.publish.client import open_redis
from streams.topics import BrokerUnavailable, TopicError
from streams.wall_clock import wall_clock

KINDS = ("tenant", "model", "user", "ip")
UNSEEN = 3  # exit code: sent, and no decision tells of it yet

_END = (
    click.option("--until", type=WrittenInstant(), help="Ends then by itself."),
    click.option("--for", "lasting", type=Lasting(), metavar="LENGTH", help="Ends by itself after 30m, 12h, 2d …"),
)


def _example(*lines: str) -> str:
    return "\b\n" + "\n".join(
        ["Example:" if len(lines) == 1 else "Examples:", *(f"  blastdoor {line}" for line in lines)]
    )


def _ending(command: Any) -> Any:
    for option in _END:
        command = option(command)
    return command


@click.command("kill", epilog=_example('kill --why "a leaked key"', "kill tenant:acme --for 2h --why unpaid"))
@click.argument("scope", default="global")
@_ending
@asked
def kill(given: Asked, scope: str, until: datetime | None, lasting: Millis | None) -> None:
    """Refuse all calls of SCOPE [global] until `resume`, or until a time."""
    give(given, {"action": "kill", "scope": scope} | _until(given, until, lasting))


@click.command("resume", epilog=_example('resume --why "the key is revoked"', "resume tenant:acme --why paid"))
@click.argument("scope", default="global")
@asked
def resume(given: Asked, scope: str) -> None:
    """Take the newest kill of SCOPE [global] back, whether a person or the day's spend closed it."""
    give(given, {"action": "resume", "scope": scope})


@click.command(
    "topup",
    epilog=_example(
        "topup acme 100000 --why bought", "topup acme 100000 --until 2099-09-30 --why 'a pack' --id invoice-42"
    ),
)
@click.argument("tenant")
@click.argument("tokens", type=click.IntRange(1))
@_ending
@asked
def topup(given: Asked, tenant: str, tokens: int, until: datetime | None, lasting: Millis | None) -> None:
    """Give TENANT so many TOKENS more, for the current window or until a time."""
    give(given, {"action": "topup", "scope": _tenant(tenant), "tokens": tokens} | _until(given, until, lasting))


@click.command(
    "quota", epilog=_example("quota acme 3000000 --why 'a new contract'", "quota acme 0 --for 1d --why 'a drill'")
)
@click.argument("tenant")
@click.argument("tokens", type=click.IntRange(0))
@_ending
@asked
def quota(given: Asked, tenant: str, tokens: int, until: datetime | None, lasting: Millis | None) -> None:
    """Set the daily budget of TENANT, in place of the policy's, to so many TOKENS, until the next or until a time."""
    give(given, {"action": "set_quota", "scope": _tenant(tenant), "tokens": tokens} | _until(given, until, lasting))


@click.command(
    "ban",
    epilog=_example("ban ip:203.0.113.0/24 --for 2d --why 'a script'", "ban user:acme/u1 --why 'a shared account'"),
)
@click.argument("scope")
@_ending
@asked
def ban(given: Asked, scope: str, until: datetime | None, lasting: Millis | None) -> None:
    """Refuse all calls of SCOPE (ip:NET or user:TENANT/NAME) until `unban`, or until a time."""
    give(given, {"action": "ban", "scope": scope} | _until(given, until, lasting))


@click.command("unban", epilog=_example("unban ip:203.0.113.0/24 --why 'it was a proxy'"))
@click.argument("scope")
@asked
def unban(given: Asked, scope: str) -> None:
    """Take a ban of SCOPE back."""
    give(given, {"action": "unban", "scope": scope})


@click.command("calibrate", epilog=_example("calibrate deepseek-v4-flash 2242178 --why 'the console'"))
@click.argument("model")
@click.argument("pool", type=click.IntRange(0))
@click.option("--day", default="", help="The day at whose start the console showed it. [today]")
@click.option("--force", is_flag=True, help="Believe it even where it contradicts the readings.")
@asked
def calibrate(given: Asked, model: str, pool: int, day: str, *, force: bool) -> None:
    """Tell that the provider's console showed POOL free tokens of MODEL when a day began."""
    policy = _policy(given)
    today = policy.calendar().day(wall_clock())
    give(given, {"type": "calibration", "model": policy.canonical(model), "day": day or today, "pool": pool,
                  "force": force})  # fmt: skip


def _tenant(name: str) -> str:
    """The scope of a tenant's name; another kind of scope stays what it is, and is refused as such."""
    return name if name.partition(":")[0] in KINDS and ":" in name else f"tenant:{name}"


def _until(given: Asked, until: datetime | None, lasting: Millis | None) -> dict[str, Any]:
    if until is not None and lasting is not None:
        raise click.UsageError("--until and --for say the same: give one of them")
    zone = _policy(given).calendar().zone
    if until is None and lasting is None:
        return {}
    end = wall_clock() + (lasting or 0) if until is None else instant_in(until, zone)
    if end <= wall_clock():
        raise click.UsageError("the end lies in the past")
    return {"until": to_datetime(end, zone).isoformat()}


def _policy(given: Asked) -> Policy:
    try:
        path = given.settings.policy
        return Policy() if path is None else load_references(path)
    except PolicyError as error:
        raise click.ClickException(str(error)) from error


def give(given: Asked, what: dict[str, Any]) -> None:
    """Send it and see to it. Exit codes: 1 not sent, 2 no order at all, 3 sent and not seen."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters of it is said in one line
    policy, now = _policy(given), wall_clock()
    zone = policy.calendar().zone
    head = {"type": "control", "id": given.order_id, "ts": to_datetime(now, zone).isoformat()}
    # Through the door that all others come in by: the same checks, in the same words.
    order = Intake(zone).read(json.dumps(head | what | {"by": given.by, "why": given.why}).encode())
    if isinstance(order, Rejected):
        raise click.UsageError(order.detail)
    if not isinstance(order, Control | Calibration):
        raise click.UsageError("this is no order")
    if why := unheeded(order):
        raise click.UsageError(why)
    try:
        sent, seen = asyncio.run(_run(given, order, policy))
    except (BrokerUnavailable, TopicError, DeliveryError, KafkaError, ConflictError, NotAcknowledgedError) as error:
        raise click.ClickException(str(error)) from error
    _tell(given, order, sent, seen)


async def _run(given: Asked, order: Order, policy: Policy) -> tuple[Sent, Seen | None]:
    settings = given.settings
    redis = open_redis(settings.redis)
    sight = Sight(redis, Keys(settings.prefix), order)
    try:
        if given.wait:
            await sight.begin()
        sent = await send_from_here(settings, order, policy.calendar().zone)
        wanted = given.wait and sent.before is None
        return sent, await sight.wait(given.within) if wanted else None
    finally:
        await redis.aclose()


def _tell(given: Asked, order: Order, sent: Sent, seen: Seen | None) -> None:
    if sent.before is not None:
        click.echo(f"{order.id}: was ordered before, at {sent.before.origin}; nothing is done again")
        return
    if seen is None:
        click.echo(f"{order.id}: ordered")
    elif not seen.shown:
        click.echo(
            f"{order.id}: ordered, but no decision in Redis tells of it after {given.within:g} s; "
            "is a worker running? see blastdoor doctor",
            err=True,
        )
        sys.exit(UNSEEN)
    elif seen.decision is None:
        click.echo(f"{order.id}: ordered; nothing is decided about it any more")
    else:
        decision = seen.decision
        click.echo(f"{order.id}: ordered; {decision.scope} is now {decision.action}: {decision.reason}")
