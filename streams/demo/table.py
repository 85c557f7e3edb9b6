"""The comparison: what each formula made of each reading, and what that comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo

from blastdoor_gateway.contract import Decision
from rich import box
from rich.table import Table
from rich.text import Text

from rules.formulas import BLIND_BUFFER, SNAPSHOT_BUFFER
from rules.policy import ModelTerms
from rules.records import Refusal
from streams.demo.comparison import Row
from streams.demo.words import ACTIONS, clock, date, number, time_of_day

Line = tuple[str | Text, Callable[[Row], str | Text]]


def comparison(rows: Sequence[Row], zone: tzinfo, terms: ModelTerms) -> Table:
    """A reading a column, so that five of them fit 80 characters."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("tokens, at the reading of", no_wrap=True)
    for row in rows:
        header = f"{date(row.at, zone)}\n{time_of_day(row.at, zone)}"
        table.add_column(header, justify="right", no_wrap=True, min_width=9)
    for group in (_known(), _v6(), _v4(), _ours(terms)):
        for label, cell in group:
            table.add_row(label, *(cell(row) for row in rows))
        table.add_section()
    return table


def _known() -> Iterator[Line]:
    yield "left, says the provider", lambda row: number(row.reading.available)
    yield "used since midnight", lambda row: number(row.used)
    yield Text("real pool (web console)", style="bold"), lambda row: Text(number(row.truth), style="bold")


def _v6() -> Iterator[Line]:
    yield Text("v6 ", style="bold") + Text("takes the pool for"), lambda row: _bad(row.believed, row.v6.charged)
    yield "   too high by", lambda row: _bad(row.too_high, row.v6.charged)
    yield f"   limit, {SNAPSHOT_BUFFER:,} less", lambda row: number(row.v6.limit)
    yield "   of which charged", lambda row: _bad(row.v6.charged, row.v6.charged)


def _v4() -> Iterator[Line]:
    yield Text("v4 ", style="bold") + Text(f"left − {BLIND_BUFFER:,}"), lambda row: _bad(row.v4.limit or 0, _wrong(row))
    yield "   calls are", lambda row: Text("BLOCKED", style="bold red") if _wrong(row) else "admitted"


def _ours(terms: ModelTerms) -> Iterator[Line]:
    name = Text("blastdoor ", style="bold")
    yield name + Text("pool, at least"), lambda row: _good(row.decision.pool_low, row)
    yield "   pool, at most", lambda row: _good(row.decision.pool_high, row)
    yield "   provider's lag, at least", lambda row: number(row.decision.lag_tokens_low)
    yield "   … at most", lambda row: number(row.decision.lag_tokens_high)
    yield "   … in minutes", lambda row: row.lag_minutes
    yield f"   limit, {terms.small_buffer:,} less", lambda row: number(row.ours.limit)
    yield "   of which charged", lambda row: _good(row.ours.charged, row)
    yield f"   under the {terms.daily_cap:,} cap", lambda row: Text(number(row.decision.limit), style="bold")
    yield "   decision", lambda row: Text(str(row.decision.action), style=ACTIONS[row.decision.action])


def _wrong(row: Row) -> bool:
    return row.v4.blocks_wrongly(row.used)


def _bad(value: int, wrong: object) -> Text:
    return Text(number(value), style="bold red" if wrong else "")


def _good(value: int | None, row: Row) -> Text:
    return Text(number(value), style="bold green" if row.holds else "bold red")


def lessons(rows: Sequence[Row], held: Sequence[tuple[Refusal, Decision | None]], zone: tzinfo) -> Iterator[Text]:
    """What the table comes to, in sentences."""
    last = rows[-1]
    yield Text.assemble(
        (clock(last.at, zone), "cyan"),
        f"  The provider is {last.lag_minutes} minutes behind. v6 believes in ",
        (number(last.believed), "bold red"),
        f" tokens, {last.too_high:,} more than the ",
        (number(last.truth), "bold green"),
        " there are; only the cap keeps its limit from what costs money.",
    )
    for refusal, decision in held:
        yield _refusal(refusal, decision, rows, zone)


def _refusal(refusal: Refusal, decision: Decision | None, rows: Sequence[Row], zone: tzinfo) -> Text:
    left = next(row.truth for row in reversed(rows) if row.at <= refusal.at or row is rows[0]) - refusal.usage
    text = Text.assemble(
        (clock(refusal.at, zone), "cyan"),
        "  The gateway of that day, on v4, refused a call ",
        (f"({refusal.usage:,}+{refusal.reserve:,}/{refusal.limit:,})", "bold red"),
        f" with {left:,} free tokens left. ",
    )
    if decision is not None:
        action = (str(decision.action), ACTIONS[decision.action])
        text.append_text(Text.assemble("blastdoor: ", action, f", up to {number(decision.limit)}."))
    return text
