"""The hooks with what LiteLLM hands them, without LiteLLM: plain objects and dicts of the same shape."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import json
import sys
from collections.abc import Callable
from datetime import UTC
from types import SimpleNamespace
from typing import Any

import pytest
from blastdoor_gateway.admission import Admission, Do, Standing
from blastdoor_gateway.config import Budget, Failure, Falls, Gate
from blastdoor_gateway.events.outbox import Batch, Outbox
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.litellm.call import characters_in, request_from
from blastdoor_gateway.litellm.hooks import Hooks
from blastdoor_gateway.litellm.refusal import MARK, detail_of, headers_of
from blastdoor_gateway.litellm.used import used_of
from hypothesis import given
from hypothesis import strategies as st

from rules.intake.litellm import is_litellm, litellm_usage
from rules.intake.reader import Intake

KEY = SimpleNamespace(api_key="ba0383d3ffff", user_id="u1", team_id="acme", end_user_id="spoofed")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


class Shelf:
    """A carrier that keeps."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def deliver(self, batch: Batch) -> None:
        self.events += [json.loads(value) for _, value in batch]

    async def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def hooks(url: str, guard_on: Callable[..., Guard], shelf: Shelf) -> Hooks:
    return Hooks(guard_on(url, default=Budget(daily_tokens=10_000)), Outbox(shelf))


def data(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"model": "m", "litellm_call_id": call_id, "messages": [{"role": "user", "content": "x" * 200}]} | more


def logged(call_id: str = "c1", total: Any = 30, **more: Any) -> dict[str, Any]:
    payload = {
        "litellm_call_id": call_id, "call_type": "acompletion", "endTime": 1_786_593_600.0, "model_group": "m",
        "status": "success", "prompt_tokens": 10, "completion_tokens": 20, "total_tokens": total,
        "metadata": {"user_api_key_team_id": "acme", "user_api_key_user_id": "u1", "user_api_key_hash": "ba0383d3ffff"},
    }  # fmt: skip
    return {"litellm_call_id": call_id, "standard_logging_object": payload | more}


async def used_today(hooks: Hooks, tenant: str = "acme") -> tuple[int, int]:
    standing = await hooks.guard.standing(tenant)
    assert isinstance(standing, Standing)
    return standing.day.used, standing.day.held


async def test_a_call_from_begin_to_end(hooks: Hooks, shelf: Shelf) -> None:
    """Admitted with an estimate, settled with what was used; the event says the same, and the engine can read it."""
    admission = await hooks.admit(KEY, data(), "acompletion")
    assert (admission.request.tokens, admission.request.user, admission.request.key_hash) == (600, "u1", "ba0383d3")
    assert await used_today(hooks) == (0, 600)
    usage_object = {"prompt_tokens_details": {"cached_tokens": 4}}
    metadata = {"usage_object": usage_object, "requester_metadata": {"department": "rd", "knowledge_base": "handbook"}}
    await hooks.succeeded(logged(metadata=metadata))
    assert await used_today(hooks) == (30, 0)
    (event,) = shelf.events
    read = Intake(UTC).read(json.dumps(event).encode())
    assert read.id == admission.request_id  # type: ignore[union-attr]
    assert (event["total_tokens"], event["cached_tokens"], event["department"]) == (30, 4, "rd")


async def test_logged_twice_is_counted_once(hooks: Hooks, shelf: Shelf) -> None:
    """One call that LiteLLM logs twice is one event and is counted once."""
    await hooks.admit(KEY, data(), "acompletion")
    await hooks.succeeded(logged())
    await hooks.succeeded(logged())
    await asyncio.sleep(0)
    assert await used_today(hooks) == (30, 0)
    assert len(shelf.events) == 1


