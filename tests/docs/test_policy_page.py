"""docs/policy.md says what the code does: its example loads, and its tables have every key, default and fact."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import fields

from rules.documented import SCOPE_FACTS
from rules.policy import Alerting, Budget, Channel, Gateway, ModelTerms, Policy, Provider, RuleSpec, Spend, Watch
from rules.policy_check import KEYS
from rules.policy_check.alerting import ALERTS, DIGEST, ROUTE, WATCH
from rules.policy_check.delivery import CHANNEL, GATEWAY
from rules.policy_check.models import TERMS
from rules.policy_check.money import BUDGET, LIMITS, PERIOD, SPEND
from rules.policy_check.providers import PROVIDER
from rules.policy_check.rule_list import EFFECT, RULE
from rules.policy_check.senders import SENDER
from rules.policy_check.values import brief
from rules.policy_check.viewers import VIEWER
from rules.rulebook import ACTIONS
from streams.policy_file import load_policy

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
ROWS: dict[str, str] = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE))
LENGTHS = {"max_lag", "lag_ceiling", "stale_after", "lateness", "group", "cooldown", "repeat", "behind", "expiring"}
LENGTHS |= {"every", "least", "keep_firing_for"}


def test_the_example_loads(tmp_path: Path) -> None:
    """What a reader copies is a policy without a mistake."""
    example, *_ = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "policy.yaml"
    path.write_text(example)
    policy = load_policy(
        path, {"FEISHU_URL": "https://hooks.example/T0", "FEISHU_SECRET": "key", "LITELLM_TOKEN": "t" * 16}
    )
    assert policy.rules[-1].name == "trial-models"
    assert policy.terms("doubao-seed-1.6") == ModelTerms(daily_cap=500_000)


@pytest.mark.parametrize(
    "table",
    [
        TERMS,
        ALERTS,
        ROUTE,
        DIGEST,
        WATCH,
        CHANNEL,
        GATEWAY,
        PROVIDER,
        SENDER,
        VIEWER,
        BUDGET,
        SPEND,
        PERIOD,
        LIMITS,
        RULE,
        EFFECT,
    ],
)
def test_every_key_is_explained(table: dict[str, object]) -> None:
    """Each key that the check accepts has a row."""
    assert table.keys() <= ROWS.keys()


def test_every_section_is_named() -> None:
    """Each key at the top of the file is mentioned."""
    assert all(f"`{key}`" in PAGE for key in KEYS)


@pytest.mark.parametrize(
    "struct", [Policy, ModelTerms, Alerting, Watch, Gateway, Channel, Provider, RuleSpec, Spend, Budget]
)
def test_defaults_are_those_of_the_code(struct: type[Struct]) -> None:
    """A default on the page that differs from the code misleads."""
    plain = {field.name: field.default for field in fields(struct) if isinstance(field.default, str | int | float)}
    documented = {name: value for name, value in plain.items() if name in ROWS and value != ""}
    assert documented
    for name, value in documented.items():
        assert ROWS[name] == f"`{brief(value) if name in LENGTHS else written(value)}`"


def written(value: str | float) -> str:
    """A default as one writes it in the file."""
    return str(value).lower() if isinstance(value, bool) else f"{value:_}" if isinstance(value, int) else str(value)


def test_facts_are_those_of_the_table() -> None:
    """The table of facts is the one that rules are checked against."""
    for spec in (spec for facts in SCOPE_FACTS.values() for spec in facts):
        assert f"| `{spec.name}` | {spec.kind}{' or null' if spec.nullable else ''} | {spec.meaning} |" in PAGE


def test_actions_are_listed_strictest_first() -> None:
    """The page promises the order of the table."""
    assert ", ".join(f"`{action}`" for action in ACTIONS) in PAGE
