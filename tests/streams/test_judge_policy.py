"""The judge's step under another policy, and rules that are tried or fail."""

from __future__ import annotations

import msgspec
import pytest
from prometheus_client import generate_latest

from rules.documented import SCOPE_FACTS
from rules.moment import MINUTE
from rules.policy import RuleSpec
from rules.rulebook import Rulebook
from streams.active import Active
from tests.streams.test_judge import POLICY, RULEBOOK, START, Bed, story


def test_another_policy_decides_about_all_that_is_known() -> None:
    """Nothing is forgotten and nothing heard again: the same usage, the new limit, the new hash, under a newer
    version."""
    bed = Bed(event_clock=False)
    bed.add(*story(3))
    bed.now = START + 70 * MINUTE
    before = bed.finish()
    policy = msgspec.structs.replace(POLICY, default=msgspec.structs.replace(POLICY.default, daily_cap=7)).hashed()
    bed.step.adopt(Active(policy=policy, rulebook=RULEBOOK, senders={}))
    after = bed.finish()
    assert (after.used, after.policy, after.limit) == (before.used, policy.hash, 7)
    assert (before.policy, after.version > before.version) == (POLICY.hash, True)


def test_trials_and_failures_are_told_once_and_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Each rule under trial that begins to fire, and each that begins to fail, is one line and one count; the history
    says what a trial would have done, Redis does not."""
    specs = [
        RuleSpec(name="trial", scope="model", when="used > 5", action="block", says="{used} used", dry_run=True),
        RuleSpec(name="odd", scope="model", when="1/(used-300000) > 0", action="block", says="", on_error="ignore"),
    ]
    rulebook = Rulebook.compile([*specs, *POLICY.rules], SCOPE_FACTS)
    assert isinstance(rulebook, Rulebook), rulebook
    bed = Bed(event_clock=False)
    bed.step.adopt(Active(policy=POLICY, rulebook=rulebook, senders={}))
    bed.add(*story(3))
    bed.now = START + 70 * MINUTE
    with caplog.at_level("INFO"):
        decision = bed.finish()
        bed.now += 5 * MINUTE
        bed.finish()
    assert decision.would == {"trial": {"action": "block", "reason": f"{decision.used:,} used"}}
    assert "would" not in decision.to_hash()
    assert decision.action != "block"
    assert caplog.text.count("would be block") == 1
    assert caplog.text.count("rule odd fails about model:m") == 1
    shown = generate_latest(bed.metrics.registry).decode()
    assert 'blastdoor_rule_would_fire_total{action="block",rule="trial"} 1.0' in shown
    assert 'blastdoor_rule_failures_total{rule="odd"}' in shown
