"""Days, money, rates, estimates and words: the small values a gate is made of."""

from __future__ import annotations

import re
from datetime import UTC

import pytest
from blastdoor_gateway.calendar import Calendar as GateCalendar
from blastdoor_gateway.config import ConfigError, Engine, Gate, Rate, Spend
from blastdoor_gateway.estimate import estimate_of
from blastdoor_gateway.money import Price, Tokens, to_nano
from blastdoor_gateway.words import SENTENCES, model_line, sentence, tenant_line, usage_line
from hypothesis import given
from hypothesis import strategies as st

from rules.calendar import Calendar
from rules.intake.log_line import log_record
from rules.records import Refusal, Usage

ZONES = ["UTC", "Asia/Shanghai", "Europe/Amsterdam", "America/St_Johns", "Pacific/Apia"]


@given(
    zone=st.sampled_from(ZONES),
    starts=st.sampled_from(["00:00", "17:00", "05:30"]),
    at=st.integers(1_600_000_000_000, 2_000_000_000_000),
)
def test_a_gates_days_are_the_engines(zone: str, starts: str, at: int) -> None:
    """Both count the same day at every instant, and it ends when the next one begins."""
    ours, theirs = GateCalendar(zone, starts).windows(at), Calendar(zone, starts)
    assert ours.day == theirs.day(at)
    assert (ours.day_starts, ours.day_ends) == (theirs.start(ours.day), theirs.end(ours.day))
    assert ours.yesterday == theirs.previous(ours.day)
    assert ours.month == ours.day[:7]
    assert theirs.day(ours.month_ends)[:7] != ours.month == theirs.day(ours.month_ends - 1)[:7]


@pytest.mark.parametrize(
    ("characters", "answer", "tokens"),
    [(0, None, 500), (2_400, None, 1_700), (10, 100, 105), (10**9, None, 131_072), (0, -5, 500), (0, 0, 1)],
)
def test_an_estimate_is_bounded(characters: int, answer: int | None, tokens: int) -> None:
    """Half the prompt and the answer asked for, 500 where none is; never the whole headroom."""
    assert estimate_of(characters, answer, Gate().most_estimate) == tokens


def test_cached_tokens_are_charged_once() -> None:
    """262,960 of prompt, 257,955 of them cached, 1,744 of answer at 1.25/0.625/10 cost 0.184917875, rounded up."""
    tokens = Tokens(262_960 + 1_744, prompt=262_960, completion=1_744, cached=257_955)
    assert Price.of("1.25", "10", "0.625").cost(tokens) == 184_918_125


def test_money_has_no_float_tail() -> None:
    """A thousand calls of 0.4 millionths are 400 millionths."""
    price = Price.of("0.4", "0.4")
    assert sum(price.cost(Tokens(1, 1)) for _ in range(1_000)) == to_nano("0.0004")


@pytest.mark.parametrize("text", ["-1", "many", "0.0000000001", "inf", "10001", "0.0000025", "0.00009"])
def test_a_price_that_cannot_be_meant_is_a_mistake(text: str) -> None:
    """Negative, no number, finer than a nano-unit, or of another unit: a thousand times too high, a million too low."""
    with pytest.raises(ValueError, match=r"price|amount"):
        Price.of(text, "1")


@pytest.mark.parametrize("text", ["10", "10/day", "0/min", "-1/min", "1.5/s"])
def test_a_rate_that_cannot_be_meant_is_a_mistake(text: str) -> None:
    """A rate is a whole number of calls in a second, minute or hour."""
    with pytest.raises(ConfigError):
        Rate.of(text)


def test_a_spend_that_cannot_be_meant_is_a_mistake() -> None:
    """A basis nobody knows and a negative limit are refused when they are written."""
    with pytest.raises(ConfigError):
        Spend(basis="some")
    with pytest.raises(ConfigError):
        Spend(daily=-1)


def test_log_lines_are_those_that_operators_search_for() -> None:
    """The engine reads our lines as it reads those of older gateways."""
    stamp = "2026-08-13 11:22:08,900 INFO "
    usage = log_record(stamp + usage_line("m", "ba0383d3", 2_439, 73_257, 2_242_178, 2_000_000), UTC)
    assert isinstance(usage, Usage)
    assert (usage.model, usage.key_hash, usage.total_tokens, usage.today) == ("m", "ba0383d3", 2_439, 73_257)
    refusal = log_record(stamp + model_line("m", "1696135", 16, "296869"), UTC)
    assert isinstance(refusal, Refusal)
    assert (refusal.usage, refusal.reserve, refusal.limit) == (1_696_135, 16, 296_869)
    assert tenant_line("acme", "500000") == "🚫 [防爆门触发] 租户 [acme] 今日 Token 配额 (500000) 已用尽，已阻断调用！"


def test_every_rule_has_a_sentence() -> None:
    """Every rule of the scripts is explained in words; those of the engine bring their own."""
    from blastdoor_gateway.scripts import ADMIT

    rules = set(re.findall(r"'([a-z]+(?:-[a-z]+)+)'", ADMIT.text)) - {"per-"}
    names = {"tenant": "t", "model": "m", "reserve": 1, "cause": "slow"}
    assert rules - SENTENCES.keys() == set()
    for rule in SENTENCES:
        said = sentence(rule, "", {"used": "1", "limit": "2", "scope": "model"}, names)
        assert "{" not in said
        assert len(said) > len(rule)
    assert Engine().grace > Engine().stale_after
