"""What a finished call cost, from what it was let in on."""

from __future__ import annotations

from blastdoor_gateway.admission import Admission
from blastdoor_gateway.config import Gate
from blastdoor_gateway.money import Nano, Price, Tokens


def money_of(admission: Admission, used: Tokens, gate: Gate) -> Nano:
    """What the call counts against the day's spend; 0 where nothing limits that.

    Tokens that were free when the call was let in stay free; what it used beyond them costs its share of the list
    price, rounded up.
    """
    price = _price(admission, gate)
    if price is None or used.total == 0:
        return 0
    charged = max(0, used.total - admission.terms.free)
    return -(-price.cost(used) * charged // used.total)


def _price(admission: Admission, gate: Gate) -> Price | None:
    """A call let in without Redis has no price told: the configured one, else the assumed one."""
    if admission.terms.price is not None or gate.spend is None or not admission.local or gate.spend.daily is None:
        return admission.terms.price
    return gate.spend.prices.get(admission.request.model, gate.spend.assumed)
