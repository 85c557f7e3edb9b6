"""Instants as people write them on a command line."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any

import click

from rules.moment import Millis, from_datetime


class WrittenInstant(click.ParamType):
    """`2026-08-13T11:22:00+08:00`; without an offset it is a time of the policy's zone, a date alone its midnight."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{value!r} is no time; one looks like '2026-08-13 11:22' or 2026-08-13T11:22:00+08:00", param, ctx
            )


def instant_in(written: datetime, zone: tzinfo) -> Millis:
    """The instant of a written time, which is one of `zone` unless it says otherwise."""
    return from_datetime(written if written.tzinfo else written.replace(tzinfo=zone))
