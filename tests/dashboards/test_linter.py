"""The rules of Grafana's dashboard linter, for every dashboard."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.dashboards.boards import BOARDS, SELECTOR, asked, panels, variables

UNITS = {"short", "none", "s", "percentunit", "reqps", "ops", "cps", "bool_yes_no"}
PANELS = [pytest.param(panel, id=f"{name}: {panel['title']}") for name, panel in panels()]
QUERIES = [pytest.param(each.query, id=f"{each.place} {number}") for number, each in enumerate(asked())]
IN_A_RATE = re.compile(r"\b(?:rate|irate|increase)\($")


@pytest.fixture(params=BOARDS.values(), ids=BOARDS.keys())
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


def test_the_source_can_be_chosen(board: dict[str, Any]) -> None:
    """A variable `datasource` with the usual label, and every variable asks the chosen source."""
    (source,) = variables(board, "datasource").values()
    assert (source["name"], source["label"], source["query"]) == ("datasource", "Data source", "prometheus")
    assert all(each["datasource"]["uid"] == "$datasource" for each in variables(board, "query").values())


def test_jobs_and_instances_can_be_chosen(board: dict[str, Any]) -> None:
    """Several at once, all by default, with a value that fits every name; looked up again when the time changes."""
    found = variables(board, "query")
    for name, label in (("job", "Job"), ("instance", "Instance")):
        assert (found[name]["label"], found[name]["multi"], found[name]["allValue"]) == (label, True, ".+")
        assert found[name]["current"]["value"] == "$__all"
    assert {each["refresh"] for each in found.values()} == {2}


def test_values_of_variables_are_asked_of_a_metric(board: dict[str, Any]) -> None:
    """label_values over one selector and one label."""
    shape = re.compile(r"label_values\(blastdoor_[a-z_]+(?:\{[^{}]+\})?, [a-z]+\)")
    assert all(shape.fullmatch(each["query"]["query"]) for each in variables(board, "query").values())


def test_nobody_edits_what_is_provisioned(board: dict[str, Any]) -> None:
    """A change would be lost with the next start."""
    assert board["editable"] is False
    assert len(board["uid"]) <= 40
    assert board["title"].startswith("Blastdoor: ")
    assert board["description"]
    assert "id" not in board


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_it_shows(panel: dict[str, Any]) -> None:
    """Title, description, a unit that Grafana knows, colours, words for the state without data, at least one query."""
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["title"]
    assert len(panel["description"]) > len(panel["title"])
    assert panel["description"].rstrip().endswith(".")
    assert defaults["unit"] in UNITS
    assert defaults["noValue"]
    assert defaults["thresholds"]["steps"][0]["value"] is None
    assert panel["targets"]


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_asks_the_chosen_source(panel: dict[str, Any]) -> None:
    """Panel and queries, each with a letter of its own."""
    assert panel["datasource"] == {"type": "prometheus", "uid": "$datasource"}
    assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])
    letters = [target["refId"] for target in panel["targets"]]
    assert len(letters) == len(set(letters))


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_narrowed_to_jobs_and_instances(query: str) -> None:
    """Every selector, as somebody may have two deployments in one Prometheus."""
    selectors = SELECTOR.findall(query)
    assert selectors
    for _, labels in selectors:
        assert 'job=~"$job"' in labels
        assert 'instance=~"$instance"' in labels


@pytest.mark.parametrize("query", QUERIES)
def test_a_rate_is_taken_over_grafanas_interval(query: str) -> None:
    """A fixed one shows nothing where scrapes are further apart."""
    for function, window in re.findall(r"\b(i?rate|increase)\([^\[]*\[([^\]]+)\]", query):
        allowed = {"$__rate_interval", "$__range"} if function == "increase" else {"$__rate_interval"}
        assert window in allowed


@pytest.mark.parametrize("query", QUERIES)
def test_a_counter_is_seen_through_its_rate(query: str) -> None:
    """The bare number of a counter says when a process was started. Buckets of histograms are counters, too."""
    for found in re.finditer(r"\bblastdoor_[a-z_]+(?:_total|_bucket)\b", query):
        assert IN_A_RATE.search(query[: found.start()]), found.group()
