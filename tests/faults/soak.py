"""The fault stories in their long form: `python -m tests.faults.soak`, or `make soak`.

Faults at random, from a seed, on both brokers, under load, with an audit now and then; prints how far it is and leaves
its figures as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
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

    Fault = Callable[[Site], Awaitable[float]]

AUDIT_EVERY = 10  # faults
RATE = 400


class Course:
    """Faults in an order of the seed, on one site after another, and what has come of them."""

    def __init__(self, broker: str, workers: int, seed: int) -> None:
        self.broker, self.workers, self.seed = broker, workers, seed
        self.happened: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.back: list[float] = []
        self.planned = 0
        self._began = time.monotonic()

    async def run(self, kills: int, rebalances: int, directory: Path) -> None:
        """So many kills and other rebalances, any other fault in between. Raises at the first difference."""
        kind, rest = BROKERS[self.broker], None
        for number in itertools.count():
            place = directory / str(number)
            place.mkdir()
            async with site(kind, place, workers=self.workers, seed=self.seed + number) as here:
                if rest is None:
                    rest = _plan(here, kills, rebalances)
                    self.planned = len(rest)
                await here.settled()
                await here.calibrate()
                await self._stretch(here, rest[: kind.lasts])
            rest = rest[kind.lasts :]
            if not rest:
                return

    async def _stretch(self, here: Site, plan: list[Fault]) -> None:
        for first in range(0, len(plan), AUDIT_EVERY):
            async with here.load.running(RATE):
                for fault in plan[first : first + AUDIT_EVERY]:
                    seconds = await fault(here)
                    self.happened[fault.__name__] += 1
                    self.back += [seconds] if fault is faults.kill else []
            await check(here)
            self._tell(here)
        ledger = here.load.ledger
        self.counted += Counter(calls=ledger.calls.total(), repeated=ledger.repeats, unreadable=ledger.unreadable)

    def _tell(self, here: Site) -> None:
        told = ", ".join(f"{count} {name}" for name, count in sorted(self.happened.items()))
        calls = self.counted["calls"] + here.load.ledger.calls.total()
        faults_so_far = f"{self.broker}: {self.happened.total()} of {self.planned} faults ({told})"
        print(f"{faults_so_far}, {calls:,} calls, 0 differences, {time.monotonic() - self._began:.0f} s", flush=True)

    def figures(self) -> dict[str, Any]:
        """Of a course that came to its end."""
        return {
            "broker": self.broker,
            "seed": self.seed,
            "workers": self.workers,
            "differences": 0,
            "faults": dict(self.happened),
            **self.counted,
            "seconds": round(time.monotonic() - self._began),
            "back_after_kill_seconds": {
                "median": round(statistics.median(self.back), 1) if self.back else None,
                "most": round(max(self.back), 1) if self.back else None,
                "session": BROKERS[self.broker].session,
            },
        }


def _plan(here: Site, kills: int, rebalances: int) -> list[Fault]:
    """In an order of the seed. Other faults come in half as often as rebalances do, each at least once."""
    others = [fault for fault in faults.possible(here) if fault not in faults.REBALANCING]
    moves = [fault for fault in faults.REBALANCING if fault is not faults.kill]
    plan = [faults.kill] * kills
    plan += [moves[number % len(moves)] for number in range(rebalances)]
    plan += [others[number % len(others)] for number in range(max(len(others), rebalances // 2))]
    here.chance.shuffle(plan)
    return plan


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
            course = Course(broker, given.workers, given.seed)
            asyncio.run(course.run(given.kills, given.rebalances, Path(directory)))
        found.append(course.figures())
    text = json.dumps(found, indent=2)
    print(text)
    if given.figures is not None:
        given.figures.write_text(text + "\n")


if __name__ == "__main__":
    main()
