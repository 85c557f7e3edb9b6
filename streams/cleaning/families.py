"""The families of keys of ours: what each begins with, and how long one of them may live without being renewed."""

from __future__ import annotations

from typing import NamedTuple

from blastdoor_gateway.contract import Keys

from rules.moment import DAY, HOUR, MINUTE, Millis


class Family(NamedTuple):
    """`life` None: its keys rightly have no end. `model`: the rest of a key's name begins with a model's."""

    name: str
    begin: str
    life: Millis | None
    daily: bool = False  # the rest of the name begins with a date


def families(keys: Keys) -> tuple[Family, ...]:
    """All of them, the longest beginnings first, so that each key belongs to one."""
    own, old = f"{keys.prefix}:", keys.legacy_prefix
    found = [
        Family("decision", keys.decision(""), 2 * DAY),
        Family("own", f"{own}own:", 3 * DAY),
        Family("legacy", keys.legacy_written(""), 2 * DAY),
        Family("held", keys.held(""), HOUR),
        Family("budget", f"{own}budget:", 35 * DAY),
        Family("topups", f"{own}topups:", 35 * DAY),
        Family("rate", keys.rate(""), HOUR),
        Family("settled", keys.settled(""), DAY),
        Family("counted", f"{own}counted:", 3 * DAY, daily=True),
        Family("answer", keys.answer(""), HOUR),
        Family("gate", f"{own}gate:", None),
        Family("poll", f"{own}poll:", None),
        Family("engine", keys.engine, MINUTE),
        Family("daily_usage", f"{old}daily_usage:", 2 * DAY, daily=True),
        Family("balance_at_sync", keys.balance_at_sync(""), DAY),
        Family("usage_at_sync", keys.usage_at_sync(""), DAY),
        Family("last_run", keys.last_run(""), 2 * DAY, daily=True),
        Family("quota", f"{old}quota:tenant:", 2 * DAY),
    ]
    return tuple(sorted(found, key=lambda family: -len(family.begin)))


OF_MODELS = ("balance_at_sync", "usage_at_sync", "legacy")
"""Families whose keys carry the name of a model and nothing else."""
