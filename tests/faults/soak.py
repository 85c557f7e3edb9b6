"""The fault stories in their long form: `python -m tests.faults.soak`, or `make soak`.

Faults at random, from a seed, on both brokers, under load, with an audit now and then; prints how far it is and leaves
its figures as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.delivery.run import configure_logging
from tests.faults import faults
from tests.faults.audit import check
from tests.faults.brokers import BROKERS
from tests.faults.site import Site, site

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

AUDIT_EVERY = 10  # faults
RATE = 400


async def soak(broker: str, kills: int, rebalances: int, workers: int, seed: int, directory: Path) -> dict[str, Any]:
    """So many kills and other rebalances, any other fault in between; the figures. Raises at the first difference."""
    figures: dict[str, Any] = {"broker": broker, "seed": seed, "workers": workers, "differences": 0}
    happened: Counter[str] = Counter()
    back: list[float] = []
    began = time.monotonic()
    async with site(BROKERS[broker], directory, workers=workers, seed=seed) as here:
        await here.settled()
        await here.calibrate()
        plan = _plan(here, kills, rebalances)
        for first in range(0, len(plan), AUDIT_EVERY):
            async with here.load.running(RATE):
                for fault in plan[first : first + AUDIT_EVERY]:
                    seconds = await fault(here)
                    happened[fault.__name__] += 1
                    back += [seconds] if fault is faults.kill else []
            await check(here)
            _tell(broker, happened, len(plan), here, time.monotonic() - began)
        ledger = here.load.ledger
        figures |= {
            "faults": dict(happened),
            "calls": ledger.calls.total(),
            "repeated": ledger.repeats,
            "unreadable": ledger.unreadable,
            "seconds": round(time.monotonic() - began),
            "back_after_kill_seconds": {
                "median": round(statistics.median(back), 1) if back else None,
                "most": round(max(back), 1) if back else None,
                "session": here.broker.session,
            },
        }
    return figures


def _plan(here: Site, kills: int, rebalances: int) -> list[Callable[[Site], Awaitable[float]]]:
    """In an order of the seed. Other faults come in half as often as rebalances do, each at least once."""
    others = [fault for fault in faults.possible(here) if fault not in faults.REBALANCING]
    moves = [fault for fault in faults.REBALANCING if fault is not faults.kill]
    plan = [faults.kill] * kills
    plan += [moves[number % len(moves)] for number in range(rebalances)]
    plan += [others[number % len(others)] for number in range(max(len(others), rebalances // 2))]
    here.chance.shuffle(plan)
    return plan


def _tell(broker: str, happened: Counter[str], planned: int, here: Site, seconds: float) -> None:
    told = ", ".join(f"{count} {name}" for name, count in sorted(happened.items()))
    calls = here.load.ledger.calls.total()
    print(f"{broker}: {happened.total()} of {planned} faults ({told}), {calls:,} calls, 0 differences, {seconds:.0f} s")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", choices=[*BROKERS, "both"], default="both")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rebalances", type=int, default=50)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--figures", type=Path, help="where to write them; printed in any case")
    given = parser.parse_args()
    configure_logging()
    found = []
    for broker in BROKERS if given.broker == "both" else [given.broker]:
        with tempfile.TemporaryDirectory(prefix="soak-") as directory:
            args = (broker, given.kills, given.rebalances, given.workers, given.seed, Path(directory))
            found.append(asyncio.run(soak(*args)))
    text = json.dumps(found, indent=2)
    print(text)
    if given.figures is not None:
        given.figures.write_text(text + "\n")


if __name__ == "__main__":
    main()
