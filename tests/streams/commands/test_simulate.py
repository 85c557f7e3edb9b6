"""`blastdoor simulate` as a person and as a script see it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from streams.commands.simulate import command


def run(*options: str) -> str:
    done = CliRunner().invoke(command, [*options, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json_is_one_line_per_formula() -> None:
    """With what a script compares."""
    lines = [json.loads(line) for line in run("--days", "4", "--kind", "bursty", "--json").splitlines()]
    assert [line["formula"] for line in lines] == ["interval", "v2", "v3", "v4", "v5", "v6"]
    for line in lines:
        assert list(line) == ["formula", "days", "charged", "share", "blocks"]
        assert line["days"] == 4


def test_ours_charges_nothing_where_v6_does() -> None:
    """On the very same days."""
    options = ("--days", "8", "--kind", "bursty", "--formula", "interval", "--formula", "v6", "--json")
    ours, v6 = (json.loads(line) for line in run(*options).splitlines())
    assert ours["charged"] == 0 < v6["charged"]
    assert ours["share"] >= 0.98


def test_the_same_seed_gives_the_same_figures() -> None:
    """So that a finding can be shown to others."""
    options = ("--days", "2", "--kind", "steady", "--formula", "interval", "--json")
    assert run(*options, "--seed", "7") == run(*options, "--seed", "7")


@pytest.mark.parametrize("text", ["interval", "v6", "charged", "steady", "share"])
def test_tables_are_for_people(text: str) -> None:
    """Formulas first, then the kinds of days."""
    assert text in run("--days", "1", "--kind", "steady", "--formula", "interval", "--formula", "v6")


def test_the_days_asked_for_are_played_exactly() -> None:
    """The last run is shorter where they do not divide."""
    (line,) = run("--days", "11", "--formula", "v4", "--json").splitlines()
    assert json.loads(line)["days"] == 11


def test_kinds_without_a_day_are_not_shown_as_zero() -> None:
    """With fewer days than kinds the table has the kinds that were played, and says that there are more."""
    shown = run("--days", "1", "--kind", "steady", "--kind", "cold", "--formula", "interval")
    assert "cold" not in shown
    assert "too few days for all kinds: 1 of 2" in shown
