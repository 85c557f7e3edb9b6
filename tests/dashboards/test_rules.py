"""Alert and recording rules: tested in pairs, explained in the runbook, and named as Prometheus wants it."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.dashboards.boards import ROOT, asked, spoken

FOLDER = ROOT / "dashboards" / "prometheus"
FILES = sorted(FOLDER.glob("*.yaml"))
TESTS = sorted((FOLDER / "tests").glob("*.yaml"))
RULES: list[dict[str, Any]] = [
    rule for path in FILES for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RECORDED = {rule["record"]: rule for rule in RULES if "record" in rule}
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")


def promtool(*arguments: str) -> None:
    """Runs it; what it complains of is the failure."""
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def minutes(text: str) -> int:
    """Of `45m` or `1h`."""
    return int(text[:-1]) * {"m": 1, "h": 60}[text[-1]]


@pytest.mark.prometheus
def test_rules_are_in_order() -> None:
    """Prometheus would load them: every expression and every template."""
    promtool("check", "rules", *map(str, FILES))


@pytest.mark.prometheus
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_rules_do_what_they_say(path: Any) -> None:
    """The tests beside them pass."""
    promtool("test", "rules", str(path))


@pytest.mark.prometheus
def test_queries_of_dashboards_are_in_order(tmp_path: Any) -> None:
    """Prometheus can read each of them."""
    rules = [{"record": f"query:{number}", "expr": spoken(each.query)} for number, each in enumerate(asked())]
    path = tmp_path / "queries.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    promtool("check", "rules", str(path))


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_is_tested_in_a_pair(name: str) -> None:
    """One story in which it fires and one in which it has no reason to, asked for at a time well past its `for`."""
    stories = yaml.safe_load((FOLDER / "tests" / "alerts.yaml").read_text())["tests"]
    (fires,) = [story for story in stories if story["name"] == f"{name} fires"]
    (quiet,) = [story for story in stories if story["name"].startswith(f"{name} stays quiet: ")]
    (firing,) = fires["promql_expr_test"]
    assert f'alertname="{name}", alertstate="firing"' in firing["expr"]
    assert firing["exp_samples"][0]["value"] == 1
    (silent,) = quiet["alert_rule_test"]
    assert (silent["alertname"], silent["exp_alerts"]) == (name, [])
    assert minutes(silent["eval_time"]) >= minutes(ALERTS[name].get("for", "0m")) + 10
    assert quiet["input_series"]


def test_no_story_is_about_an_alert_that_is_gone() -> None:
    """Two stories for each alert, and no others."""
    stories = yaml.safe_load((FOLDER / "tests" / "alerts.yaml").read_text())["tests"]
    assert {story["name"].split()[0] for story in stories} == set(ALERTS)
    assert len(stories) == 2 * len(ALERTS)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_number_is_tested(name: str) -> None:
    """By its value, and named level:metric:operations."""
    stories = yaml.safe_load((FOLDER / "tests" / "recording.yaml").read_text())["tests"]
    tested = {each["expr"] for story in stories for each in story["promql_expr_test"]}
    assert name in tested
    assert re.fullmatch(r"[a-z_]+:blastdoor_[a-z_]+:[a-z0-9_]+", name)


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_has_a_page_to_turn_to(name: str) -> None:
    """A heading of its name in the runbook, which says what holds meanwhile and what to do; the alert points to it."""
    rule = ALERTS[name]
    assert name.startswith("Blastdoor")
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert {"summary", "description"} < rule["annotations"].keys()
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{name.lower()}"
    (section,) = re.findall(rf"^## {name}\n(.*?)(?=^#|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    assert "Meanwhile: " in section
    assert "Do: " in section


def test_the_runbook_has_no_page_too_many() -> None:
    """Every heading is an alert; every link leads to one."""
    assert set(re.findall(r"^## (\w+)", RUNBOOK, re.MULTILINE)) == set(ALERTS)
    assert set(re.findall(r"\]\(#(\w+)\)", RUNBOOK)) <= {name.lower() for name in ALERTS}


@pytest.mark.parametrize("part", ["WorkerAbsent", "PollerAbsent", "GateAbsent", "RedisDown"])
def test_the_absence_of_each_part_is_told(part: str) -> None:
    """What does not run exports nothing that could be compared with a threshold."""
    assert f"Blastdoor{part}" in ALERTS
