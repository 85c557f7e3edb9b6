"""Feishu cards: laid out as agreed, valid for the real service, small enough."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.alerts import Alert, Kind, Severity
from rules.saying import Saying
from streams.channels.bot import texts
from streams.channels.card_check import faults
from streams.channels.cards import card
from streams.channels.fitting import MOST_BYTES, fitted
from streams.channels.messages import message
from streams.policy_file import default_rules

GOLDEN = Path(__file__).parents[2] / "golden"
ZONE_NAME = "Asia/Shanghai"
DASHBOARD = "https://grafana.example/d/blastdoor"


def rendered(alert: Alert, language: str, schema: str = "2.0") -> dict[str, Any]:
    """The card of an alert, with a link."""
    from zoneinfo import ZoneInfo

    return card(message(alert, language, ZoneInfo(ZONE_NAME), DASHBOARD), schema)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_card_is_the_golden_one(language: str, make_alert) -> None:
    """What people see changes only on purpose: set BLASTDOOR_WRITE_GOLDEN to accept a change."""
    rule = next(rule for rule in default_rules() if rule.name == "model-pool-spent")
    saying = Saying.parse(rule.says_zh if language == "zh" else rule.says, language)
    reason = saying.about({"model": "deepseek-v4-flash", "used": 2_232_190, "limit": 2_232_178})
    fields = {"severity": Severity.CRITICAL, "threshold": 1.0, "used": 2_232_190}
    alert = make_alert(rule=rule.name, reason=reason, **fields)
    found = json.dumps(rendered(alert, language), ensure_ascii=False, indent=1) + "\n"
    path = GOLDEN / f"feishu-card-{language}.json"
    if "BLASTDOOR_WRITE_GOLDEN" in os.environ:
        path.write_text(found)
    assert found == path.read_text()


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_no_card_has_a_property_the_service_refuses(kind: Kind, language: str, make_alert) -> None:
    """Schema 2.0 makes an unknown property an error: we send none."""
    assert list(faults(rendered(make_alert(kind=kind), language))) == []


def test_the_old_format_has_its_elements_at_the_top(make_alert) -> None:
    """Schema 1.0 has no body and names no schema; the texts are the same."""
    old, new = rendered(make_alert(), "zh", "1.0"), rendered(make_alert(), "zh")
    assert "body" not in old
    assert "schema" not in old
    assert sorted(texts(old)) == sorted(texts(new))


def test_names_from_outside_carry_no_markup(make_alert) -> None:
    """An @all or a link in a tenant's name stays plain text: markdown elements hold our own words only."""
    evil = "<at id=all></at> [click](https://evil.example)"
    found = rendered(make_alert(scope=f"tenant:{evil}", reason=evil, rule=evil, details={evil: evil}), "zh")
    marked = [e["content"] for e in found["body"]["elements"] if e["tag"] == "markdown"]
    assert len(marked) == 2
    assert not any("evil" in content or "<at" in content for content in marked)
    assert "lark_md" not in json.dumps(found)


LONG = st.text(alphabet=st.sampled_from('长"\\\n<*é😀a'), min_size=0, max_size=12_000)


@settings(max_examples=30, deadline=None)
@given(LONG, LONG, st.dictionaries(LONG, LONG, max_size=20), st.sampled_from(["1.0", "2.0"]))
def test_no_card_is_too_large(reason: str, scope: str, details: dict[str, str], schema: str) -> None:
    """However long the texts, the body keeps to 20 KB in UTF-8 bytes, and the numbers stay whole."""
    alert = Alert(
        id="a" * 64,
        kind=Kind.THRESHOLD,
        severity=Severity.INFO,
        scope=scope,
        at=1_786_591_320_000,
        window=reason,
        used=1_790_000,
        limit=2_232_178,
        rule=reason,
        reason=reason,
        details=details,
    )
    from zoneinfo import ZoneInfo

    words = message(alert, "zh", ZoneInfo(ZONE_NAME), DASHBOARD)
    body = fitted(lambda clip: {"card": card(words.clipped(clip), schema)})
    assert len(body) <= MOST_BYTES
    assert "1,790,000" in body.decode()
    assert "a" * 64 in body.decode()


def test_what_fits_is_not_shortened() -> None:
    """The longest texts that fit are kept."""
    assert json.loads(fitted(lambda clip: {"clip": clip})) == {"clip": 4_000}
    assert json.loads(fitted(lambda clip: {"text": "长" * clip}))["text"] == "长" * 4_000
    assert len(json.loads(fitted(lambda clip: {"text": "长" * 2 * clip}))["text"]) == 3_000
