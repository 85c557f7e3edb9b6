"""What is printed: whole numbers, whole Chinese, and nothing wider than the terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len

from streams.demo import arrivals, live
from streams.demo.band import Band
from streams.demo.closing import closing
from streams.demo.live import SCALE, Scene
from streams.demo.picture import picture
from tests.streams.demo.conftest import POLICY, ZONE

if TYPE_CHECKING:
    from blastdoor_gateway.contract import Decision

    from streams.demo.findings import Findings
    from streams.demo.recordings import Recordings
    from tests.streams.demo.conftest import Printed

NUMBERS = ("2,242,178", "2,391,794", "149,616", "2,800,128", "2,293,004", "665,268", "1,334,732")
TITLES = ("已用到每日上限的 80%", "有用量但没有余额读数")


@pytest.mark.parametrize("width", [80, 120])
def test_the_closing_fits(printed: Printed, findings: Findings, width: int) -> None:
    """No line is wider than the terminal, and no number or title is cut."""
    lines = printed(*closing(findings, POLICY), width=width)
    assert max(map(cell_len, lines)) <= width
    text = "\n".join(lines)
    assert [missing for missing in (*NUMBERS, *TITLES) if missing not in text] == []


def test_a_reading_is_a_column(printed: Printed, findings: Findings) -> None:
    """The rows that matter, at 80 columns."""
    lines = [" ".join(line.split()) for line in printed(*closing(findings, POLICY))]
    assert "real pool (web console) 2,293,004 2,293,004 2,242,178 2,242,178 2,242,178" in lines
    assert "v6 takes the pool for 2,800,128 2,293,004 2,242,178 2,757,715 2,391,794" in lines
    assert "calls are admitted BLOCKED admitted admitted admitted" in lines
    assert "blastdoor pool, at least 2,292,854 2,292,854 2,242,028 2,241,913 2,241,913" in lines
    assert "under the 2,000,000 cap 2,000,000 2,000,000 2,000,000 2,000,000 2,000,000" in lines


def test_a_wrong_refusal_is_told(printed: Printed, findings: Findings) -> None:
    """With the call, what was left, and what held instead."""
    text = " ".join(" ".join(printed(*closing(findings, POLICY))).split())
    assert "refused a call (1,696,135+16/296,869) with 596,869 free tokens left" in text
    assert "blastdoor: warn, up to 2,000,000" in text


def test_a_closing_without_readings_is_short(printed: Printed, findings: Findings) -> None:
    """When nothing came there is nothing to compare, and the rest is told."""
    text = "\n".join(printed(*closing(replace(findings, rows=()), POLICY)))
    assert "What each formula" not in text
    assert "What gateways find in Redis" in text


def test_a_card_is_read_as_in_feishu(printed: Printed, findings: Findings) -> None:
    """Every text of the card stands in the panel."""
    card = next(each for each in findings.arrivals if each.channel == "feishu" and "80%" in arrivals.title(each))
    lines = printed(arrivals.in_full(card))
    assert {cell_len(line) for line in lines} == {80}
    text = "".join(line.strip("│ ") for line in lines)
    words = [word for content in card.texts() for word in content.strip("*").split()]
    assert [word for word in words if word not in text] == []


def test_a_webhook_shows_its_proof(printed: Printed, findings: Findings) -> None:
    """Its id and that the signature was verified, and the data."""
    hook = next(each for each in findings.arrivals if each.channel == "webhook")
    text = "\n".join(printed(arrivals.in_full(hook)))
    assert hook.id in text
    assert "signature verified" in text
    assert f"type: {hook.body['type']}" in text


def test_an_arrival_in_a_line_names_its_channel(findings: Findings) -> None:
    """And says what the alert says."""
    first, second = findings.arrivals[:2]
    assert arrivals.line(first).plain.split()[1] == "feishu-main"
    assert arrivals.line(second).plain.split()[1] == "webhook-main"
    assert arrivals.title(first) == arrivals.title(second)


@pytest.mark.parametrize("width", [80, 120])
def test_the_live_view_fits(
    printed: Printed, recordings: Recordings, findings: Findings, decisions: list[Decision], width: int
) -> None:
    """A small terminal of 24 lines shows all of it, at every reading."""
    scene = Scene(ticks=recordings.ticks, zone=ZONE)
    for row, decision in zip(findings.rows, decisions, strict=True):
        scene.row, scene.decision, scene.shipped = row, decision, row.at
        lines = printed(live.view(scene), width=width)
        assert {cell_len(line) for line in lines} == {width}
        assert len(lines) <= 12
        assert f"v6: {row.believed:,} ┃" in "\n".join(lines)
        assert decision.reason.split()[-1] in "\n".join(lines)


def test_the_live_view_begins_empty(printed: Printed, recordings: Recordings) -> None:
    """Before anything has been shipped or decided."""
    text = "\n".join(printed(live.view(Scene(ticks=recordings.ticks, zone=ZONE))))
    assert "newest decision" not in text
    assert "0 arrived" in text


def test_the_band_is_to_scale() -> None:
    """Each column stands for the same number of tokens; marks stand where their number is."""
    band = Band(used=25, low=50, high=75, scale=100, marks=((60, "red"),))
    assert "".join(str(place) for place, _ in band.places(20)) == "00000111112242233333"


@pytest.mark.parametrize("used", [0, SCALE, 2 * SCALE])
def test_the_band_is_as_wide_as_it_may(used: int) -> None:
    """Whatever is used, and where nothing else is known."""
    band = Band(used=used, low=None, high=None, scale=SCALE, marks=((2 * SCALE, "red"),))
    assert len(band.places(76)) == 76


def test_the_picture_asks_nobody(findings: Findings) -> None:
    """It is well-formed, fetches nothing, and names no path."""
    svg = picture(findings, POLICY)
    assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314  we made it
    assert re.findall(r"url\((?!#)|@import|src=|/home/|/tmp/|/root/", svg) == []
    assert "2,391,794" in svg
    assert "已用到每日上限的" in svg


def test_numbers_stay_in_their_columns_in_the_picture(findings: Findings) -> None:
    """No text depends on leading blanks, which some viewers drop: a shorter number begins further to the right."""
    svg = picture(findings, POLICY)
    assert re.findall(r">&#160;+[^&]", svg) == []
    places = {text: float(x) for x, text in re.findall(r'x="([\d.]+)"[^>]*>([\d,]+)</text>', svg)}
    assert places["596,869"] == pytest.approx(places["1,696,135"] + 2 * 12.2)
