"""What the delivery leans on without a promise.

A new Faust or aiokafka that changes it fails here, not at a customer's rebalance.
"""

from __future__ import annotations

import inspect
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import aiokafka
import faust
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState, TopicPartitionState
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.transport.consumer import Fetcher
from faust.transport.drivers import aiokafka as driver
from mode import Service

from streams.delivery.app import DeliveryApp, PromptTables, build_app
from streams.delivery.table import RawTable
from streams.delivery.transport import BatchConsumer, BatchThread

if TYPE_CHECKING:
    from collections.abc import Callable

THREAD = driver.AIOKafkaConsumerThread


@pytest.mark.parametrize(
    ("package", "pinned"), [("faust-streaming", "0.15.3"), ("aiokafka", "0.14.0"), ("mode-streaming", "0.7.1")]
)
def test_the_versions_are_those_that_were_read(package: str, pinned: str) -> None:
    """Another version needs this directory's tests and another reading of the code they name."""
    assert version(package) == pinned


OVERRIDDEN: list[tuple[type, type, list[str]]] = [
    (
        BatchConsumer,
        driver.Consumer,
        [
            *("_new_consumer_thread", "_drain_messages", "perform_seek", "verify_event_path"),
            *("on_partitions_revoked", "on_partitions_assigned", "resume_partitions", "seek_wait"),
            *("_filter_tps_with_pending_acks", "_filter_committable_offsets"),
        ],
    ),
    (BatchThread, THREAD, ["_create_worker_consumer", "_highwaters", "_fetch_records", "_seek_wait"]),
    (DeliveryApp, faust.App, ["_new_transport", "_create_directories"]),
    (PromptTables, TableManager, ["on_start"]),
    (RawTable, faust.Table, ["apply_changelog_batch"]),
]


@pytest.mark.parametrize(
    ("ours", "theirs", "name"), [(ours, theirs, name) for ours, theirs, names in OVERRIDDEN for name in names]
)
def test_what_is_overridden_is_there(ours: type, theirs: type, name: str) -> None:
    """An override of a method that is no longer called would silently do nothing."""
    assert name in vars(ours)
    before, after = (inspect.signature(getattr(each, name)).parameters for each in (theirs, ours))
    takes_anything = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in after.values())
    assert takes_anything or list(before) == list(after)
    assert inspect.iscoroutinefunction(getattr(theirs, name)) == inspect.iscoroutinefunction(getattr(ours, name))


CALLS: list[tuple[Callable[..., Any], list[str]]] = [
    (Fetcher._fetcher.fun, ["_drain_messages"]),
    (Recovery.on_recovery_completed, ["perform_seek", "on_rebalance_complete", "resume_partitions", "resume_flow"]),
    (Recovery._restart_recovery.fun, ["_build_highwaters", "_build_offsets", "_seek_offsets", "need_recovery"]),
    (Recovery._restart_recovery.fun, ["signal_recovery_end", "on_recovery_completed", "_set_recovery_started"]),
    (Recovery._build_highwaters, ["highwaters"]),
    (Recovery._seek_offsets, ["seek_wait"]),
    (THREAD.seek_wait, ["_seek_wait", "call_thread"]),
    (Recovery.active_remaining, ["active_highwaters", "active_offsets"]),
    (driver.Consumer._wait_next_records, ["_getmany", "flow_active", "can_resume_flow"]),
    (driver.Consumer.force_commit, ["_filter_tps_with_pending_acks", "_commit_tps"]),
    (driver.Consumer._commit_tps, ["_filter_committable_offsets", "_commit_offsets"]),
    (THREAD.getmany, ["_fetch_records", "call_thread"]),
    (THREAD.on_start, ["_create_consumer"]),
    (THREAD._create_consumer, ["_create_worker_consumer"]),
    (faust.App._on_partitions_revoked, ["stop_flow"]),
    (TableManager.on_start, ["_update_channels", "recovery", "start"]),
]


@pytest.mark.parametrize(("caller", "names"), CALLS, ids=lambda each: getattr(each, "__qualname__", None))
def test_the_calls_we_stand_in_are_made(caller: Callable[..., Any], names: list[str]) -> None:
    """Faust's own code goes through the places that we have taken over."""
    code = inspect.unwrap(caller).__code__
    codes = [code, *(const for const in code.co_consts if inspect.iscode(const))]
    assert set(names) <= {name for code in codes for name in code.co_names}


async def test_what_is_read_and_set_in_faust() -> None:
    """Attributes of Faust's objects."""
    app = build_app("names", kafka="127.0.0.1:1", partitions=2)
    recovery = app.tables.recovery
    for name in ("active_offsets", "active_tps", "signal_recovery_start", "signal_recovery_end", "need_recovery"):
        assert hasattr(recovery, name), name
    assert recovery.active_offsets is recovery.active_offsets
    recovery.active_offsets["tp"] = None
    assert recovery.active_offsets["tp"] is None
    for name in ("flow_active", "_committed_offset", "_thread", "stop_flow", "commit", "earliest_offsets"):
        assert hasattr(app.consumer, name), name
    assert app.consumer.delivery is app.delivery
    assert app.delivery.source is app.consumer
    for name in ("consumer_generation_id", "rebalancing", "crash_reason", "wait_until_stopped"):
        assert hasattr(app, name), name
    assert issubclass(THREAD, Service)
    assert hasattr(THREAD, "call_thread")
    assert hasattr(THREAD, "_ensure_consumer")


async def test_what_is_read_and_set_in_aiokafka() -> None:
    """The consumer's wait for data, and what it knows of an assigned partition."""
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers="127.0.0.1:1", fetch_max_wait_ms=7)
    assert consumer._fetch_max_wait_ms == 7
    assert "_fetch_max_wait_ms" in type(consumer).start.__code__.co_names
    assert isinstance(consumer._subscription, SubscriptionState)
    assert consumer._subscription.subscription is None
    tp = TopicPartition("t", 0)
    consumer._subscription.assign_from_user([tp])
    state = consumer._subscription.subscription.assignment._tp_state[tp]
    assert isinstance(state, TopicPartitionState)
    assert (state._position, state.highwater, state.timestamp) == (None, None, None)
    state.seek(5)
    assert state._position == 5
    await consumer.stop()
    grouped = aiokafka.AIOKafkaConsumer(bootstrap_servers="127.0.0.1:1", group_id="g")
    assert "_coordinator" in vars(grouped)
    assert GroupCoordinator.__init__.__code__.co_names.count("member_id") == 1


async def test_nothing_listens() -> None:
    """Faust's web server, which binds 0.0.0.0 by default, is off, and so is everything else that is not used."""
    app = build_app("names", kafka="10.0.0.1:9092, 10.0.0.2:9093", partitions=2, session_timeout=3.0)
    assert app.conf.web_enabled is False
    assert [str(url) for url in app.conf.broker] == ["kafka://10.0.0.1:9092", "kafka://10.0.0.2:9093"]
    assert (app.conf.broker_session_timeout, app.conf.broker_heartbeat_interval) == (3.0, 0.75)
    assert (app.conf.table_standby_replicas, app.conf.topic_disable_leader) == (0, True)
    assert not list(app.boot_strategy.web_server())
