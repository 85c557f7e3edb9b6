"""CloudEvents: OpenMeter's shape and LiteLLM's own."""

import json
from typing import Any

import pytest

from rules.intake.reader import Intake
from rules.moment import to_rfc3339
from rules.records import Reason, Rejected, Usage

OPENMETER: dict[str, Any] = {
    "specversion": "1.0",
    "type": "prompt",
    "id": "00001",
    "time": "2024-01-01T00:00:00.001Z",
    "source": "chat-app",
    "subject": "customer-1",
    "data": {"tokens": "123456", "model": "gpt4-turbo", "type": "output"},
}
LITELLM = OPENMETER | {
    "type": "litellm_tokens",
    "source": "litellm-proxy",
    "data": {"model": "m", "cost": 0.1, "prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
}


def read(intake: Intake, event: dict[str, Any], **changes: Any) -> Any:
    return intake.read(json.dumps(event | changes).encode())


def test_an_openmeter_event_is_usage_of_one_kind_of_token(intake: Intake) -> None:
    """Numbers may be text; the subject is the tenant; source and id together are the id."""
    found = read(intake, OPENMETER)
    assert to_rfc3339(found.at) == "2024-01-01T00:00:00.001+00:00"
    assert found == Usage(
        id="chat-app/00001",
        at=found.at,
        model="gpt4-turbo",
        total_tokens=123456,
        completion_tokens=123456,
        tenant="customer-1",
        source="chat-app",
    )


@pytest.mark.parametrize(
    ("kind", "parts"), [("input", (7, 0)), ("system", (7, 0)), ("output", (0, 7)), ("other", (0, 0))]
)
def test_the_kind_of_token_decides_the_part(intake: Intake, kind: str, parts: tuple[int, int]) -> None:
    """Every kind counts in the total."""
    found = read(intake, OPENMETER, data={"tokens": 7, "model": "m", "type": kind})
    assert (found.total_tokens, (found.prompt_tokens, found.completion_tokens)) == (7, parts)


def test_litellms_event_has_all_parts(intake: Intake) -> None:
    """What LiteLLM sends to OpenMeter."""
    found = read(intake, LITELLM)
    assert (found.total_tokens, found.prompt_tokens, found.completion_tokens) == (30, 10, 20)
    assert found.id == "litellm-proxy/00001"


def test_the_same_id_of_two_sources_is_two_events(intake: Intake) -> None:
    """CloudEvents promise uniqueness within a source only."""
    assert read(intake, OPENMETER, source="a").id != read(intake, OPENMETER, source="b").id


CASES = [
    ("no time", {"time": None}, Reason.WRONG_TYPE, "time"),
    ("no id", {"id": ""}, Reason.BAD_VALUE, "id"),
    ("no data", {"data": None}, Reason.WRONG_TYPE, "data"),
    ("data of another kind", {"data": {"cpu": 5}}, Reason.MISSING_FIELD, "data: the required field `model`"),
    ("no tokens", {"data": {"model": "m"}}, Reason.MISSING_FIELD, "data.tokens"),
    ("one part only", {"data": {"model": "m", "prompt_tokens": 5}}, Reason.MISSING_FIELD, "data.tokens"),
    ("tokens with a fraction", {"data": {"model": "m", "tokens": "1.5"}}, Reason.BAD_VALUE, "data.tokens"),
    ("negative tokens", {"data": {"model": "m", "tokens": -5}}, Reason.BAD_VALUE, "data.tokens"),
    ("negative tokens as text", {"data": {"model": "m", "tokens": "-5"}}, Reason.BAD_VALUE, "data.tokens"),
    ("absurd tokens", {"data": {"model": "m", "tokens": "9" * 13}}, Reason.BAD_VALUE, "data.tokens"),
    ("full-width digits", {"data": {"model": "m", "tokens": "７"}}, Reason.BAD_VALUE, "data.tokens"),
    (
        "absurd parts",
        {"data": {"model": "m", "prompt_tokens": 10**12, "completion_tokens": 1}},
        Reason.BAD_VALUE,
        "data: more",
    ),
    ("blank model", {"data": {"model": " ", "tokens": 1}}, Reason.BAD_VALUE, "data.model"),
    ("a line break in the subject", {"subject": "a\nb"}, Reason.BAD_VALUE, "subject"),
    ("a long name", {"source": "s" * 300, "id": "i" * 300}, Reason.BAD_VALUE, "source and id"),
]


@pytest.mark.parametrize(("changes", "reason", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_broken_events_are_rejected(intake: Intake, changes: dict[str, Any], reason: Reason, says: str) -> None:
    """A CloudEvent that cannot be used says which field is to blame."""
    found = read(intake, OPENMETER, **changes)
    assert isinstance(found, Rejected), found
    assert found.reason == reason
    assert says in found.detail
