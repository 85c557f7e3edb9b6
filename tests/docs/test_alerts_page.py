"""docs/alerts.md says what the code does: every kind of alert, every kind of channel, an example that loads."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from rules.alerts import Kind
from rules.policy_check.delivery import KINDS
from streams.channels.outcome import Progress
from streams.metrics import Metrics
from streams.policy_file import load_policy

PAGE = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text()


def test_every_kind_of_alert_is_explained() -> None:
    """A kind without a line is one that a reader meets unprepared; a line without a kind promises too much."""
    told = PAGE.split("## What is told")[1].split("##")[0]
    named = set(re.findall(r"`([a-z_]+)`", "".join(re.findall(r"^\| (`.*?) \|", told, re.MULTILINE))))
    assert named == {kind.value for kind in Kind}


def test_every_channel_and_outcome_is_explained() -> None:
    """As the policy and the history write them."""
    assert all(f"| `{kind}` |" in PAGE for kind in KINDS)
    assert all(f"`{progress}`" in PAGE for progress in Progress if progress is not Progress.WAITING)


def test_the_example_loads(tmp_path: Path) -> None:
    """What a reader copies is a policy without a mistake."""
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "policy.yaml"
    path.write_text(example)
    policy = load_policy(path, {"FEISHU_URL": "https://hooks.example/T0", "FEISHU_SECRET": "key"})
    assert policy.alerts.digest is not None


def test_metrics_are_named_as_they_are_exported() -> None:
    """A name on the page that does not exist sends a reader looking."""
    registry = CollectorRegistry()
    Metrics(registry)
    exported = {sample.name for family in registry.collect() for sample in family.samples} | {
        family.name for family in registry.collect()
    }
    known = exported | {f"{name}_total" for name in exported}
    assert {name for name in re.findall(r"blastdoor_[a-z_]+", PAGE) if name not in known} == set()
