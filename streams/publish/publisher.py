"""Decisions on their way to Redis, beside the judge and never in its way.

    offer ──> backlog ──> pipelines of decision.lua and legacy.lua ──> Redis
                 ^── everything again: after connecting, when Redis lost its data, every hour

`offer` only notes the newest decision of a scope. `run` writes while Redis answers and waits while it does not;
whatever was offered meanwhile is written when it returns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from blastdoor_gateway.contract import Decision, Keys, score_version
from redis.asyncio import Redis

from rules.calendar import Calendar
from rules.legacy import LegacyInput
from rules.moment import Millis
from rules.policy import Mode
from streams.publish.backlog import Backlog, Entry, Taken
from streams.publish.daily import DailyUsage
from streams.publish.decisions import EVENT_LIFE, decision_call, lifetime
from streams.publish.heartbeat import Heartbeat
from streams.publish.legacy import LegacyKeys, read_answer
from streams.publish.link import Link
from streams.publish.observer import TROUBLES, Cause, LegacyOutcome, Observer, Outcome, Silent, Trouble
from streams.publish.pace import Pace
from streams.publish.scripts import Call

log = logging.getLogger(__name__)

Refused = Callable[[str, tuple[int, int]], None]
"""Called with a scope and the newer version that Redis holds."""

ForeignWrite = Callable[[str, str], None]
"""Called with a model and the legacy key that somebody else wrote; it has been overwritten."""


class Publisher:
    """Keeps Redis at the newest decision of every scope it was offered and was not told to forget."""

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        *,
        clock: Callable[[], Millis],
        calendar: Calendar,
        worker: str,
        version: str,
        on_refused: Refused,
        on_foreign_write: ForeignWrite,
        observer: Observer | None = None,
        event_clock: bool = False,
        pace: Pace | None = None,
    ) -> None:
        """`redis` as of client.py. `clock` is real time, with `event_clock` as well: there decisions tell the other."""
        self._pace = pace or Pace()
        self._keys = keys
        self._clock = clock
        self._event_clock = event_clock
        self._on_refused = on_refused
        self._on_foreign_write = on_foreign_write
        self._observer = observer or Silent()
        self._link = Link(redis, self._pace.patience)
        self._heartbeat = Heartbeat(self._link, keys, clock, worker, version)
        self._daily = DailyUsage(self._link, keys)
        self._legacy = LegacyKeys(keys, calendar, self._daily, None if event_clock else clock)
        self._backlog = Backlog()
        self._uncounted: dict[str, int] = {}
        self._sent: dict[str, Millis] = {}  # of scopes with news not yet written
        self._work, self._idle = asyncio.Event(), asyncio.Event()
        self._legacy_offered, self._survey_wanted = asyncio.Event(), asyncio.Event()
        self._idle.set()

    def offer(self, decision: Decision, legacy: LegacyInput | None = None, sent: Millis | None = None) -> None:
        """Have `decision` written soon. Never waits; an older one than was offered before is dropped.

        `legacy`: also for v6 gates. Left out, or while only observing, their keys are not touched. `sent`: when the
        oldest usage record that it is news of was sent; only told to the observer.
        """
        if legacy is not None and legacy.mode is Mode.OBSERVE:
            legacy = None
        if legacy is not None:
            self._legacy_offered.set()
        if self._backlog.put(Entry(decision, legacy), self._clock()):
            if sent is not None:
                self._sent.setdefault(decision.scope, sent)
            self._wake()

    def forget(self, scope: str) -> None:
        """Another worker decides about the scope now: write nothing about it any more."""
        self._backlog.forget(scope)
        self._sent.pop(scope, None)

    async def settle(self) -> None:
        """Wait until everything offered so far is written or refused."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write until cancelled. Raises UnsuitableRedisError if the operator's Redis cannot work."""
        pause, loop = self._pace.first_retry, asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._session()
            except* TROUBLES as errors:
                self._stumble(errors)
            with suppress(*TROUBLES):
                await self._link.hang_up()
            await asyncio.sleep(pause)
            pause = self._pace.next_retry(pause, loop.time() - began)

    async def _session(self) -> None:
        """From connecting to the first trouble. What Redis holds is unknown after a gap, so everything is written."""
        await self._link.greet()
        await self._heartbeat.beat()
        self._observer.reachable(up=True)
        self._begin_again(Cause.CONNECTED)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._drain())
            tasks.create_task(self._pulse())
            tasks.create_task(self._survey())
            if not self._event_clock:  # there a key lives its hour and no longer
                tasks.create_task(self._audit())
                tasks.create_task(self._renew())

    def _stumble(self, errors: BaseExceptionGroup[Any]) -> None:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        self._observer.reachable(up=False)
        self._observer.trouble(Trouble.of(error))
        # Its text may hold the address, and with it a password.
        log.warning("Redis cannot be used (%s); %d scopes wait", type(error).__name__, len(self._backlog))

    async def _drain(self) -> None:
        while True:
            while taken := self._backlog.take(self._pace.chunk):
                await self._write(taken)
                self._observer.waiting(len(self._backlog))
            self._work.clear()
            self._idle.set()
            await self._work.wait()

    async def _pulse(self) -> None:
        while True:
            await asyncio.sleep(self._pace.beat)
            if not await self._heartbeat.beat():
                self._begin_again(Cause.LOST)

    async def _audit(self) -> None:
        """Single keys can vanish: evicted, or deleted by hand."""
        while True:
            await asyncio.sleep(self._pace.audit)
            names = {self._keys.decision(scope): scope for scope in self._backlog.scopes()}
            if missing := await self._link.missing(list(names)):
                self._again(Cause.VANISHED, [names[name] for name in missing])

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._pace.renew)
            self._again(Cause.RENEWAL, self._backlog.scopes())

    async def _survey(self) -> None:
        """Look for `daily_usage` keys once a minute, and sooner if usage appears that no known key explains."""
        loop = asyncio.get_running_loop()
        while True:
            await self._legacy_offered.wait()
            self._survey_wanted.clear()
            began, given = loop.time(), self._backlog.legacies()
            days = {self._legacy.gate_day(legacy) for legacy in given.values()}
            news = await self._daily.survey(days, {model for legacy in given.values() for model in legacy.models})
            if news or not self._event_clock:
                self._again(Cause.RENEWAL, list(given))
            rest = self._pace.survey_rest(loop.time() - began)
            await asyncio.sleep(rest)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.refresh - rest):
                    await self._survey_wanted.wait()

    async def _write(self, taken: list[Taken]) -> None:
        calls = [self._calls(each.entry) for each in taken]
        try:
            answers = iter(await self._link.call([call for of_entry in calls for call in of_entry.values()]))
        except BaseException:
            self._backlog.give_back(taken)
            raise
        errors: list[Exception] = []
        for each, of_entry in zip(taken, calls, strict=True):
            found = {model: next(answers) for model in of_entry}
            if broken := [answer for answer in found.values() if isinstance(answer, Exception)]:
                self._backlog.give_back([each])
                errors += broken
            else:
                self._heed(each, found)
        if errors:
            raise errors[0]

    def _calls(self, entry: Entry) -> dict[str, Call]:
        """The decision's call under the empty name, then one for each model name of v6 gates."""
        lives = EVENT_LIFE if self._event_clock else lifetime(entry.decision, self._clock())
        decision = decision_call(self._keys, entry.decision, lives)
        return {"": decision} | self._legacy.calls(entry, self._heartbeat.offset)

    def _heed(self, taken: Taken, answers: dict[str, Any]) -> None:
        scope = taken.entry.decision.scope
        outcome, held = Outcome(answers[""][0]), answers[""][1]
        waited = None if taken.since is None else max(0, self._clock() - taken.since)
        self._observer.decision(outcome, waited)
        sent = self._sent.pop(scope, None)
        if sent is not None and outcome is not Outcome.REFUSED:
            self._observer.arrived(max(0, self._clock() - sent))
        newer = {held} if outcome is Outcome.REFUSED else set()
        for model, answer in answers.items():
            if model and taken.entry.legacy is not None:
                newer |= self._heed_legacy(model, taken.entry.legacy, answer)
        if newer:
            self._on_refused(scope, score_version(max(newer)))

    def _heed_legacy(self, model: str, given: LegacyInput, answer: Any) -> set[str]:
        """Returns the score Redis holds, if it is newer than ours."""
        outcome, counted, held, strangers = read_answer(answer)
        self._observer.legacy(outcome)
        for key in strangers:
            self._on_foreign_write(model, key)
        if outcome is LegacyOutcome.REFUSED:
            return {held}
        uncounted = (given.used or 0) - counted
        if uncounted > max(0, self._uncounted.get(model, 0)):
            self._survey_wanted.set()
        self._uncounted[model] = uncounted
        return set()

    def _begin_again(self, cause: Cause) -> None:
        """Nothing that Redis held before is sure."""
        self._daily.distrust()
        self._survey_wanted.set()
        self._again(cause, self._backlog.scopes())

    def _again(self, cause: Cause, scopes: Sequence[str]) -> None:
        self._observer.again(cause, self._backlog.again(scopes))
        self._wake()

    def _wake(self) -> None:
        self._idle.clear()
        self._work.set()
