"""Takes a changed policy file over while the worker runs.

The file is looked at every second, and on SIGHUP. A new one is read when it has not changed for a second; it is taken
over whole, between two batches, or not at all: with a mistake in it the old policy stays in force, which is logged,
shown (`blastdoor_policy_reload_failed`) and raised as an alert. Which way it fails: closed or open as the old one says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.channels.build import ChannelError
from streams.metrics import Metrics
from streams.policy_file import PolicyError, default_rulebook, load_policy

log = logging.getLogger(__name__)

PAUSE = 1.0

Fingerprint = tuple[int, int, int] | None
_NEVER = (-1, -1, -1)
Take = Callable[[Policy, Rulebook], None]
"""Puts a policy in force. Raises ChannelError before anything has changed."""


class RestartNeededError(Exception):
    """A change that only a restart can bring."""


@dataclass(slots=True)
class FileState:
    """Why the file as it is now is not in force; empty where it is."""

    refused: str = ""


class PolicyWatch:
    """Watches one file. `policy`: what is in force; `state`: where others read how it stands."""

    def __init__(
        self, path: str, policy: Policy, take: Take, metrics: Metrics, state: FileState, *, pause: float = PAUSE
    ) -> None:
        self._path = path
        self._policy = policy
        self._take = take
        self._metrics = metrics
        self._state = state
        self._pause = pause
        self._wanted = asyncio.Event()
        self._seen: Fingerprint = None
        self._settled: Fingerprint = _NEVER  # the file may have changed since the worker read it
        metrics.policy_in_force(policy.hash)

    def nudge(self) -> None:
        """Read the file again now, also if it looks unchanged: a secret behind it may have."""
        self._wanted.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            asked = await self._wait()
            found = _fingerprint(self._path)
            if asked or (found == self._seen and found != self._settled):
                self._settled = found
                await self._read()
            self._seen = found

    async def _wait(self) -> bool:
        """Until the next look; true if somebody asked for it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                await self._wanted.wait()
        asked = self._wanted.is_set()
        self._wanted.clear()
        return asked

    async def _read(self) -> None:
        try:
            policy, rulebook = await asyncio.to_thread(_load, self._path)
            _check_fixed(self._policy, policy)
            if policy != self._policy:
                self._take(policy, rulebook)
        except (PolicyError, ChannelError, RestartNeededError) as error:
            self._refuse(error)
            return
        self._accept(policy)

    def _accept(self, policy: Policy) -> None:
        if policy != self._policy:
            log.info("policy %s is in force in place of %s", policy.hash, self._policy.hash)
            self._metrics.policy_reloads.labels(outcome="adopted").inc()
        elif self._state.refused:
            log.info("the policy file is again the one in force, %s", policy.hash)
        self._policy = policy
        self._state.refused = ""
        self._metrics.policy_reload_failed.set(0)
        self._metrics.policy_in_force(policy.hash)

    def _refuse(self, error: Exception) -> None:
        for line in str(error).splitlines():
            log.error("%s", line)
        log.error("the changed policy file is not taken over; policy %s stays in force", self._policy.hash)
        self._state.refused = _brief(error)
        self._metrics.policy_reloads.labels(outcome="refused").inc()
        self._metrics.policy_reload_failed.set(1)


def _load(path: str) -> tuple[Policy, Rulebook]:
    policy = load_policy(path)
    return policy, default_rulebook(policy)


def _check_fixed(old: Policy, new: Policy) -> None:
    """The accounting day is part of every stored row and every open window: it cannot change under them."""
    changed = [name for name in ("timezone", "day_starts") if getattr(old, name) != getattr(new, name)]
    if changed:
        raise RestartNeededError(f"{' and '.join(changed)} changed: restart the workers, best at the change of the day")


def _brief(error: Exception) -> str:
    if not isinstance(error, PolicyError):
        return str(error)
    first, *more = error.faults
    place = f"line {first.line}, " if first.line else ""
    return f"{place}{first}" + (f" (and {len(more)} more)" if more else "")


def _fingerprint(path: str) -> Fingerprint:
    """What changes with the content of a file; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
