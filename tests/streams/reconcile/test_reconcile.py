"""Bills as files, books from decisions, and the command between them."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from blastdoor_gateway.contract import Action, Decision
from click.testing import CliRunner

from rules.ledger import Amount
from rules.reconcile import Billed, Booked
from streams.cli import main
from streams.reconcile.bill import BadBillError, read_bill
from streams.reconcile.history import books
from streams.ship.outbox import open_outbox
from streams.ship.parcels import Parcel
from streams.ship.tally import Tally
from streams.topics import Topics, ensure_topics

_numbers = itertools.count(1)


def decision(day: str, used: int, base: int, n: int = 1, **fields: Any) -> Decision:
    known = {
        "scope": "model:flash",
        "action": Action.ALLOW,
        "rule": "r",
        "reason": "",
        "decided_at": f"{day}T12:00:00Z",
    }
    return Decision(
        **(known | {"day": day, "used": used, "counted": used + base, "counter": "c", "version": (1, n)} | fields)
    )


def bill(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bill.csv"
    path.write_text(text)
    return path


def test_a_bill_in_csv(tmp_path: Path) -> None:
    """Lines of one day and model add up, names become the model's one name, digits may be grouped."""
    text = 'day,model,tokens,charged\n2026-08-13,alias,"1,000",\n2026-08-13,flash,5,3\n2026-08-14,flash,7,\n'
    found = read_bill(bill(tmp_path, text), lambda name: {"alias": "flash"}.get(name, name))
    assert found == {
        ("2026-08-13", "flash"): Billed(tokens=1005, charged=3),
        ("2026-08-14", "flash"): Billed(tokens=7),
    }


def test_a_bill_in_json(tmp_path: Path) -> None:
    """The same names, one object a line."""
    path = bill(tmp_path, '{"day":"2026-08-13","model":"flash","tokens":5,"charged":0}\n')
    assert read_bill(path, str) == {("2026-08-13", "flash"): Billed(tokens=5, charged=0)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day,model,tokens\nyesterday,m,5\n", ":2: day: 'yesterday'"),
        ("day,model,tokens\n2026-08-13,,5\n", ":2: model: missing"),
        ("day,model,tokens\n2026-08-13,m,-5\n", ":2: tokens: '-5'"),
        ("day,model,tokens\n2026-08-13,m,1e9\n", ":2: tokens: '1e9'"),
        ("day,model,tokens\n2026-08-13,m\n", ":2: tokens: 'None'"),
        ("2026-08-13,m,5\n", ":1: the head of the columns lacks day, model, tokens"),
        ("day,model\n2026-08-13,m\n", ":1: the head of the columns lacks tokens"),
        ("", ":1: the head of the columns lacks day, model, tokens"),
        (f"day,model,tokens\n2026-08-13,{'m' * 200_000},5\n", ":2: field larger than field limit"),
        ('{"day":"2026-08-13"\n', ":1: no JSON object"),
    ],
)
def test_a_bill_with_a_mistake(tmp_path: Path, text: str, message: str) -> None:
    """Told with its line and field."""
    with pytest.raises(BadBillError) as found:
        read_bill(bill(tmp_path, text), str)
    assert message in str(found.value)


def test_a_days_total_is_told_by_the_next_day() -> None:
    """The last decision of a day may be hours before its end."""
    found = books([
        decision("2026-08-12", 700, 0, ledger={"charged": [0, 5], "unexplained": [1, 2]}),
        decision("2026-08-13", 10, 1_000),
    ])  # fmt: skip
    assert found["2026-08-12", "flash"] == Booked(used=1_000, charged=Amount(0, 5), unexplained=Amount(1, 2))
    assert found["2026-08-13", "flash"] == Booked(used=10, whole=False)


def test_a_counter_that_began_anew_tells_nothing_of_the_day_before() -> None:
    """Then the day stays open rather than wrong."""
    found = books([decision("2026-08-12", 700, 0), decision("2026-08-13", 10, 5, counter="d")])
    assert not found["2026-08-12", "flash"].whole


def test_a_bill_may_come_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a script prints needs no file."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"day,model,tokens\n2026-08-13,flash,5\n")))
    assert read_bill(Path("-"), str) == {("2026-08-13", "flash"): Billed(tokens=5)}


@pytest.mark.embedded
def test_the_command(broker: str, tmp_path: Path) -> None:
    """From the decisions on Kafka and a file to a table and an exit code."""
    prefix = f"reconcile-{next(_numbers)}"
    decisions = [
        decision("2026-08-12", 400, 0, 1),
        decision("2026-08-12", 700, 0, 2),
        decision("2026-08-13", 9, 90_000, 3),
    ]

    async def produce() -> None:
        partitions = await ensure_topics(broker, prefix)
        async with open_outbox(broker, partitions, Tally()) as outbox:
            for each in decisions:
                await outbox.put(Parcel("d", Topics(prefix).decisions, b"model:flash", each.to_json()))
            await outbox.settle()

    asyncio.run(produce())

    def run(text: str, *options: str) -> Any:
        argv = ["reconcile", str(bill(tmp_path, text)), "--kafka", broker, "--prefix", prefix, *options]
        return CliRunner().invoke(main, argv)

    good = run("day,model,tokens\n2026-08-12,flash,90100\n")
    assert good.exit_code == 0, good.output
    assert "agrees" in good.stdout
    bad = run("day,model,tokens\n2026-08-12,flash,190100\n", "--json")
    assert bad.exit_code == 1
    first = json.loads(bad.stdout.splitlines()[0])
    assert (first["verdict"], first["difference"]) == ("unmetered", 100_100)
    assert run("nonsense\n1\n").exit_code == 2
