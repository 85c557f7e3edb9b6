"""The gate without input and output: what to ask Redis, and what follows from its answers.

Each operation is a generator. It yields a call, is sent the answer (a script's fields, or why there is none), and
returns its result. `Guard` and `SyncGuard` run the same generators over an asynchronous and a blocking connection.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TypeVar

from blastdoor_gateway.admission import Admission, Do, Layer, Outage, Outcome, Request, Settlement, Standing, Terms
from blastdoor_gateway.answers import Fields, admission_of, number, standing_of
from blastdoor_gateway.backlog import Backlog
from blastdoor_gateway.calendar import Millis
from blastdoor_gateway.config import Gate, Mode
from blastdoor_gateway.contract import Keys
from blastdoor_gateway.coverage import Coverage
from blastdoor_gateway.memory import Memory
from blastdoor_gateway.money import Nano, Tokens
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.outage import Alone
from blastdoor_gateway.questions import Questions
from blastdoor_gateway.scripts import Call
from blastdoor_gateway.self_test import Checked, run_trials
from blastdoor_gateway.settling import money_of
from blastdoor_gateway.unasked import Unasked
from blastdoor_gateway.words import model_line, tenant_line, usage_line

T = TypeVar("T")
Steps = Generator[Call, Fields | Outage, T]

log = logging.getLogger("blastdoor.gate")

TRIES = 3
"""How often admission is asked when the engine's counters changed in between; a restart of the engine changes them."""


