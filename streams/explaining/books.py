"""The day's books in an explanation: the ledger line by line, and what is to come."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
from blastdoor_gateway.contract import Decision

from rules.account import Account
from rules.ledger import Amount, Ledger
from rules.moment import Millis, from_datetime
from rules.outlook import Outlook, Unused
from streams.explaining.wording import Times, amount, folded, short


def read_account(decision: Decision) -> Account | None:
    """The account that a decision carries; None of a step of usage, or where it is not understood here."""
    if decision.returned is None:
        return None
    try:
        return Account(
            ledger=msgspec.convert(decision.ledger, Ledger) if decision.ledger else None,
            outlook=_outlook(decision, decision.returned),
        )
    except (msgspec.ValidationError, KeyError, TypeError, ValueError):
        return None


def books(account: Account, times: Times) -> Iterator[str]:
    """The section for a person."""
    ledger, ahead = account.ledger, account.outlook
    yield "The day's books"
    if ledger is None:
        yield "  no ledger: an end of the pool is unknown"
    else:
        yield from folded(f"  {_sum(ledger)}", "  ")
        if not ledger.meets and ledger.carried is not None:
            yield from folded(f"  The evening before left {amount(*ledger.carried)}: the two do not meet.")
    yield from folded(f"  {_return(ahead)}")
    if ahead.runs_out_at is not None:
        yield f"  By the rhythm of the last day the pool is used up at {times.minute(ahead.runs_out_at)}."
    for unused in ahead.will_expire:
        end = f"Package {short(unused.id)} will end at {times.minute(unused.expires)}"
        use = f"{ahead.needed_per_day:,} a day would use them up"
        yield from folded(f"  {end} with some {unused.tokens:,} tokens left; {use}.")


def _outlook(decision: Decision, returned: int) -> Outlook:
    return Outlook(
        expected_return=decision.expected_return,
        returned=returned,
        overdue=bool(decision.return_overdue),
        runs_out_at=None if decision.runs_out_at is None else _instant(decision.runs_out_at),
        will_expire=tuple(
            Unused(name, _instant(unused["expires"]), int(unused["tokens"]))
            for name, unused in decision.will_expire.items()
        ),
        needed_per_day=decision.needed_per_day or 0,
    )


def _sum(ledger: Ledger) -> str:
    """Zeros are left out, but for what came and what was used."""
    none = Amount(0, 0)
    terms = [f"{amount(*ledger.opening)} at first + {amount(*ledger.returns)} returned"]
    terms += [f"+ {amount(*ledger.charged)} charged"] if ledger.charged != none else []
    terms += [f"- {ledger.used:,} used"]
    terms += [f"- {amount(*ledger.expired)} expired"] if ledger.expired != none else []
    terms += [f"- {amount(*ledger.unexplained)} unexplained"] if ledger.unexplained != none else []
    return f"{' '.join(terms)} = {amount(*ledger.closing)} left"


def _return(ahead: Outlook) -> str:
    came = f"{ahead.returned:,} came so far"
    if ahead.expected_return is None:
        return f"What comes back today is not known: yesterday was not metered in full; {came}."
    late = ", the rest is overdue" if ahead.overdue else ""
    return f"Of yesterday's usage {ahead.expected_return:,} are expected back; {came}{late}."


def to_object(account: Account | None, time: Any) -> dict[str, Any]:
    """The same for scripts; `time` writes an instant."""
    if account is None:
        return {"ledger": None, "outlook": None}
    ledger, ahead = account.ledger, account.outlook
    return {
        "ledger": None if ledger is None else msgspec.to_builtins(ledger) | {"meets": ledger.meets},
        "outlook": {
            "expected_return": ahead.expected_return,
            "returned": ahead.returned,
            "overdue": ahead.overdue,
            "runs_out_at": time(ahead.runs_out_at),
            "will_expire": [
                {"id": unused.id, "expires": time(unused.expires), "tokens": unused.tokens}
                for unused in ahead.will_expire
            ],
            "needed_per_day": ahead.needed_per_day,
        },
    }


def _instant(text: str) -> Millis:
    return from_datetime(datetime.fromisoformat(text))
