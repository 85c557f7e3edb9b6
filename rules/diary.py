"""What a book without a pool keeps of its rulings, and how one becomes an outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, field

from rules.announce import Announced, announce
from rules.episodes import Condition
from rules.moment import Millis
from rules.outcome import Outcome
from rules.policy import Alerting
from rules.rule_memory import Held
from rules.ruling import Ruling, changed, is_history
from rules.switch import Order, Switch


class Diary(Struct, kw_only=True):
    """Stored with the book."""

    born: Millis = 0  # when the counter began
    announced: Announced = Announced()
    last: Ruling | None = None  # the newest in the history
    switch: Switch = field(default_factory=Switch)
    rules: dict[str, Held] = {}  # what rules with `for:`, `clear:` or a ban remember


class Ordered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a decision stands on where an operator gave orders: those that came with it."""

    orders: tuple[Order, ...] = ()


def entered(
    diary: Diary,
    ruling: Ruling,
    before: Ruling | None,
    alerting: Alerting,
    *,
    orders: Iterable[Order] = (),
    concerns: Iterable[Condition] = (),
    because: Callable[[], Struct] | None = None,
) -> Outcome:
    """The outcome of a ruling. With an order it is history whatever it changes: who gave it is kept with it."""
    told = tuple(orders)
    alerts, diary.announced = announce(ruling, [], diary.announced, alerting, (), concerns)
    news = bool(told) or bool(alerts) or changed(before, ruling)
    history = news and (bool(told) or is_history(diary.last, ruling))
    if history:
        diary.last = ruling
    return Outcome(ruling, alerts, history, news, because=because or (lambda: Ordered(orders=told)))
