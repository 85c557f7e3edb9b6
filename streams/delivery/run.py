"""Running an app to its end in this process: what `blastdoor worker` calls."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from streams.delivery.app import DeliveryApp
from streams.delivery.delivery import Delivery
from streams.delivery.pulse import felt, tell_where
from streams.delivery.watch import watch
from streams.log_lines import line_maker
from streams.topics import ensure_changelogs

STOP_SECONDS = 20.0  # for the last flush, its commit and leaving the group
CRASH_SECONDS = 3.0  # for leaving the group alone, so that the next worker need not wait for this one's session to end

SWITCH_SECONDS = 0.001  # a fifth of Python's: the fetching thread has little to do, but often, and waits each time

logger = logging.getLogger(__name__)


def run(app: DeliveryApp, *beside: AbstractAsyncContextManager[object]) -> int:
    """Run until SIGTERM or SIGINT (0: all that was handled is flushed and committed) or until anything goes wrong (1).

    `beside`: entered before the app starts and left after it has stopped, in the same event loop.
    """
    return asyncio.run(_run(app, beside))


def configure_logging(level: int = logging.INFO, form: str = "human") -> None:
    """Our lines to stderr, in a format of `log_lines`; of the libraries only what is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(line_maker(form))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    _quieten(max(level, logging.WARNING))
    logging.getLogger("mode.timers").setLevel(logging.ERROR)  # a timer that waits out a rebalance is no news


def _quieten(level: int) -> None:
    for library in ("faust", "mode", "aiokafka", "asyncio"):
        logging.getLogger(library).setLevel(level)


async def _run(app: DeliveryApp, beside: Sequence[AbstractAsyncContextManager[object]]) -> int:
    sys.setswitchinterval(SWITCH_SECONDS)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with AsyncExitStack() as stack:
        stack.enter_context(felt(_end_at_once))
        try:
            for other in beside:
                await stack.enter_async_context(other)
            await _serve(app, stopping)
        except Exception as error:  # noqa: BLE001 - the process ends, the reason is logged
            app.delivery.fail(error, "starting")
        if app.delivery.failure:
            _quieten(logging.CRITICAL)  # the reason is logged; what breaks while all is torn down is none
        deadline = _exit_after(CRASH_SECONDS if app.delivery.failure else STOP_SECONDS)
        await _stop(app)
    deadline.cancel()
    return 1 if app.delivery.failure else 0


async def _serve(app: DeliveryApp, stopping: asyncio.Event) -> None:
    """Return when it is time to stop."""
    delivery = app.delivery
    names = [table.changelog_topic_name for table in delivery.tables.values()]
    await ensure_changelogs(delivery.kafka, names, app.conf.topic_partitions, delivery.steps)
    await delivery.sender.start()
    delivery.waiting_since = time.monotonic()
    running = [_failing(delivery, app.start(), "starting"), _failing(delivery, watch(delivery), "watching")]
    ends = [asyncio.create_task(end) for end in (stopping.wait(), delivery.failed.wait(), app.wait_until_stopped())]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for task in (*ends, *running):
        task.cancel()
    if app.crash_reason is not None:
        delivery.fail(app.crash_reason, "Faust")


def _failing(delivery: Delivery, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    """A task whose error ends the process."""

    def end(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            delivery.fail(error, name)

    task = asyncio.create_task(work, name=name)
    task.add_done_callback(end)
    return task


async def _stop(app: DeliveryApp) -> None:
    """Flush, commit and leave; after a failure only leave."""
    delivery = app.delivery
    try:
        if delivery.failure is None and delivery.source is not None:
            app.consumer.stop_flow()
            await delivery.put_down()
            await app.consumer.commit()
        await delivery.release()
        await app.stop()
        await delivery.sender.stop()
    except Exception as error:  # noqa: BLE001 - the process ends, the reason is logged
        delivery.fail(error, "stopping")


def _end_at_once() -> None:
    """With 1, and the reason if it can be written: the thread that stands still may have the log in its hands."""
    _exit_after(CRASH_SECONDS)
    tell_where()
    os._exit(1)


def _exit_after(seconds: float) -> threading.Timer:
    """End the process the hard way if it has not ended by then: threads of a library may hang where a broker does."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()
    return timer