class Core:
    """One process's gate. `clock` gives milliseconds; without it scripts take Redis's own time."""

    def __init__(self, gate: Gate, clock: Callable[[], Millis] | None, observer: Observer) -> None:
        self.gate = gate
        self.keys = Keys(gate.prefix)
        self.observer = observer
        self.backlog = Backlog()
        self._memory = Memory()
        self._clock = clock or (lambda: time.time_ns() // 1_000_000)
        self._questions = Questions(gate, self.keys, self._memory, fixed_clock=clock is not None)
        self._alone = Alone(gate)
        self._unasked = Unasked(self.keys, self._clock)
        self.coverage = Coverage(gate)

    def admit(self, request: Request, retry_in: Callable[[], float]) -> Steps[Admission]:
        """`retry_in`: seconds until Redis will be asked again."""
        began = time.perf_counter()
        self.coverage.note(request)
        for _ in range(TRIES):
            now = self._clock()
            counters = self._questions.counters(request)
            found = yield self._questions.admit(request, counters, now)
            when = self._questions.windows(now)
            if isinstance(found, Outage):
                break
            if found["status"] != "counters":
                admission = admission_of(found, request, counters, when, now)
                self._learn(found, admission)
                return self._told(admission, began)
            self._questions.learn_counters(request, found)
        cause, wait = (found, retry_in()) if isinstance(found, Outage) else (Outage.ERROR, 1.0)
        terms = Terms(day=when.day, month=when.month, held=True, counters=counters)
        return self._told(self._by_itself(request, cause, wait, terms, now), began)

    def settle(self, admission: Admission, tokens: Tokens | int, status: str = "success") -> Steps[Settlement]:
        """Count what a call used. Never raises for what was used."""
        used = tokens if isinstance(tokens, Tokens) else Tokens(tokens)
        settlement = self._refuse_settling(admission, used)
        if settlement is None:
            money, now = money_of(admission, used, self.gate), self._clock()
            call = self._questions.settle(admission, used, money, now)
            found = yield call
            settlement = replace(self._settled(admission, used, money, call, found, status), at=now)
            if not isinstance(found, Outage):
                yield from self._report()
        self.observer.settled(settlement)
        return settlement

    def self_test(self) -> Steps[tuple[Checked, ...]]:
        """Try every configured layer."""
        return (yield from run_trials(self.gate, self._clock()))

    def unadmitted(self, request: Request) -> Admission:
        """An admission for a call that was made without one: to settle it counts what it used."""
        now = self._clock()
        when = self._questions.windows(now)
        terms = Terms(day=when.day, month=when.month, counters=self._questions.counters(request))
        return Admission(request=request, allowed=True, action=Do.PROCEED, local=True, at=now, terms=terms)

    def to_text(self, at: Millis) -> str:
        """An instant as RFC 3339 text in the configured zone."""
        return self._questions.to_text(at)

    def resend(self) -> Steps[bool]:
        """Send the oldest settlement kept; says whether there may be more to send now."""
        call = self.backlog.take()
        if call is None:
            return False
        found: Fields | Outage = Outage.PAUSED
        try:
            found = yield call
        finally:
            if found is Outage.ERROR:
                self.backlog.keep(call)  # at the end: one that can never be taken must not stand before all others
            elif isinstance(found, Outage):
                self.backlog.put_back(call)
            self.observer.backlog(len(self.backlog))
        if not isinstance(found, Outage):
            yield from self._report()
        return not isinstance(found, Outage)

    def standing(self, tenant: str) -> Steps[Standing | Outage]:
        """How a tenant stands in the gate's own budgets."""
        found = yield self._questions.standing(tenant, self._clock())
        return found if isinstance(found, Outage) else standing_of(found)

    def top_up(self, tenant: str, window: str, tokens: int, grant_id: str) -> Steps[int | Outage]:
        """Grant a tenant more in its `day` or `month`; the same id grants once. Returns all that was granted so."""
        if window not in {"day", "month"}:
            msg = f"a top-up is for a day or a month, not {window!r}"
            raise ValueError(msg)
        found = yield self._questions.top_up(tenant, window, tokens, grant_id, self._clock())
        return found if isinstance(found, Outage) else int(found["total"])

    def remember(self, digests: Sequence[str], answer: str) -> Steps[bool]:
        """Keep an answer; says whether it is kept."""
        if len(answer) > self.gate.longest_answer:
            return False
        found = yield self._questions.remember(digests, answer, self._clock())
        kept = not isinstance(found, Outage)
        if kept:
            self.observer.cache("stored")
        return kept

    def _by_itself(self, request: Request, cause: Outage, wait: float, terms: Terms, now: Millis) -> Admission:
        """Redis could not be asked."""
        admission = self._alone.admit(request, cause, wait, time.monotonic(), terms, now)
        if admission.allowed and self.gate.mode is not Mode.OBSERVE and self._alone.matters(request):
            self._unasked.note(cause)
        return admission

    def _report(self) -> Steps[None]:
        """Redis answers: tell how many calls passed while it did not."""
        calls = self._unasked.calls
        if calls and not isinstance((yield self._unasked.report()), Outage):
            self._unasked.told(calls)

    def _refuse_settling(self, admission: Admission, used: Tokens) -> Settlement | None:
        if not _is_number(used):
            return Settlement(outcome=Outcome.INVALID)
        if admission.answer is not None or not admission.allowed:
            return Settlement(outcome=Outcome.NOTHING)
        if used.total and admission.request_id in self._memory.settled:
            return Settlement(outcome=Outcome.REPEATED)
        return None

    def _settled(
        self, admission: Admission, used: Tokens, money: Nano, call: Call, found: Fields | Outage, status: str
    ) -> Settlement:
        kept = isinstance(found, Outage) and self.backlog.keep(call)
        if used.total and (kept or not isinstance(found, Outage)):
            self._memory.settled.put(admission.request_id, None)
        if isinstance(found, Outage):
            self.observer.backlog(len(self.backlog))
            return Settlement(outcome=Outcome.KEPT if kept else Outcome.LOST, tokens=used.total, money=money)
        if found["status"] == "repeated":
            return Settlement(outcome=Outcome.REPEATED)
        self._questions.raise_floors(admission, found)
        if "today" in found:
            self._log_usage(admission, used, found, status)
        today = number(found.get("used_day"))
        return Settlement(outcome=Outcome.SETTLED, tokens=used.total, money=money, used_today=today)

    def _learn(self, found: Fields, admission: Admission) -> None:
        self._questions.raise_floors(admission, found)
        self._alone.learn(admission, time.monotonic())
        if admission.request.answers:
            self.observer.cache("miss" if admission.answer is None else admission.rule)
        self.observer.engine(is_silent=int(found.get("silence") or 0) > 0)
        if found.get("priced") == "assumed":
            self.observer.unpriced(admission.request.model)
        if not admission.allowed:
            _log_refusal(admission, found)

    def _told(self, admission: Admission, began: float) -> Admission:
        """As the operator wants it: a gate that observes lets pass what it would have refused."""
        if self.gate.mode is Mode.OBSERVE and not admission.allowed:
            admission = replace(admission, allowed=True, action=Do.PROCEED, observed=True)
        self.observer.admitted(admission, time.perf_counter() - began)
        return admission

    def _log_usage(self, admission: Admission, used: Tokens, found: Fields, status: str) -> None:
        request, today, balance = admission.request, int(found["today"]), int(found.get("balance") or 0)
        line = usage_line(request.model, request.key_hash, used.total, today, balance, admission.terms.limit)
        log.info("%s", line, extra={"status": status})


def _is_number(used: Tokens) -> bool:
    parts = (used.total, used.prompt, used.completion, used.cached)
    whole = all(isinstance(part, int) and not isinstance(part, bool) and part >= 0 for part in parts)
    return whole and used.total >= used.prompt + used.completion and used.cached <= used.prompt


def _log_refusal(admission: Admission, found: Fields) -> None:
    request, limit = admission.request, found.get("limit", "")
    if admission.layer is Layer.MODEL and limit:
        log.warning("%s", model_line(request.model, found.get("used") or "0", request.tokens, limit))
    elif admission.layer is Layer.BUDGET and limit:
        log.warning("%s", tenant_line(request.tenant, limit))
    else:
        log.warning("refused by layer %s, rule %s: %s", admission.layer, admission.rule, admission.reason)
