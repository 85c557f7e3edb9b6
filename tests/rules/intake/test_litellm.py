"""LiteLLM's payloads: what each kind of call becomes."""

import json
from typing import Any

import pytest

from rules.intake.reader import Intake
from rules.records import Reason, Rejected, Usage

# Observed with LiteLLM 1.108.7, without what is of no use here.
SUCCESS: dict[str, Any] = {
    "id": "chatcmpl-0a14ad31",
    "litellm_call_id": "1fd509bb-386d-44d2-9a77-4da62fc8f78d",
    "call_type": "acompletion",
    "cache_hit": None,
    "stream": None,
    "status": "success",
    "custom_llm_provider": "volcengine",
    "startTime": 1795980013.957434,
    "endTime": 1795980013.976446,
    "model": "volcengine/doubao-seed-1-6-250615",
    "model_group": "doubao-mock",
    "response_cost": 4.9999999999999996e-05,
    "total_tokens": 30,
    "prompt_tokens": 10,
    "completion_tokens": 20,
    "request_tags": ["svc:demo", "User-Agent: curl"],
    "end_user": "end-user-42",
    "metadata": {
        "user_api_key_hash": "88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
        "user_api_key_user_id": "u1",
        "user_api_key_team_id": "acme",
        "user_api_key_end_user_id": "end-user-42",
        "requester_metadata": {"tags": ["svc:demo"], "department": "rd", "knowledge_base": 7},
        "usage_object": {
            "total_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": None,
        },
    },
}
FAILURE: dict[str, Any] = SUCCESS | {
    "status": "failure",
    "total_tokens": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "metadata": SUCCESS["metadata"] | {"usage_object": {}},
}
OUR_REFUSAL = FAILURE | {
    "error_str": "429: {'error': 'blastdoor: cooldown', 'rule': 'r1'}",
    "error_information": {"error_class": "HTTPException", "error_code": "429"},
}


def read(intake: Intake, payload: dict[str, Any], **changes: Any) -> Any:
    return intake.read(json.dumps(payload | changes).encode())


def test_a_call_is_usage(intake: Intake) -> None:
    """The call's id, its end, the public name of the model, the key's team and user."""
    assert read(intake, SUCCESS) == Usage(
        id="1fd509bb-386d-44d2-9a77-4da62fc8f78d",
        at=1795980013976,
        model="doubao-mock",
        total_tokens=30,
        prompt_tokens=10,
        completion_tokens=20,
        cached_tokens=4,
        tenant="acme",
        department="rd",
        user="u1",
        key_hash="88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b",
        source="litellm",
    )


def test_the_deployment_stands_in_for_a_missing_group(intake: Intake) -> None:
    """Calls past the router have no group."""
    assert read(intake, SUCCESS, model_group=None).model == "volcengine/doubao-seed-1-6-250615"


def test_one_call_logged_under_two_event_ids_is_one_event(intake: Intake) -> None:
    """`litellm_call_id` identifies the call, the provider's `id` does not."""
    assert read(intake, SUCCESS, id="other").id == read(intake, SUCCESS).id


def test_a_cost_of_nothing_is_not_believed(intake: Intake) -> None:
    """Tokens count whatever a gateway says they cost: money is made of tokens and the policy's prices."""
    assert read(intake, SUCCESS, response_cost=0.0).total_tokens == read(intake, SUCCESS).total_tokens > 0


def test_a_cache_hit_is_a_request_without_tokens(intake: Intake) -> None:
    """LiteLLM repeats the tokens of the first answer; nobody is charged for them."""
    found = read(intake, SUCCESS, cache_hit=True, id="chatcmpl-0a14ad31_cache_hit1795980020", response_cost=0.0)
    assert found.cache_hit
    assert (found.total_tokens, found.prompt_tokens, found.completion_tokens, found.cached_tokens) == (0, 0, 0, 0)


def test_a_client_that_went_away_is_an_estimate(intake: Intake) -> None:
    """The tokens of a broken stream are guessed, and count."""
    found = read(
        intake, SUCCESS, stream=True, error_information={"error_class": "ClientDisconnected", "error_code": "499"}
    )
    assert found.estimated
    assert found.total_tokens == 30


def test_a_failure_counts_as_a_request_without_tokens(intake: Intake) -> None:
    """A provider's 429 is no usage."""
    found = read(intake, FAILURE, error_str="litellm.RateLimitError: RateLimitError: OpenAIException")
    assert (found.status, found.total_tokens) == ("failure", 0)


@pytest.mark.parametrize("error", [OUR_REFUSAL["error_str"], """429: {'error': "blastdoor: it's over"}"""])
def test_a_refusal_of_ours_is_of_no_consequence(intake: Intake, error: str) -> None:
    """What we refused ourselves must not come back as a request."""
    assert read(intake, OUR_REFUSAL, error_str=error) is None


