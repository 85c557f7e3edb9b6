"""What comes of ruling on a scope: the ruling, and whatever somebody has to hear of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from rules.account import Account
from rules.alerts import Alert
from rules.day_book import DayBook
from rules.facts import Charge
from rules.moment import Millis
from rules.pool_state import Bounds, Metered, Notice
from rules.ruling import Ruling


class Sight(NamedTuple):
    """What is known of a model at an instant."""

    now: Millis
    metered: Metered
    bounds: Bounds
    notices: list[Notice]
    used: int  # tokens since the day began


class Outcome(Struct):
    """A ruling, with what differs from the one before. `news`: anything does. `history`: more than what was used does,
    and the day's account comes with it."""

    ruling: Ruling
    alerts: list[Alert]
    history: bool
    news: bool = True
    account: Account | None = None
    sight: Sight | None = None  # of a model: what it was made from, to be looked at before anything else is applied
    because: Callable[[], Struct] | None = None  # what it stands on; asked for before anything else is applied
    closed: DayBook | None = None  # of the day before, now that all its usage has arrived
    tells: Sequence[Charge] = ()  # what another scope needs to know
