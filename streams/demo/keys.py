"""The Redis keys as gateways read them: the decision, and the two numbers of an unchanged v6 gate."""

from __future__ import annotations

from collections.abc import Iterator

from blastdoor_gateway.contract import Decision
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams.demo.findings import Findings
from streams.demo.gate import SMALL_BUFFER, STATIC_LIMIT, Sight
from streams.demo.words import ACTIONS, heading, number


def keys(found: Findings) -> RenderableType:
    """Key by key, with what is in it and what a gateway makes of that."""
    return Group(
        heading("What gateways find in Redis"),
        Text(),
        Text.assemble(("HGETALL ", "bold"), (found.key, "cyan"), overflow="fold"),
        _fields(found.stored),
        Text.assemble(("  until   ", "dim"), found.stored.until or ""),
        Text.assemble(("  reason  ", "dim"), found.stored.reason),
        Text(),
        *_legacy(found.sight),
        _conclusion(found),
    )


def _fields(stored: Decision) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(no_wrap=True)
    action = Text(str(stored.action), style=ACTIONS[stored.action])
    seconds = "unknown" if stored.lag_seconds is None else str(stored.lag_seconds)
    grid.add_row("  action", action, "used", number(stored.used), "pool_low", number(stored.pool_low))
    grid.add_row("  rule", stored.rule, "limit", number(stored.limit), "pool_high", number(stored.pool_high))
    grid.add_row("  wall", stored.wall, "counted", number(stored.counted), "lag_seconds", seconds)
    grid.add_row("  day", stored.day, "ceiling", number(stored.ceiling), "formula", stored.formula)
    return grid


def _legacy(sight: Sight) -> Iterator[RenderableType]:
    yield Text.assemble("An unchanged v6 gate, its own balance sync off, reads ", (f"(after {sight.prefix})", "dim"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(style="cyan", overflow="fold")
    for key, value in zip(sight.keys, (sight.balance, sight.usage_at_sync, sight.counted), strict=True):
        grid.add_row(number(value), key)
    yield grid


def _conclusion(found: Findings) -> Text:
    """That the gate is held to our limit."""
    sight, room = found.sight, max(0, (found.stored.limit or 0) - (found.stored.used or 0))
    sums = f"{number(sight.balance)} + {number(sight.usage_at_sync)} − {SMALL_BUFFER:,}"
    return Text.assemble(
        f"and works out min({STATIC_LIMIT:,}, {sums}) = ",
        (number(sight.limit), "bold green"),
        f": it admits {sight.left:,} tokens more, the decision allows {room:,}. Never above ours.",
    )
