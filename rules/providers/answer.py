"""What a poll brings: balances per model with the packages behind them, what could not be placed, or a failure."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rules.moment import Millis, to_rfc3339
from rules.records import Package, Reading


class Balance(Struct, frozen=True, kw_only=True):
    """What is left for one model. `packages` None: the source gives no list."""

    model: str
    available: int
    packages: tuple[Package, ...] | None = None
    settled_until: Millis | None = None
    at: Millis | None = None  # where the source gives the time of the balance itself


class Leftover(Struct, frozen=True, order=True):
    """A package that counts for no model, and why."""

    code: str
    name: str
    id: str
    why: str


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer: it was asked for at `asked_at` and complete at `at`."""

    asked_at: Millis
    at: Millis
    balances: tuple[Balance, ...]
    leftovers: tuple[Leftover, ...] = ()


class Trouble(StrEnum):
    """What can be done about a failure. Label values of a metric: the list is closed."""

    PERMANENT = "permanent"  # asking again cannot help until the operator has changed something
    TEMPORARY = "temporary"


class Failure(Struct, frozen=True, kw_only=True):
    """A poll without a reading. `detail` is fit for logs: it holds no secret. `retry_after` in milliseconds."""

    trouble: Trouble
    code: str
    detail: str
    retry_after: Millis = 0

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code


def temporary(code: str, detail: str = "", retry_after: Millis = 0) -> Failure:
    """A failure that waiting may cure."""
    return Failure(trouble=Trouble.TEMPORARY, code=code, detail=detail, retry_after=retry_after)


def permanent(code: str, detail: str = "") -> Failure:
    """A failure that only the operator can cure."""
    return Failure(trouble=Trouble.PERMANENT, code=code, detail=detail)


def readings(provider: str, answer: Answer) -> list[Reading]:
    """The answer as records, one a model. Its id names provider, model and time, so that a repeat is recognised."""
    return [_reading(provider, answer, balance) for balance in answer.balances]


def _reading(provider: str, answer: Answer, balance: Balance) -> Reading:
    at = answer.at if balance.at is None else min(balance.at, answer.at)
    settled = balance.settled_until
    return Reading(
        id=f"{provider}/{balance.model}/{to_rfc3339(at)}",
        at=at,
        model=balance.model,
        available=balance.available,
        asked_at=min(answer.asked_at, at),
        source=provider,
        settled_until=None if settled is None else min(settled, at),
        packages=balance.packages,
    )
