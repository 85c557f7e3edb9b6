"""`blastdoor test-rules`: the shipped files pass, failures are told clearly, mistakes are no failures."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main

ROOT = Path(__file__).parents[3]
SHIPPED = [ROOT / "docs" / "examples" / "rules.test.yaml", ROOT / "rules" / "default.test.yaml"]
CASE = """\
tests:
  - name: a pool
    scope: model
    facts: {{limit: 100}}
    at:
      - {{time: 0s, facts: {{used: 79}}, action: allow}}
      - {look}
"""


def run(*files: Path) -> Result:
    return CliRunner().invoke(main, ["test-rules", *map(str, files)])


def written(tmp_path: Path, look: str) -> Path:
    path = tmp_path / "rules.test.yaml"
    path.write_text(CASE.format(look=look))
    return path


@pytest.mark.parametrize("file", SHIPPED, ids=lambda path: path.name)
def test_the_shipped_tests_pass(file: Path) -> None:
    """Those of the built-in rules, and the example of the page."""
    found = run(file)
    assert (found.exit_code, "ok" in found.stdout) == (0, True), found.output


def test_every_built_in_rule_is_tested() -> None:
    """A rule without a test is one that nobody looked at."""
    text = SHIPPED[1].read_text()
    names = [
        line.split()[-1] for line in (ROOT / "rules" / "default.yaml").read_text().splitlines() if "- name:" in line
    ]
    assert [name for name in names if f"rule: {name}" not in text] == []


def test_a_failure_is_told_with_both_values_and_its_place(tmp_path: Path) -> None:
    """Line, what was wanted, what came, why, and the facts; exit code 1."""
    found = run(
        written(tmp_path, "{time: 1m30s, facts: {used: 100}, action: warn, rule: model-near-limit, alerts: []}")
    )
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        f"{tmp_path}/rules.test.yaml:7: a pool, after 1m30s:",
        "  action  wanted warn, got block",
        "  rule    wanted model-near-limit, got model-pool-spent",
        "  alerts  wanted [], got [model-pool-spent]",
        "  because free pool of deepseek-v4-flash is used up to the safety buffer (100/100)",
        "  facts   used=100, limit=100, share=1.0",
        f"{tmp_path}/rules.test.yaml: 1 of 1 tests failed",
    ]


@pytest.mark.parametrize(
    ("look", "mistake"),
    [
        pytest.param("{time: 1m, facts: {uzed: 1}}", "there is no fact 'uzed'; did you mean 'used'?", id="fact"),
        pytest.param("{time: 1m, facts: {used: many}}", "must be a int, found 'many'", id="kind"),
        pytest.param("{time: 1m, facts: {used: null}}", "is always known", id="null"),
        pytest.param("{time: 1m, acton: warn}", "did you mean 'action'?", id="key"),
        pytest.param("{time: 1m, action: wran}", "did you mean 'warn'?", id="action"),
        pytest.param("{facts: {used: 1}}", "at[1].time: is missing", id="no time"),
        pytest.param("{time: 1}", "has no unit", id="no unit"),
        pytest.param("[1]", "must be a mapping", id="no look"),
    ],
)
def test_a_mistake_in_the_file_is_no_failing_test(tmp_path: Path, look: str, mistake: str) -> None:
    """Exit code 2, with line and field."""
    found = run(written(tmp_path, look))
    assert found.exit_code == 2
    assert ":7: tests[0].at[1]" in found.output
    assert mistake in found.output


def test_times_that_go_back_are_a_mistake(tmp_path: Path) -> None:
    """What a rule remembers has an order."""
    path = written(tmp_path, "{time: 1m}")
    path.write_text(path.read_text() + "      - {time: 30s}\n")
    assert "times must not go back" in run(path).output


def test_a_policy_with_mistakes_is_told_as_ever(tmp_path: Path) -> None:
    """Its own file and line; a file that is not there likewise."""
    (tmp_path / "policy.yaml").write_text("modles: {}\n")
    path = tmp_path / "rules.test.yaml"
    path.write_text("policy: policy.yaml\ntests: []\n")
    found = run(path)
    assert (found.exit_code, "policy.yaml:1: modles: unknown key" in found.output) == (2, True)
    assert run(tmp_path / "none.yaml").exit_code == 2


def test_between_two_looks_time_goes_by_as_it_does_for_the_judge(tmp_path: Path) -> None:
    """A ban ends and is laid anew at its own times, not at those of the looks."""
    (tmp_path / "policy.yaml").write_text(
        "rules: [{name: b, scope: ip, when: killed, then: {action: ban, for: 10m}, says: x}]\n"
    )
    path = tmp_path / "rules.test.yaml"
    path.write_text(
        "policy: policy.yaml\ntests:\n- name: a ban\n  scope: ip\n  at:\n"
        "  - {time: 0s, facts: {killed: true}, action: kill}\n  - {time: 25m, facts: {killed: false}, action: ban}\n"
        "  - {time: 29m59s, action: ban}\n  - {time: 30m, action: allow}\n"
    )
    found = run(path)
    assert found.exit_code == 0, found.output
