"""An order as data: its id, whether another one says the same, and where on Kafka it goes."""

from __future__ import annotations

from secrets import token_hex

from msgspec.structs import replace

from rules.facts import Scope
from rules.records import Calibration, Control, Rejected
from rules.switch import addressed
from streams.ship.lines import Line
from streams.ship.parcels import Addresser, Parcel
from streams.topics import Topics

Order = Control | Calibration


def new_id() -> str:
    """An id that nobody else makes."""
    return f"order-{token_hex(8)}"


def scope_of(order: Order) -> Scope:
    """The scope whose decision will tell of the order, spelt as gates look it up."""
    if not isinstance(order, Control):
        return f"model:{order.model}"
    scope = addressed(order)
    return order.scope if isinstance(scope, Rejected) else scope


def unheeded(order: Order) -> str:
    """Why nobody would heed the order; empty where somebody does. It is told before anything is sent."""
    scope = addressed(order) if isinstance(order, Control) else ""
    return scope.detail if isinstance(scope, Rejected) else ""


def says_the_same(one: Order, other: Order) -> bool:
    """Whether one is the other sent again: all but the time is equal, which every attempt writes anew."""
    return type(one) is type(other) and replace(one, at=0) == replace(other, at=0)


def parcel(order: Order, topics: Topics, origin: str) -> Parcel:
    """Keyed by scope or model, so that orders of one stay in the order in which they were given."""
    return Addresser(topics).parcel(order, Line(0, b"", 0), origin, order.at)