def test_a_refusal_with_tokens_is_none(intake: Intake) -> None:
    """An error text is no licence: what has tokens counts."""
    assert read(intake, OUR_REFUSAL, total_tokens=9).total_tokens == 9
    assert read(intake, OUR_REFUSAL, status="success").total_tokens == 0


@pytest.mark.parametrize(
    "usage_object", [None, {}, {"prompt_tokens_details": None}, {"prompt_tokens_details": {"cached_tokens": None}}]
)
def test_missing_details_are_nothing_cached(intake: Intake, usage_object: object) -> None:
    """Details may be null, partly null or missing."""
    assert read(intake, SUCCESS, metadata={"usage_object": usage_object}).cached_tokens == 0


def test_cached_tokens_are_a_part_of_the_prompt(intake: Intake) -> None:
    """Buckets that together exceed the prompt do not make the event useless."""
    details = {"usage_object": {"prompt_tokens_details": {"cached_tokens": 463_184}}}
    assert read(intake, SUCCESS, metadata=details).cached_tokens == 10


def test_a_total_below_its_parts_is_their_sum(intake: Intake) -> None:
    """A zero total with parts (or a cost of zero) must not let a call pass uncounted."""
    assert read(intake, SUCCESS, total_tokens=0, response_cost=0).total_tokens == 30


def test_an_end_user_is_never_a_tenant(intake: Intake) -> None:
    """The client writes the end user itself; a tenant is what the key belongs to."""
    found = read(intake, SUCCESS, metadata={"user_api_key_end_user_id": "end-user-42"})
    assert (found.tenant, found.user) == ("", "end-user-42")
    assert read(intake, SUCCESS, metadata={"user_api_key_org_id": "org"}).tenant == "org"
    assert read(intake, SUCCESS, metadata=None).user == "end-user-42"


@pytest.mark.parametrize("written", ["x" * 600, "\ud83d", "\ud83d\\\udc00\ude00😀", "a\nb", 7, ["u"], {"a": 1}, True])
def test_nothing_a_client_writes_makes_its_call_free(intake: Intake, written: object) -> None:
    """The end user and the metadata are the client's: whatever stands there, the call is metered."""
    metadata = {"user_api_key_end_user_id": written, "requester_metadata": {"department": written}}
    found = read(intake, SUCCESS, end_user=written, metadata=metadata)
    assert found.total_tokens == 30
    assert len(found.user) <= 512
    assert "\n" not in found.user + found.department


def test_unknown_kinds_of_calls_count(intake: Intake) -> None:
    """No route is free: batch, rerank, passthrough."""
    assert read(intake, SUCCESS, call_type="pass_through_endpoint").total_tokens == 30


CASES = [
    ("no call id", {"litellm_call_id": None}, Reason.WRONG_TYPE, "litellm_call_id"),
    ("empty call id", {"litellm_call_id": ""}, Reason.BAD_VALUE, "litellm_call_id"),
    ("no model at all", {"model": None, "model_group": ""}, Reason.MISSING_FIELD, "`model_group`"),
    ("no end", {"endTime": None}, Reason.WRONG_TYPE, "endTime"),
    ("end in milliseconds", {"endTime": 1795980013976}, Reason.BAD_TIME, "endTime"),
    ("negative tokens", {"completion_tokens": -1}, Reason.BAD_VALUE, "completion_tokens"),
    ("tokens as text", {"total_tokens": "30"}, Reason.WRONG_TYPE, "total_tokens"),
    ("absurd parts", {"prompt_tokens": 10**12, "completion_tokens": 1}, Reason.BAD_VALUE, "prompt_tokens"),
    ("metadata as text", {"metadata": "x"}, Reason.WRONG_TYPE, "metadata"),
    ("a line break in a name", {"model_group": "a\nb"}, Reason.BAD_VALUE, "model_group"),
]


@pytest.mark.parametrize(("changes", "reason", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_broken_payloads_are_rejected(intake: Intake, changes: dict[str, Any], reason: Reason, says: str) -> None:
    """A payload that is LiteLLM's and cannot be used says which field is to blame."""
    found = read(intake, SUCCESS, **changes)
    assert isinstance(found, Rejected), found
    assert found.reason == reason
    assert says in found.detail


def test_a_payload_without_a_call_id_is_recognised_all_the_same(intake: Intake) -> None:
    """`call_type` and `endTime` give it away; the missing field is named."""
    payload = {name: value for name, value in SUCCESS.items() if name != "litellm_call_id"}
    found = read(intake, payload)
    assert isinstance(found, Rejected)
    assert "`litellm_call_id` is missing" in found.detail
