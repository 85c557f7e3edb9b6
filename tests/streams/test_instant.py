"""Instants on a command line."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import click
import pytest

from streams.instant import WrittenInstant, instant_in

ZONE = ZoneInfo("Asia/Shanghai")
NOON = 1_786_593_600_000  # 2026-08-13T12:00:00+08:00


@pytest.mark.parametrize(
    "written", ["2026-08-13 12:00", "2026-08-13T12:00:00", "2026-08-13T12:00:00+08:00", "2026-08-13T04:00:00Z"]
)
def test_a_time_without_a_zone_is_the_policys(written: str) -> None:
    """With an offset it is its own."""
    assert instant_in(WrittenInstant().convert(written, None, None), ZONE) == NOON


def test_a_date_is_its_midnight() -> None:
    """In the policy's zone."""
    assert instant_in(WrittenInstant().convert("2026-08-13", None, None), ZONE) == NOON - 12 * 3_600_000


def test_a_time_already_read_stays() -> None:
    """As click asks of every type."""
    when = datetime(2026, 8, 13, 4, tzinfo=UTC)
    assert WrittenInstant().convert(when, None, None) is when


@pytest.mark.parametrize("written", ["", "soon", "2026-13-01", "13.8.2026"])
def test_anything_else_is_refused_with_an_example(written: str) -> None:
    """The message shows what one looks like."""
    with pytest.raises(click.BadParameter, match="one looks like"):
        WrittenInstant().convert(written, None, None)
