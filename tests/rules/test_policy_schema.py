"""The published schema: it is the one the code makes, takes what the check takes, and refuses what it can."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.policy_check import KEYS, check
from rules.policy_check.schema import schema
from streams.policy_text import read_document
from tests.rules.json_schema import violations

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "policy.schema.json"
SCHEMA = schema()
OF_1_1 = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:timestamp"}
NAMES = ["page", "deploy", "example", "empty"]
FILES = [ROOT / "deploy" / "policy.yaml", ROOT / "docs" / "examples" / "policy.yaml"]


def example() -> str:
    page = (ROOT / "docs" / "policy.md").read_text()
    return re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]


def test_the_published_schema_is_current() -> None:
    """To make it anew: blastdoor check-policy --schema > docs/policy.schema.json"""
    assert json.loads(PUBLISHED.read_text()) == SCHEMA, "make it anew with `check-policy --schema`"


def test_it_has_every_key_of_the_file() -> None:
    """And no other: what is unknown is a mistake."""
    assert SCHEMA["properties"].keys() == set(KEYS)
    assert SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize(
    "text", [example(), *(path.read_text() for path in FILES), ""], ids=["page", "deploy", "example", "empty"]
)
def test_shipped_policies_fit(text: str) -> None:
    """As the check reads them, and as an editor does, to whom grouped digits are text."""
    document: Any = read_document(text.encode())
    assert not isinstance(check(document.raw), list)
    assert list(violations(document.raw, SCHEMA)) == []

    class Core(yaml.SafeLoader):
        """YAML 1.2: no underscores in numbers, no dates."""

    Core.yaml_implicit_resolvers = {
        letter: [(tag, pattern) for tag, pattern in resolvers if tag not in OF_1_1]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Core.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))
    assert list(violations(yaml.load(text, Core), SCHEMA)) == []  # noqa: S506


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_shipped_policies_name_the_schema(path: Path) -> None:
    """So that an editor finds it."""
    (place,) = re.findall(r"^# yaml-language-server: \$schema=(\S+)$", path.read_text(), re.MULTILINE)
    assert (path.parent / place).resolve() == PUBLISHED


MISTAKES = [
    ({"modles": {}}, ".modles"),
    ({"mode": "enforced"}, ".mode"),
    ({"day_starts": "25:00"}, ".day_starts"),
    ({"lateness": 5}, ".lateness"),
    ({"models": {"default": {"daily_cap": -1}}}, ".models"),
    ({"models": {"m": {"formula": "v7"}}}, ".models"),
    ({"models": {"m": {"max_lag": "30"}}}, ".models"),
    ({"models": {"m": {"unknown": "shut"}}}, ".models"),
    ({"aliases": {"a": 7}}, ".aliases"),
    ({"alerts": {"thresholds": [0]}}, ".alerts"),
    ({"alerts": {"language": "fr"}}, ".alerts"),
    ({"alerts": {"routes": [{"severity": "urgent", "send": []}]}}, ".alerts"),
    ({"alerts": {"routes": [{"severity": "critical"}]}}, ".alerts"),
    ({"channels": {"c": {"kind": "pigeon", "url": "env:X"}}}, ".channels"),
    ({"channels": {"c": {"kind": "webhook", "url": "https://hooks.example/T0"}}}, ".channels"),
    ({"channels": {"c": {"kind": "webhook"}}}, ".channels"),
    ({"gateways": {"g": {"usage": "guess"}}}, ".gateways"),
    ({"senders": {"s": {"token": "plain-token-0123456789"}}}, ".senders"),
    ({"senders": {"s": {"token": "env:T", "may": ["everything"]}}}, ".senders"),
    ({"providers": {"p": {"kind": "carrier"}}}, ".providers"),
    ({"tenants": {"t": {"over": "explode"}}}, ".tenants"),
    ({"tenants": {"t": {"daily_tokens": 1.5}}}, ".tenants"),
    ({"limits": {"per_ip": 10}}, ".limits"),
    ({"spend": {"currency": "CNY"}}, ".spend"),
    ({"spend": {"daily": 500, "currency": "yuan"}}, ".spend"),
    ({"prices": {"m": {"input": 1_500_000, "output": 2}}}, ".prices"),
    ({"prices": {"m": {"input": 0.0000015, "output": 2}}}, ".prices"),
    ({"rules": [{"name": "r", "scope": "model", "when": "true", "then": {"action": "blok"}, "says": "x"}]}, ".rules"),
    ({"rules": [{"name": "r", "scope": "model", "then": {"action": "block"}, "says": "x"}]}, ".rules"),
    ({"rules": {"name": "r"}}, ".rules"),
    ([], ""),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "place"), MISTAKES, ids=lambda value: value if isinstance(value, str) else "")
def test_what_the_schema_can_tell_is_a_mistake_of_the_check_too(raw: Any, place: str) -> None:
    """Both refuse it, at the same key."""
    assert isinstance(check(raw), list)
    assert list(violations(raw, SCHEMA)) == [place]
