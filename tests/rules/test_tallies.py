"""Tallies: of a group of tenants only those are looked at that used something."""

from __future__ import annotations

from rules.facts import Tally
from rules.policy import Policy
from rules.tallies import Tallies

DAY = "2026-08-13"


def tally(offset: int, **tokens: int) -> Tally:
    return Tally(0, DAY, 7, 0, offset, {tenant: [amount, 1, 0, 0, 0, 0] for tenant, amount in tokens.items()})


def said(tallies: Tallies, found: Tally) -> dict[str, int]:
    return {partial.scope: partial.sums.tokens for partial in tallies.note(found)}


def test_a_later_tally_says_what_has_changed() -> None:
    """Tenants whose sums are the same have used nothing since."""
    tallies = Tallies(Policy())
    assert said(tallies, tally(1, a=5, b=7)) == {"tenant:a": 5, "tenant:b": 7}
    assert said(tallies, tally(2, a=5, b=8, c=1)) == {"tenant:b": 8, "tenant:c": 1}
    assert said(tallies, tally(2, a=5, b=8, c=1)) == {}


def test_an_earlier_tally_is_not_held() -> None:
    """What a former owner still sends is told, for the books to refuse, and changes nothing that is held."""
    tallies = Tallies(Policy())
    tallies.note(tally(9, a=9))
    assert said(tallies, tally(3, a=3)) == {"tenant:a": 3}
    assert said(tallies, tally(10, a=9)) == {}
