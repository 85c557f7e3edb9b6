"""The facts of scopes that an operator opens and closes: users, addresses, and everything at once."""

from __future__ import annotations

from rules.facts import Scope, kind_of
from rules.moment import Millis
from rules.scope_facts import FactSpec, FactValue, decimal, flag, text, whole
from rules.switch import Order, Switch

_ORDERS: tuple[FactSpec, ...] = (
    flag("killed", "an operator's `kill` is in force"),
    text("by", "who gave the order in force; empty where there is none", "ann"),
    text("why", "the reason given with it", "a leaked key"),
)
_BANS: tuple[FactSpec, ...] = (flag("banned", "an operator's `ban` is in force"), *_ORDERS)
_DAY = text("day", "accounting day, YYYY-MM-DD", "2026-08-13")

USER_FACTS: tuple[FactSpec, ...] = (
    text("user", "TENANT/NAME", "acme/u1"),
    text("tenant", "the user's tenant", "acme"),
    _DAY,
    *_BANS,
)
IP_FACTS: tuple[FactSpec, ...] = (text("ip", "the address or network", "203.0.113.7", "203.0.113.0/24"), _DAY, *_BANS)
GLOBAL_FACTS: tuple[FactSpec, ...] = (
    _DAY,
    whole("used", "money of the day in nano-units (10⁻⁹), on the policy's basis"),
    whole("limit", "money the day may cost, in nano-units; null without `spend`", nullable=True),
    flag("limit_known", "there is a limit"),
    decimal("share", "used / limit; 0 without a limit"),
    flag("reached", "the day's money has reached the limit, and nobody has resumed since"),
    decimal("money", "money of the day in the policy's currency, for conditions; the sum itself is `used`"),
    decimal("assumed", "the part of it that models without a price cost, by assumption"),
    text("spent", "the day's money in words", "412.50 CNY"),
    text("budget", "the limit in words; empty without one", "500.00 CNY", ""),
    *_ORDERS,
)


def person_facts(scope: Scope, day: str, switch: Switch, now: Millis) -> dict[str, FactValue]:
    """All facts of a user or an address."""
    kind, name = kind_of(scope), scope.partition(":")[2]
    named: dict[str, FactValue] = {kind: name}
    if kind == "user":
        named["tenant"] = name.partition("/")[0]
    return named | {"day": day, "banned": switch.banned(now) is not None} | order_facts(switch.closed(now), switch, now)


def order_facts(order: Order | None, switch: Switch, now: Millis) -> dict[str, FactValue]:
    """Whether an operator closed the scope, and in whose name `order` did."""
    return {
        "killed": switch.killed(now) is not None,
        "by": "" if order is None else order.by,
        "why": "" if order is None else order.why,
    }
