"""The check of a parsed policy: any document gives a policy or its mistakes; values mean what they say."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.fault import Fault
from rules.moment import DAY, HOUR, MINUTE, SECOND
from rules.policy import Alerting, Budget, Gateway, ModelTerms, Policy, Unknown
from rules.policy_check import KEYS, check, check_rules
from rules.policy_check.alerting import ALERTS, DIGEST, ROUTE, WATCH
from rules.policy_check.delivery import CHANNEL, GATEWAY
from rules.policy_check.models import TERMS
from rules.policy_check.money import BUDGET, LIMITS, PRICE, SPEND
from rules.policy_check.providers import PROVIDER
from rules.policy_check.rule_list import EFFECT, RULE
from rules.policy_check.schema import schema
from rules.policy_check.senders import SENDER
from rules.policy_check.values import brief, duration
from tests.rules.json_schema import violations

SCHEMA = schema()


def policy(raw: dict[str, Any]) -> Policy:
    found = check(raw)
    assert isinstance(found, Policy), found
    assert list(violations(raw, SCHEMA)) == []  # what the check takes, the published schema takes
    return found


def faults(raw: object) -> list[Fault]:
    found = check(raw)
    assert isinstance(found, list), found
    return found


WORDS = sorted(
    {
        "default",
        *KEYS,
        *TERMS,
        *CHANNEL,
        *ALERTS,
        *ROUTE,
        *DIGEST,
        *WATCH,
        *GATEWAY,
        *PROVIDER,
        *SENDER,
        *BUDGET,
        *SPEND,
        *PRICE,
        *LIMITS,
        *RULE,
        *EFFECT,
    }
)
NEAR_MISSES = [
    "30m",
    "1h",
    "env:X",
    "model",
    "used > 1",
    "block",
    "10/min",
    "v6",
    "default",
    "feishu",
    "true",
    "\ud800",
]
leaves = st.one_of(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    st.sampled_from([*NEAR_MISSES, Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1E+99999")]),
)
documents = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5) | st.integers(), inner, max_size=6)
    ),
    max_leaves=25,
)


@settings(max_examples=300)
@given(documents | st.dictionaries(st.sampled_from(sorted(KEYS)), documents, max_size=8))
def test_no_document_raises(raw: object) -> None:
    """Whatever was parsed, it is a policy or a list of mistakes; each mistake can be printed."""
    found = check(raw)
    assert isinstance(found, Policy) or all(str(fault).isprintable() for fault in found)
    rules = check_rules(raw)
    assert isinstance(rules, tuple) or rules


@pytest.mark.parametrize("field", ["gate_buffer", "mode", "lateness", "spend", "alerts"])
def test_a_number_too_long_to_print(field: str) -> None:
    """More digits than Python prints are a mistake like any other, wherever they stand."""
    huge = 10**5000
    wrong = faults({field: {"spend": {"daily": huge}, "alerts": {"thresholds": [huge]}}.get(field, huge)})
    assert "a huge number" in wrong[0].message
    assert faults({huge: 1, "channels": {huge: {}, "main": {"kind": "feishu", "url": "env:X", "schema": huge}}})


@given(st.integers(1, 10**9))
def test_durations_read_what_they_write(seconds: int) -> None:
    """A length of time written out is read as the same length."""
    assert duration(0, 10**13)(brief(seconds * SECOND)) == seconds * SECOND


def test_what_an_entry_leaves_out_comes_from_default() -> None:
    """A model or tenant of its own inherits from `default`, and that from the built-in values."""
    found = policy(
        {
            "models": {"m": {"max_lag": "1h30m", "unknown": "hold"}, "default": {"small_buffer": 5}},
            "tenants": {"default": {"daily_tokens": 7}, "acme": {"over": "block"}},
        }
    )
    assert found.terms("m") == ModelTerms(small_buffer=5, max_lag=HOUR + 30 * MINUTE, unknown=Unknown.HOLD)
    assert found.terms("other") == ModelTerms(small_buffer=5)
    assert found.tenants["acme"] == Budget(daily_tokens=7, over="block")
    assert found.tenant_default == Budget(daily_tokens=7)


def test_alias_chains_end_at_the_model() -> None:
    """One look-up finds the model, however many names lead to it."""
    assert policy({"aliases": {"a": "b", "b": "c", "x": "c"}}).aliases == {"a": "c", "b": "c", "x": "c"}


def test_an_alias_that_leads_into_a_circle_is_not_blamed() -> None:
    """A circle is one mistake, reported at one of its names."""
    assert [fault.path for fault in faults({"aliases": {"z": "a", "a": "b", "b": "a"}})] == ["aliases.a"]


def test_thresholds_may_stand_in_any_order() -> None:
    """They are sorted, and one written twice counts once."""
    assert policy({"alerts": {"thresholds": [1, 0.5, 1.0, Decimal("0.85"), 10]}}).alerts == Alerting(
        thresholds=(0.5, 0.85, 1.0, 10.0)
    )
    assert policy({"alerts": {"thresholds": []}}).alerts.thresholds == ()


def test_gateways_are_read() -> None:
    """How a gateway tells of its usage; what it leaves out has a default."""
    assert policy({"gateways": {"gate": {"usage": "log", "guard": True}}}).gateways == {
        "gate": Gateway(name="gate", usage="log", guard=True)
    }


@pytest.mark.parametrize("field", ["daily_tokens", "monthly_tokens"])
def test_an_absent_budget_is_no_limit_and_a_negative_one_a_mistake(field: str) -> None:
    """Absent means no limit; negative or empty is never taken for that."""
    assert getattr(policy({"tenants": {"default": {}}}).tenant_default, field) is None
    assert "must not be negative" in faults({"tenants": {"default": {field: -2}}})[0].message
    assert "has no value" in faults({"tenants": {"default": {field: None}}})[0].message


def test_a_price_typed_in_the_wrong_unit_is_questioned() -> None:
    """A price for one token, or a million times too high, is asked about before it decides anything."""
    wrong = faults({"prices": {"m": {"input": Decimal("0.0000025"), "output": 2_500_000}}})
    assert [fault.path for fault in wrong] == ["prices.m.input", "prices.m.output"]
    assert policy({"prices": {"m": {"input": 0, "output": Decimal("0.1")}}}).prices["m"][0].output == Decimal("0.1")


def test_unknown_keys_without_a_value_are_mistakes_too() -> None:
    """Only a known section may be empty."""
    assert [fault.path for fault in faults({"mod": None, "models": None})] == ["mod"]


def test_receivers_are_not_blamed_for_broken_channels() -> None:
    """Where `channels` is no mapping, that is the one mistake."""
    assert [fault.path for fault in faults({"channels": "x", "alerts": {"send": ["main"]}})] == ["channels"]


@pytest.mark.parametrize("raw", [[], "text", 5, True])
def test_a_document_that_is_no_mapping(raw: object) -> None:
    """The file as a whole is the mistake: it has no field."""
    (fault,) = faults(raw)
    assert fault.path == ""
    assert "must be a mapping" in fault.message


def test_lines_come_from_the_nearest_place() -> None:
    """A mistake about something missing stands where its container begins."""
    found = check({"channels": {"main": {"kind": "feishu"}}}, {(): 1, ("channels",): 3, ("channels", "main"): 4})
    assert found == [Fault(4, "channels.main.url", "is missing")]


def test_a_rule_without_mistakes_keeps_its_meaning() -> None:
    """Scope, condition, effect, sentence and priority arrive as written; `when: true` is a condition."""
    rule = {
        "name": "r",
        "scope": "model",
        "when": True,
        "then": {"action": "block", "alert": "info"},
        "says": "s",
        "priority": 3,
    }
    (spec,) = policy({"rules": [rule]}).rules
    assert (spec.name, spec.when, spec.action, spec.alert, spec.priority) == ("r", "true", "block", "info", 3)


ARK: dict[str, Any] = {
    "kind": "volcengine",
    "access_key": "env:AK",
    "secret_key": "env:SK",
    "packages": {"m": "code"},
}


def test_a_provider_keeps_references() -> None:
    """Keys stay references; one name of a package stands for a list of one."""
    (found,) = policy({"providers": {"ark": ARK}}).providers.values()
    assert (found.access_key, found.packages) == ("env:AK", {"m": ("code",)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"secret_key": "hunter2"}, "providers.ark.secret_key: holds a plain value"),
        ({"kind": "file"}, "providers.ark.access_key: does not belong to a provider of the kind file"),
        ({"packages": {"m": "/(/"}}, "providers.ark.packages.m[0]: '/(/' is no regular expression"),
        ({"packages": {"m": []}}, "providers.ark.packages.m: must name a package"),
        ({"least": "40m"}, "providers.ark.least: is longer than every"),
        ({"host": "https://elsewhere/secret"}, "providers.ark.host: holds a plain value"),
        ({"packages": {"n": "code"}}, "providers.ark.packages.n: is an alias"),
        ({"packages": {"own": "code"}}, "providers.own.packages.own: the provider ark tells"),
    ],
)
def test_mistakes_of_a_provider(change: dict[str, Any], message: str) -> None:
    """Each is told with its field, and no secret is repeated."""
    own = ARK | {"packages": {"own": "code"}}
    found = faults({"providers": {"ark": ARK | change, "own": own}, "aliases": {"n": "m"}})
    assert any(str(fault).startswith(message) for fault in found), found
    assert "hunter2" not in str(found)


def test_a_provider_needs_what_its_kind_needs() -> None:
    """A key that is missing is told by name."""
    found = [str(fault) for fault in faults({"providers": {"a": {"kind": "aliyun"}, "b": {"kind": "http"}}})]
    assert len(found) == 4
    assert "providers.b.url: is missing: a provider of the kind http needs it" in found


def test_a_sender_may_send_usage() -> None:
    """Unless the policy says more; its token stays a reference."""
    found = policy({"senders": {"a": {"token": "env:T"}, "b": {"token": "env:T", "may": ["usage", "controls"]}}})
    assert [(each.token, each.may) for each in found.senders.values()] == [
        ("env:T", ("usage",)),
        ("env:T", ("usage", "controls")),
    ]


@pytest.mark.parametrize(
    "sender",
    [{}, {"token": "hunter2-hunter2-hunter2"}, {"token": "env:T", "may": ["all"]}, {"token": "env:T", "may": "x"}],
)
def test_mistakes_of_a_sender(sender: dict[str, Any]) -> None:
    """One each, and a token written into the file is not repeated."""
    (found,) = faults({"senders": {"a": sender}})
    assert found.path.startswith("senders.a.")
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        pytest.param({"for": 5}, "rules[0].for: 5 has no unit; write it like 45s, 30m or 6h", id="no unit"),
        pytest.param({"clear": "uzed < 1"}, "rules[0].clear: there is no fact 'uzed'; did you mean 'used'?", id="name"),
        pytest.param({"on_error": "blck"}, "rules[0].on_error: 'blck' is not known here; did you mean 'block'?"),
        pytest.param({"dry_run": "yes"}, "rules[0].dry_run: must be true or false, found 'yes'", id="trial"),
        pytest.param({"then": {"action": "block", "for": "1h"}},
                     "rules[0].then.for: belongs to a ban; a rule that is to wait has `for` beside `when`", id="x"),
    ],
)  # fmt: skip
def test_terms_of_a_rule_with_a_memory(rule: dict[str, Any], message: str) -> None:
    """Each mistake in them is named with its field."""
    plain = {"name": "r", "scope": "model", "when": "used > 1", "then": {"action": "block"}, "says": "x"}
    found = check({"rules": [plain | rule]})
    assert isinstance(found, list)
    assert [str(fault) for fault in found] == [message]


def test_a_rule_with_every_term() -> None:
    """Lengths of time are kept as such."""
    rule = {
        "name": "r", "scope": "ip", "when": "banned", "for": "2m", "clear": "!banned", "keep_firing_for": "5m",
        "on_error": "warn", "dry_run": True, "priority": 3, "then": {"action": "ban", "for": "24h"}, "says": "x",
    }  # fmt: skip
    found = check({"rules": [rule]})
    assert isinstance(found, Policy)
    (spec,) = found.rules
    assert (spec.action, spec.ban_for, spec.lasting, spec.clear) == ("ban", DAY, 2 * MINUTE, "!banned")
    assert (spec.keep_firing_for, spec.on_error, spec.dry_run) == (5 * MINUTE, "warn", True)


def test_prices_may_change_on_a_day() -> None:
    """A list of prices is put in order of its days; one without a day was always valid."""
    later, first = {"from": "2026-09-01", "input": 3, "output": 4}, {"input": 1, "output": 2}
    found = policy({"prices": {"m": [later, first]}}).prices["m"]
    assert [(price.since, price.input) for price in found] == [("", 1), ("2026-09-01", 3)]


@pytest.mark.parametrize(
    ("document", "path", "said"),
    [
        (
            {"prices": {"m": [{"from": "1.9.2026", "input": 1, "output": 2}]}},
            "prices.m[0].from",
            "a day like 2026-09-01",
        ),
        (
            {"prices": {"m": [{"input": 1, "output": 2}] * 2}},
            "prices.m[1]",
            "another price is valid from the beginning",
        ),
        ({"prices": {"m": {"input": Decimal("1.0000000001"), "output": 2}}}, "prices.m.input", "nine digits"),
        ({"spend": {"daily": Decimal("499.9999999999")}}, "spend.daily", "nine digits"),
        ({"spend": {"daily": 4_000_001}}, "spend.daily", "up to 4,000,000"),
        ({"spend": {"daily": -1}}, "spend.daily", "above 0"),
        ({"spend": {"daily": 5, "unknown_price": {"input": 0, "output": 0}}}, "spend.unknown_price", "must not be 0"),
        ({"spend": {"daily": 5, "unknown_price": {"input": 1}}}, "spend.unknown_price.output", "is missing"),
        ({"spend": {"daily": 5, "unknown_price": {"from": "2026-09-01"}}}, "spend.unknown_price.from", "unknown key"),
    ],
)
def test_money_that_cannot_be_meant(document: dict[str, object], path: str, said: str) -> None:
    """Each mistake with its place and what was meant."""
    (found, *_) = [fault for fault in faults(document) if fault.path == path]
    assert said in found.message
