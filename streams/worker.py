"""One worker process: its parts are made here, joined in pipeline.py, and run until a signal or an error ends them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version

from aiokafka import TopicPartition
from blastdoor_gateway.contract import Keys

from rules.announce import foreign_write, outbid
from rules.moment import Millis
from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.active import Active, PolicyStep
from streams.api.server import serve
from streams.api.ways_in import WaysIn, ways_in
from streams.channels.build import build_senders
from streams.channels.timing import Timing
from streams.channels.wire import Wire
from streams.collector import spare_the_collector
from streams.counting import MakeCounter
from streams.day_shelf import DayShelf
from streams.delivery.app import DeliveryApp, build_app, deliver
from streams.delivery.log import PartitionLog, ends
from streams.delivery.run import run
from streams.delivery.step import Record
from streams.judge import JudgeStep
from streams.lookout import Lookout
from streams.metrics import Metrics
from streams.notify import Notify
from streams.observers import DeliveryMetrics, NotifyMetrics, PublishMetrics
from streams.pipeline import Parts, steps
from streams.policy_watch import FileState, PolicyWatch
from streams.publish.client import open_redis
from streams.publish.publisher import Publisher
from streams.rollups import Reread, RollupStep
from streams.settings import Settings
from streams.topics import Topics, detect_timing, ensure_topics
from streams.wall_clock import wall_clock
from streams.watchman import Watchman

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Desk:
    """Where what the publisher and the server hear reaches steps that are made after them."""

    metrics: Metrics
    judge: JudgeStep | None = field(default=None)
    rollups: RollupStep | None = field(default=None)

    def meet(self, step: PolicyStep) -> None:
        """One of the steps that were made."""
        if isinstance(step, JudgeStep):
            self.judge = step
        elif isinstance(step, RollupStep):
            self.rollups = step

    def show(self) -> None:
        """Bring the gauges of rulings and of today's usage up to date."""
        if self.judge is not None:
            self.judge.show()
        if self.rollups is not None:
            self.rollups.show(wall_clock())

    def refused(self, scope: str, held: tuple[int, int]) -> None:
        """Redis holds a newer version than ours."""
        if self.judge is not None:
            self.judge.outbid(scope, held)
            self.judge.report(scope, outbid)

    def complete_until(self) -> Millis | None:
        """How far all usage has been metered; None: not known here."""
        return None if self.judge is None else self.judge.complete_until()

    def foreign_write(self, model: str, key: str) -> None:
        """Somebody else writes a key of ours."""
        self.metrics.foreign_writes.inc()
        if self.judge is not None:
            self.judge.report(f"model:{model}", lambda ruling: foreign_write(ruling, key))


def work(settings: Settings, policy: Policy, rulebook: Rulebook, counter: MakeCounter) -> int:
    """Run a worker; the exit code. Raises BrokerUnavailable and TopicError before anything starts."""
    if rates := policy.left_to_gates():
        log.warning("%s bind gates only where their own file says the same", ", ".join(rates))
    partitions = asyncio.run(ensure_topics(settings.kafka, settings.prefix))
    metrics = Metrics()
    metrics.info.labels(version("blastdoor")).set(1)
    metrics.policy_in_force(policy.hash)
    desk = Desk(metrics)
    publisher = _publisher(settings, policy, metrics, desk)
    wire, file_state = Wire(), FileState()
    parts = Parts(
        topics=Topics(settings.prefix),
        partitions=partitions,
        policy=policy,
        rulebook=rulebook,
        metrics=metrics,
        publisher=publisher,
        reread=_rereading(settings),
        notify=_notify(settings, policy, metrics, wire, partitions, file_state),
        event_clock=settings.event_clock,
        counter=counter,
        traces=settings.traces == "on",
        users=settings.user_metrics == "on",
    )
    app = _app(settings, partitions, metrics)
    made = steps(parts)
    for step in made:
        deliver(app, step)
        desk.meet(step)
    entries = None
    if not settings.event_clock:
        entries = ways_in(settings, policy, rulebook, partitions, metrics, desk.complete_until)

    def take(new: Policy, rules: Rulebook) -> None:
        """Build what may fail, then hand it to everybody before the next batch."""
        active = Active(policy=new, rulebook=rules, senders=build_senders(new.channels, wire, Timing()))
        for each in made:
            each.adopt(active)
        if entries is not None:
            entries.door.adopt(new.senders.values())
            entries.views.adopt(active)

    spare_the_collector()
    path = settings.policy
    watch = PolicyWatch(path, policy, take, metrics, file_state) if path is not None else None
    return run(
        app,
        _serving(settings, metrics, app, entries, desk.show),
        _publishing(publisher, app),
        _notifying(parts.notify, wire),
        _reloading(app, watch),
    )