async def test_attempts_that_failed_are_not_lost(hooks: Hooks, shelf: Shelf) -> None:
    """Two attempts fail, one of them after 8 tokens, the third succeeds: one request with all of their tokens."""
    await hooks.admit(KEY, data(), "acompletion")
    await hooks.attempt_failed(logged(status="failure", total=0, prompt_tokens=0, completion_tokens=0))
    await hooks.attempt_failed(logged(status="failure", total=8, prompt_tokens=0, completion_tokens=8))
    await hooks.succeeded(logged())
    assert await used_today(hooks) == (38, 0)
    assert [event["total_tokens"] for event in shelf.events] == [38]


async def test_usage_that_comes_after_the_failure_counts(hooks: Hooks, shelf: Shelf) -> None:
    """The request has failed and was given back; tokens that become known afterwards are an event of their own."""
    await hooks.admit(KEY, data(), "acompletion")
    await hooks.failed(data())
    assert await used_today(hooks) == (0, 0)
    await hooks.attempt_failed(logged(status="failure", total=8, prompt_tokens=0, completion_tokens=8))
    assert await used_today(hooks) == (8, 0)
    assert [event["total_tokens"] for event in shelf.events] == [0, 8]
    assert len({event["id"] for event in shelf.events}) == 2


async def test_a_cache_hit_is_a_request_without_tokens(hooks: Hooks, shelf: Shelf) -> None:
    """LiteLLM logs the tokens of the first answer again: they are told as saved and counted nowhere."""
    await hooks.admit(KEY, data(), "acompletion")
    await hooks.succeeded(logged(cache_hit=True))
    assert await used_today(hooks) == (0, 0)
    assert (shelf.events[0]["cache_hit"], shelf.events[0]["total_tokens"]) == (True, 30)


@pytest.mark.parametrize("total", [-1, "30", 2.5, True, 10**12])
async def test_tokens_that_cannot_be_believed_count_as_reserved(hooks: Hooks, shelf: Shelf, total: Any) -> None:
    """A number of tokens that is none never frees the call: what was reserved counts, marked as an estimate."""
    await hooks.admit(KEY, data(), "acompletion")
    await hooks.succeeded(logged(total=total))
    assert await used_today(hooks) == (600, 0)
    assert (shelf.events[0]["total_tokens"], shelf.events[0]["estimated"]) == (600, True)


async def test_our_own_refusal_is_no_usage(hooks: Hooks, shelf: Shelf) -> None:
    """A refused call leaves no event and no count, whatever LiteLLM logs of it; the engine knows it by its mark."""
    admission = await hooks.admit(KEY, data(max_tokens=20_000), "acompletion")
    assert (admission.allowed, admission.action) == (False, Do.DEGRADE)
    await hooks.failed(data())
    await hooks.attempt_failed(logged(status="failure", total=0, prompt_tokens=0, completion_tokens=0))
    assert (shelf.events, await used_today(hooks)) == ([], (0, 0))
    detail = detail_of(admission)
    assert detail["error"].startswith(MARK)
    assert headers_of(admission) == {"Retry-After": str(12 * 3600)}
    refused = logged(status="failure", total=0, prompt_tokens=0, completion_tokens=0, error_str=f"429: {detail}")
    raw = json.dumps(refused["standard_logging_object"]).encode()
    assert is_litellm(json.loads(raw))
    assert litellm_usage(raw, UTC) is None


async def test_a_call_that_was_never_admitted_is_counted(hooks: Hooks, shelf: Shelf) -> None:
    """A route without hooks, or a call of LiteLLM's own within a request, is counted for whom it was made."""
    await hooks.admit(KEY, data("outer"), "acompletion")
    await hooks.succeeded(logged("inner"))
    assert await used_today(hooks) == (30, 600)
    assert [(event["tenant"], event["user"], event["total_tokens"]) for event in shelf.events] == [("acme", "u1", 30)]


