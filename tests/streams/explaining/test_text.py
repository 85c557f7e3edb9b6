"""What a person reads: golden texts of each kind, within 80 columns."""

from __future__ import annotations

import pytest
from blastdoor_gateway.contract import Action, Decision

from rules.explain import explain
from streams.explaining.decided import to_decided
from streams.explaining.text import lines
from streams.explaining.wording import Times, amount, folded, place, short, span
from tests.streams.explaining.golden import GOLDEN, POLICY, RULEBOOK, ZONE, text

BARE = Decision(
    scope="model:m", action=Action.BLOCK, rule="model-pool-spent", reason="used up", day="2026-08-13",
    decided_at="2026-08-13T11:08:00+08:00", version=(7, 1), policy="defaults", formula="interval", wall="pool",
    limit=10, used=20,
)  # fmt: skip


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_each_kind_reads_as_agreed(path) -> None:
    """Rule, walls, both ends, every reading with its sum; a changed word is a changed golden text."""
    assert text(path.stem) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_it_fits_eighty_columns_and_a_minute(path) -> None:
    """No line is longer than 80 characters, no text longer than 60 lines."""
    told = path.read_text(encoding="utf-8").splitlines()
    assert max(map(len, told)) <= 80
    assert len(told) <= 60


def test_a_decision_without_grounds_says_what_it_can() -> None:
    """One of another version has its rule and its limit, and says why no more is told."""
    told = "\n".join(tell(BARE))
    assert 'when limit_known && used >= limit && wall != "cap"' in told
    assert "The limit: 10 tokens a day; 20 used, nothing left" in told
    assert "carries no grounds" in told
    assert "What shaped it" not in told


def test_another_policy_is_named() -> None:
    """The text of a rule may have changed since: then it is not shown, and the policy that decided is named."""
    told = "\n".join(tell(Decision(**vars_of(BARE) | {"policy": "abc123"})))
    assert "Policy abc123 decided" in told
    assert "when" not in told


def test_long_names_are_folded() -> None:
    """A reading's id is as long as its sender likes; lines stay within 80 characters."""
    rule = Decision(**vars_of(BARE) | {"reason": "word " * 60, "scope": "model:" + "x" * 120})
    assert max(map(len, tell(rule))) <= 80


@pytest.mark.parametrize(
    ("length", "told"), [(20_000, "20 s"), (1_800_000, "30 min"), (3_600_000, "1 h"), (11_460_000, "3 h 11 min")]
)
def test_lengths_of_time_are_short(length: int, told: str) -> None:
    """Two units at most."""
    assert span(length) == told


def test_places_are_names_and_positions() -> None:
    """A file goes by its name and line, a Kafka position is left whole."""
    assert place("/var/log/gateway.log:12") == "gateway.log:12"
    assert place("blastdoor.balances/3/17") == "blastdoor.balances/3/17"
    assert place("") == ""


def test_ids_are_shortened_only_when_long() -> None:
    """Twenty letters are whole."""
    assert short("bal-3007-2839") == "bal-3007-2839"
    assert short("log-4a7b99ab0decaaaaaaaaaa") == "log-4a7b99ab…"


def test_amounts_are_one_number_where_they_can_be() -> None:
    """An interval only where both ends differ."""
    assert amount(5, 5) == "5"
    assert amount(1_000, 2_000) == "1,000 to 2,000"


def test_a_text_without_words_has_no_lines() -> None:
    """Folding nothing gives nothing."""
    assert folded("") == []


def tell(decision: Decision) -> list[str]:
    decided = to_decided(decision, "blastdoor.decisions/0/1")
    return list(lines(explain(decided, RULEBOOK, POLICY.hash), Times(ZONE, decision.day)))


def vars_of(decision: Decision) -> dict[str, object]:
    return {name: getattr(decision, name) for name in Decision.__dataclass_fields__}