def _app(settings: Settings, partitions: int, metrics: Metrics) -> DeliveryApp:
    timing = asyncio.run(detect_timing(settings.kafka))
    return build_app(
        f"{settings.prefix}.worker",
        kafka=settings.kafka,
        partitions=partitions,
        session_timeout=timing.session_timeout,
        fetch_max_wait_ms=timing.fetch_max_wait_ms,
        observer=DeliveryMetrics(metrics),
    )


def _publisher(settings: Settings, policy: Policy, metrics: Metrics, desk: Desk) -> Publisher:
    return Publisher(
        open_redis(settings.redis),
        Keys(settings.prefix, settings.legacy_prefix),
        clock=wall_clock,
        calendar=policy.calendar(),
        worker=f"{socket.gethostname()}:{os.getpid()}",
        version=version("blastdoor"),
        on_refused=desk.refused,
        on_foreign_write=desk.foreign_write,
        observer=PublishMetrics(metrics),
        event_clock=settings.event_clock,
    )


def _notify(
    settings: Settings, policy: Policy, metrics: Metrics, wire: Wire, partitions: int, file_state: FileState
) -> Notify:
    timing, calendar = Timing(), policy.calendar()
    watchman = Watchman(_lookout(settings, partitions, file_state), policy.alerts, calendar, timing)
    return Notify(
        Topics(settings.prefix).alerts,
        build_senders(policy.channels, wire, timing),
        policy.alerts,
        zone=calendar.zone,
        timing=timing,
        observer=NotifyMetrics(metrics, policy.channels),
        history=Topics(settings.prefix).alert_outcomes,
        watchman=None if settings.event_clock else watchman,  # a recording stands on nothing of its own
        shelf=DayShelf(policy.alerts.digest, calendar, wall_clock),
    )


def _rereading(settings: Settings) -> Reread:
    async def reread(partition: int) -> AsyncIterator[Sequence[Record]]:
        tp = TopicPartition(Topics(settings.prefix).rollups, partition)
        end = (await ends(settings.kafka, [tp])).get(tp, 0)
        async for records in PartitionLog(settings.kafka, tp).before(end, end):
            yield records

    return reread


def _lookout(settings: Settings, partitions: int, file_state: FileState) -> Lookout:
    return Lookout(
        kafka=settings.kafka,
        dead_letters=Topics(settings.prefix).dead_letters,
        partitions=partitions,
        redis=open_redis(settings.redis),
        keys=Keys(settings.prefix, settings.legacy_prefix),
        clock=wall_clock,
        policy=file_state,
    )


@asynccontextmanager
async def _serving(
    settings: Settings,
    metrics: Metrics,
    app: DeliveryApp,
    entries: WaysIn | None,
    before: Callable[[], None],
) -> AsyncIterator[None]:
    """Metrics, readiness and the ways in. A recording brings its own clock, so nothing else comes in then."""
    routes = entries.routes() if entries is not None else ()
    runner = await serve(settings.http, metrics.registry, _readiness(app, metrics), routes, before)
    following = None if entries is None else asyncio.create_task(entries.index.follow(), name="follow the roll-ups")
    try:
        yield
    finally:
        await runner.cleanup()
        if entries is not None and following is not None:
            following.cancel()
            await asyncio.wait([following])
            await entries.close()


def _readiness(app: DeliveryApp, metrics: Metrics) -> Callable[[], bool]:
    def ready() -> bool:
        """All partitions of ours are recovered; their progress is shown on the way."""
        for progress in app.delivery.progress():
            labels = {"step": progress.step, "partition": str(progress.partition)}
            metrics.position.labels(**labels).set(progress.position)
            if progress.lag is not None:
                metrics.lag.labels(**labels).set(progress.lag)
        is_ready = app.delivery.waiting_since is None and bool(app.delivery.leases)
        metrics.ready.set(is_ready)
        return is_ready

    return ready


@asynccontextmanager
async def _publishing(publisher: Publisher, app: DeliveryApp) -> AsyncIterator[None]:
    """Redis hears the last decisions before the end; an unsuitable Redis ends the worker."""
    task = asyncio.create_task(publisher.run(), name="publishing")
    task.add_done_callback(lambda ended: _fail(app, ended))
    try:
        yield
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                await publisher.settle()
    finally:
        task.cancel()
        await asyncio.wait([task])


def _fail(app: DeliveryApp, ended: asyncio.Task[None]) -> None:
    error = None if ended.cancelled() else ended.exception()
    if error is not None:
        app.delivery.fail(error, ended.get_name())


@asynccontextmanager
async def _notifying(notify: Notify, wire: Wire) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await notify.close()
        await wire.close()


@asynccontextmanager
async def _reloading(app: DeliveryApp, watch: PolicyWatch | None) -> AsyncIterator[None]:
    """A changed policy file is taken over. A fault in doing so ends the worker: its successor begins with the file."""
    if watch is None:
        yield
        return
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, watch.nudge)
    task = asyncio.create_task(watch.run(), name="taking over a policy")
    task.add_done_callback(lambda ended: _fail(app, ended))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
