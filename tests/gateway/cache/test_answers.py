"""Answers in Redis: layer 3 of admission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from blastdoor_gateway.admission import Admission, Layer, Outcome, Request
from blastdoor_gateway.cache.question import Audience, Question
from blastdoor_gateway.config import Budget, Engine, Rate
from blastdoor_gateway.guard import Guard
from redis import Redis

from tests.gateway.conftest import Clock

TEXT = "请问北京分公司的差旅报销标准是什么"
MINUTE = 60_000


async def ask(guard: Guard, text: str, tenant: str = "a", **more: Any) -> tuple[Admission, Question]:
    question = guard.question(text, Audience(tenant=tenant))
    request = Request(request_id=text + tenant, model="m", tenant=tenant, tokens=100, answers=question.digests)
    return await guard.admit_request(replace(request, **more)), question


async def test_the_same_question_is_answered_once(url: str, guard_on: Callable[..., Guard], redis: Redis) -> None:
    """The second asker gets the answer, nothing is reserved for him, and settling him counts nothing."""
    guard = guard_on(url, default=Budget(daily_tokens=1_000))
    first, question = await ask(guard, TEXT)
    assert first.answer is None
    assert await guard.remember(question, "每天 500 元")
    second, _ = await ask(guard, "北京分公司的差旅报销标准是什么？", request_id="r2")
    assert (second.allowed, second.answer, second.layer, second.rule) == (True, "每天 500 元", Layer.CACHE, "near")
    assert (await guard.settle(second, 100)).outcome is Outcome.NOTHING
    third, _ = await ask(guard, TEXT, request_id="r3")
    assert third.rule == "same"
    other, _ = await ask(guard, TEXT, tenant="b")
    assert other.answer is None
    assert not any(
        TEXT[2:8] in key + str(redis.get(key) if redis.type(key) == "string" else "") for key in redis.scan_iter()
    )


async def test_answers_live_five_minutes(url: str, guard_on: Callable[..., Guard], redis: Redis) -> None:
    """An answer is forgotten by itself."""
    guard = guard_on(url)
    _, question = await ask(guard, TEXT)
    await guard.remember(question, "x")
    lives = [redis.pttl(key) for key in redis.scan_iter("blastdoor:answer:*")]
    assert len(lives) == 2
    assert all(4 * MINUTE < life <= 5 * MINUTE for life in lives)


async def test_an_answer_too_long_is_not_kept(url: str, guard_on: Callable[..., Guard], redis: Redis) -> None:
    """Redis is no store for documents."""
    guard = guard_on(url, longest_answer=10)
    _, question = await ask(guard, TEXT)
    assert not await guard.remember(question, "x" * 11)
    assert list(redis.scan_iter("blastdoor:answer:*")) == []


async def test_earlier_layers_speak_first(url: str, guard_on: Callable[..., Guard]) -> None:
    """A rate and a spent budget refuse even what is in the cache; a hit counts in the rate."""
    guard = guard_on(url, per_user=Rate(2), default=Budget(daily_tokens=100))
    _, question = await ask(guard, TEXT, user="u")
    await guard.remember(question, "x")
    hit, _ = await ask(guard, TEXT, user="u", request_id="r2")
    # Its own reservation of 100 fills the budget, so the second asker is beyond it.
    assert (hit.allowed, hit.rule) == (False, "daily-budget")
    guard = guard_on(url, per_user=Rate(1))
    assert (await ask(guard, TEXT, user="v", request_id="r3"))[0].answer == "x"
    assert (await ask(guard, TEXT, user="v", request_id="r4"))[0].rule == "per-user"


async def test_later_layers_are_not_asked(
    url: str, guard_on: Callable[..., Guard], tell: Callable[..., Any], clock: Clock
) -> None:
    """A blocked model refuses the call but not an answer that needs no call."""
    guard = guard_on(url, engine=Engine())
    tell(counted=0, ceiling=10**6)
    _, question = await ask(guard, TEXT)
    await guard.remember(question, "x")
    tell(action="block")
    assert (await ask(guard, TEXT, request_id="r2"))[0].answer == "x"
    assert not (await ask(guard, "another question that nobody has asked"))[0].allowed