async def test_requests_do_not_mix(hooks: Hooks, shelf: Shelf) -> None:
    """Parallel requests under one call id, chosen by a client, each settle their own admission."""

    async def request() -> None:
        await hooks.admit(KEY, data("same"), "acompletion")
        await asyncio.sleep(0)
        await asyncio.get_running_loop().create_task(hooks.succeeded(logged("same")))

    tasks = [asyncio.create_task(request(), context=contextvars.copy_context()) for _ in range(5)]
    await asyncio.gather(*tasks)
    assert await used_today(hooks) == (150, 0)
    assert len({event["id"] for event in shelf.events}) == 5


@pytest.mark.parametrize(("falls", "allowed"), [(Falls.CLOSED, False), (Falls.OPEN, True)])
async def test_a_mistake_of_ours_is_never_an_error_500(
    url: str, guard_on: Callable[..., Guard], monkeypatch: pytest.MonkeyPatch, falls: Falls, allowed: bool
) -> None:
    """If admission itself breaks, the call falls the way the model layer falls; nothing is raised."""
    guard = guard_on(url, failure=Failure(model=falls))

    async def broken(_: Any) -> Admission:
        raise RuntimeError

    monkeypatch.setattr(guard, "admit_request", broken)
    admission = await Hooks(guard, None).admit(KEY, data(), "acompletion")
    assert (admission.allowed, admission.rule) == (allowed, "gate-error")


@pytest.mark.parametrize(
    ("body", "call_type", "tokens"),
    [
        ({"messages": [{"role": "user", "content": "x" * 200}]}, "acompletion", 600),
        ({"messages": [{"role": "user", "content": "x" * 200}], "max_tokens": 50}, "acompletion", 150),
        ({"messages": [], "max_completion_tokens": 50, "n": 4}, "acompletion", 200),
        ({"input": ["x" * 100, "y" * 100]}, "aembedding", 100),
        ({"input": [[1, 2, 3]]}, "aembedding", 3),
        ({"messages": [{"content": [{"type": "image_url", "image_url": {"url": "x" * 10**6}}]}]}, "acompletion", 1_500),
        ({"messages": [], "max_tokens": 10**12}, "acompletion", 131_072),
        ({"messages": [], "max_tokens": True, "n": -3}, "acompletion", 500),
    ],
)
def test_what_a_call_is_taken_to_use(body: dict[str, Any], call_type: str, tokens: int) -> None:
    """Half the characters asked and the longest answer allowed, for each of the answers wanted; bounded."""
    assert request_from(Gate(), (), KEY, body, call_type).tokens == tokens


def test_who_calls_is_not_for_the_client_to_say() -> None:
    """The tenant comes from the key alone; the address is the peer's unless a trusted proxy forwards."""
    spoofing = {
        "model": "m", "user": "boss", "metadata": {"requester_ip_address": "203.0.113.9", "team_id": "rich"},
        "proxy_server_request": {"headers": {"x-forwarded-for": "1.2.3.4"}},
    }  # fmt: skip
    request = request_from(Gate(), (), SimpleNamespace(api_key="k"), spoofing, "acompletion")
    assert (request.tenant, request.user, request.address) == ("", "boss", "203.0.113.9")


@given(body=JSON, kwargs=JSON, call_type=st.text())
def test_nothing_a_client_sends_raises(body: Any, kwargs: Any, call_type: str) -> None:
    """Whatever stands in a request or in a log, it is a request and a use."""
    wild = dict.fromkeys(("model", "messages", "input", "metadata", "max_tokens", "n", "user"), body)
    assert request_from(Gate(), (), SimpleNamespace(team_id=body, user_id=body), wild, call_type).tokens >= 1
    used = used_of({"standard_logging_object": kwargs})
    assert used.tokens is None or used.tokens.total >= 0
    assert characters_in(body) >= 0


def test_the_package_loads_nothing() -> None:
    """To import the package makes no handler and needs no LiteLLM; an unknown name is an AttributeError."""
    package = importlib.import_module("blastdoor_gateway.litellm")
    assert "litellm" not in sys.modules
    assert not hasattr(package, "nothing")
