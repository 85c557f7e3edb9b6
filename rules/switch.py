"""Kill, resume, ban and unban: the operator's hand on a scope, as it stands.

The latest order by its own time counts, whatever the order in which they come, and each counts once. So a repeated
`kill` does not undo a `resume`, and a restart finds what was before it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from msgspec import Struct

from rules.facts import Heard, Scope
from rules.moment import DAY, Millis
from rules.records import Control, ControlAction, Reason, Rejected
from rules.rulebook import BANNABLE

IDS_KEPT = 200
ORDERS_TOLD = 8
FORGOTTEN: Millis = 3 * DAY
"""A decision that closes nothing lives two days in Redis."""
NETS = {4: (32, 24), 6: (128, 64, 48)}
"""Prefixes of the networks that gateways look up for an address."""

_CLOSED = ("global", "tenant", "user", "ip"), "; a model is closed by a rule"
_BANNED = BANNABLE, "; close it by kill"
_BUDGETED = ("tenant",), ""
HEEDED: Mapping[ControlAction, tuple[tuple[str, ...], str]] = {
    ControlAction.KILL: _CLOSED,
    ControlAction.RESUME: _CLOSED,
    ControlAction.BAN: _BANNED,
    ControlAction.UNBAN: _BANNED,
    ControlAction.TOPUP: _BUDGETED,
    ControlAction.SET_QUOTA: _BUDGETED,
    ControlAction.FORGET: (("user",), ""),
}
"""The kinds of scope that heed an order, and what is to be done with others."""

_KILLS = {ControlAction.KILL: True, ControlAction.RESUME: False}
_BANS = {ControlAction.BAN: True, ControlAction.UNBAN: False}


class Order(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A control as it was taken: who, when and why."""

    id: str
    at: Millis
    action: str
    by: str
    why: str
    origin: str
    until: Millis | None = None
    tokens: int | None = None


def taken(heard: Heard, control: Control) -> Order:
    """What is kept of a control that was heard."""
    return Order(
        id=control.id,
        at=control.at,
        action=control.action.value,
        by=control.by,
        why=control.why,
        origin=heard.origin,
        until=control.until,
        tokens=control.tokens,
    )


class Switch(Struct, kw_only=True):
    """The orders in force about one scope. Part of its stored state."""

    kill: Order | None = None  # the latest kill or resume
    ban: Order | None = None  # the latest ban or unban
    ids: list[str] = []  # of orders taken, oldest first

    @property
    def told(self) -> tuple[str, ...]:
        """The newest of them, for the decision: who ordered sees there that it was taken."""
        return tuple(self.ids[-ORDERS_TOLD:])

    def hear(self, heard: Heard) -> Order | None:
        """Take a control; the order if it is one of these and was not taken before."""
        control = heard.record
        if not isinstance(control, Control) or control.action not in _KILLS | _BANS or control.id in self.ids:
            return None
        self.ids = [*self.ids, control.id][-IDS_KEPT:]
        order = taken(heard, control)
        if control.action in _KILLS:
            self.kill = _later(self.kill, order)
        else:
            self.ban = _later(self.ban, order)
        return order

    def killed(self, now: Millis) -> Order | None:
        """The kill in force."""
        return _in_force(self.kill, ControlAction.KILL, now)

    def banned(self, now: Millis) -> Order | None:
        """The ban in force."""
        return _in_force(self.ban, ControlAction.BAN, now)

    def closed(self, now: Millis) -> Order | None:
        """Whatever closes the scope; of two orders the one that lasts longer."""
        found = [order for order in (self.killed(now), self.banned(now)) if order is not None]
        return max(found, key=lambda order: (order.until is None, order.until or 0), default=None)

    def is_past(self, at: Millis) -> bool:
        """Whether no order is in force any more, and gates have forgotten that one was."""
        ends = [max(order.at, order.until or 0) for order in (self.kill, self.ban) if order is not None]
        return self.closed(at) is None and max(ends, default=at - FORGOTTEN - 1) < at - FORGOTTEN


def addressed(control: Control) -> Scope | Rejected:
    """The scope a control is about, spelt as gateways look it up; or why nobody would heed it."""
    kind, _, name = control.scope.partition(":")
    kinds, instead = HEEDED[control.action]
    if kind not in kinds:
        return _refused(f"{control.action}: of {' or '.join(kinds)}, not of {control.scope[:80]}{instead}")
    if control.until is not None and control.until <= control.at:
        return _refused("until: does not lie after ts, so the order would never be in force")
    if kind != "ip":
        return control.scope
    net = _net(name)
    return f"ip:{net}" if net else _refused("scope: gateways look up addresses, /24 networks, and /64 and /48 of IPv6")


def _refused(why: str) -> Rejected:
    return Rejected(Reason.BAD_VALUE, why)


def _net(text: str) -> str | None:
    """An address, or a network that gateways look up for the addresses in it."""
    net = ipaddress.ip_network(text.partition("%")[0], strict=False)
    if net.prefixlen == net.max_prefixlen:
        address = net.network_address
        return str(getattr(address, "ipv4_mapped", None) or address)
    return str(net) if net.prefixlen in NETS[net.version] else None


def _later(known: Order | None, order: Order) -> Order:
    return order if known is None or (order.at, order.id) > (known.at, known.id) else known


def _in_force(order: Order | None, action: ControlAction, now: Millis) -> Order | None:
    if order is None or order.action != action.value:
        return None
    return order if order.until is None or now < order.until else None
