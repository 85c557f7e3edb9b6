"""The same gate for programs without an event loop. Safe to share between threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Self, TypeVar

from redis import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from blastdoor_gateway.admission import Admission, Outage, Request, Settlement, Standing
from blastdoor_gateway.answers import Fields, fields_of
from blastdoor_gateway.calendar import Millis
from blastdoor_gateway.config import Gate
from blastdoor_gateway.core import Core, Steps
from blastdoor_gateway.guard import request_of
from blastdoor_gateway.link import CONNECTIONS
from blastdoor_gateway.money import Tokens
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.patience import Patience
from blastdoor_gateway.scripts import Call
from blastdoor_gateway.self_test import Checked, require

T = TypeVar("T")


class SyncGuard:
    """What `Guard` does, blocking. Settlements that Redis did not take are sent again with the next ones it takes."""

    def __init__(
        self,
        redis: Redis,
        gate: Gate | None = None,
        *,
        clock: Callable[[], Millis] | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.gate = gate or Gate()
        self.core = Core(self.gate, clock, observer or Observer())
        self._redis = redis
        self._patience = Patience(self.core.observer)
        self._lock = threading.Lock()

    @classmethod
    def connect(cls, url: str, gate: Gate | None = None, *, observer: Observer | None = None) -> Self:
        """A guard with a client of its own: each read and write waits at most as long as the gate does."""
        gate = gate or Gate()
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=gate.wait_seconds,
            decode_responses=True,
            encoding_errors="replace",
            socket_timeout=gate.wait_seconds,
            socket_connect_timeout=gate.wait_seconds,
            retry=Retry(NoBackoff(), 0),
        )
        return cls(Redis.from_pool(pool), gate, observer=observer)

    def self_test(self) -> tuple[Checked, ...]:
        """As `Guard.self_test`."""
        return require(self._run(self.core.self_test()))

    def admit(
        self,
        *,
        model: str,
        tenant: str = "",
        user: str = "",
        ip: str = "",
        estimate: int | None = None,
        prompt_characters: int = 0,
        most_answer: int | None = None,
        request_id: str | None = None,
        key_hash: str = "none",
    ) -> Admission:
        """As `Guard.admit`."""
        request = request_of(
            self.gate, model, tenant, user, ip, estimate, prompt_characters, most_answer, request_id, key_hash
        )
        return self.admit_request(request)

    def admit_request(self, request: Request) -> Admission:
        """As `Guard.admit_request`."""
        return self._run(self.core.admit(request, lambda: self._patience.wait(time.monotonic())))

    def settle(self, admission: Admission, actual_tokens: Tokens | int, *, status: str = "success") -> Settlement:
        """As `Guard.settle`."""
        settlement = self._run(self.core.settle(admission, actual_tokens, status))
        while len(self.core.backlog) and not self._patience.is_open and self._run(self.core.resend()):
            pass
        return settlement

    def cancel(self, admission: Admission) -> Settlement:
        """As `Guard.cancel`."""
        return self.settle(admission, 0, status="cancelled")

    def standing(self, tenant: str) -> Standing | Outage:
        """As `Guard.standing`."""
        return self._run(self.core.standing(tenant))

    def top_up(self, tenant: str, window: str, tokens: int, *, grant_id: str) -> int | Outage:
        """As `Guard.top_up`."""
        return self._run(self.core.top_up(tenant, window, tokens, grant_id))

    def close(self) -> None:
        self._redis.close()

    def _run(self, steps: Steps[T]) -> T:
        """What runs between two questions shares memory with other threads; the questions themselves do not wait."""
        try:
            with self._lock:
                call = next(steps)
            while True:
                found = self._ask(call)
                with self._lock:
                    call = steps.send(found)
        except StopIteration as end:
            result: T = end.value
            return result

    def _ask(self, call: Call) -> Fields | Outage:
        if not self._patience.lets(time.monotonic()):
            return Outage.PAUSED
        try:
            found = self._evaluate(call)
        except (RedisError, OSError) as error:
            return self._patience.failed(call.script.name, error, time.monotonic())
        except BaseException:
            self._patience.abandoned()
            raise
        self._patience.heard()
        return fields_of(found)

    def _evaluate(self, call: Call) -> Any:
        try:
            return self._redis.evalsha(call.script.sha, len(call.keys), *call.keys, *call.args)
        except NoScriptError:
            return self._redis.eval(call.script.text, len(call.keys), *call.keys, *call.args)
