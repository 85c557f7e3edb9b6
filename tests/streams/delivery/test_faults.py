"""Real workers on a real broker, and whatever may happen to them: every total is the number of records sent."""

from __future__ import annotations

import re
import signal

import pytest


async def test_kill_9_three_times_under_load(any_scene) -> None:
    """A worker killed anywhere leaves nothing to be counted twice and nothing uncounted."""
    async with any_scene.load():
        for _ in range(3):
            worker = any_scene.worker()
            await worker.wait_for("handled", 60)
            await worker.end(signal.SIGKILL)
        any_scene.worker()
        await any_scene.workers[-1].wait_for("handled", 20)
    await any_scene.assert_exact()


async def test_a_worker_joins_and_leaves_under_load(any_scene) -> None:
    """Partitions move to a second worker and back; what stays stays in memory, what moves comes from the table."""
    async with any_scene.load():
        first = any_scene.worker()
        await first.wait_for("handled", 20)
        second = any_scene.worker()
        await second.wait_for("handled", 20)
        assert await second.end(signal.SIGTERM) == 0
        await first.wait_for("assigned", 6)
    await any_scene.assert_exact()
    assert "0" not in [line[2] for line in (*first.lines("assigned")[4:], *second.lines("assigned"))]


@pytest.mark.embedded
async def test_a_worker_without_a_partition_takes_over(new_scene, broker) -> None:
    """More workers than partitions: the one too many does nothing until the other is killed."""
    scene = await new_scene(broker, partitions=1)
    async with scene.load():
        await scene.worker().wait_for("handled", 5)
        scene.worker()
        busy, idle = await scene.busy_and_idle()
        await busy.end(signal.SIGKILL)
        handled = len(idle.lines("handled"))
        await idle.wait_for("handled", handled + 5)
    await scene.assert_exact()


@pytest.mark.embedded
async def test_sigterm_leaves_nothing_to_replay(scene) -> None:
    """An orderly stop answers 0, and the next worker goes on at the very record, reading back what it asks for."""
    await scene.produce(4_000)
    worker = scene.worker()
    await worker.wait_for("handled", 4)
    assert await worker.end(signal.SIGTERM) == 0
    await scene.assert_exact()
    handled = sum(int(last) - int(first) + 1 for _, _, first, last in worker.lines("handled"))
    await scene.produce(400)
    successor = scene.worker("read back")
    await successor.wait_for("handled", 4)
    await scene.assert_exact()
    replayed = sum(int(last) - int(first) + 1 for _, _, first, last in successor.lines("handled"))
    assert (handled, replayed) == (4_000, 400)
    assert [line[3:] for line in sorted(successor.lines("read back"))] == [["950", "999", "50"]] * 4


@pytest.mark.embedded
async def test_a_mistake_ends_the_process_and_loses_nothing(scene) -> None:
    """Whatever a step raises, the process ends with 1 and one line that says why; a repaired one counts everything."""
    await scene.produce(12_000)
    for mistake, says in [("v7", "a mistake in the step"), ("flush", "a mistake in the flush")]:
        broken = scene.worker(mistake)
        assert await broken.end() == 1
        assert [says in line for line in broken.output.read_text().splitlines() if "CRITICAL" in line] == [True]
    scene.worker()
    await scene.assert_exact()


@pytest.mark.embedded
async def test_a_call_that_never_returns_ends_the_process(scene) -> None:
    """Heartbeats go on and the watchdog hangs with the loop; all the same the process ends, says where it hung, and
    loses nothing."""
    await scene.produce(12_000)
    hanging = scene.worker("never back")
    assert await hanging.end() == 1
    (place,) = re.findall(r"CRITICAL .*the event loop has stood still for 1 s, in (.*)", hanging.text())
    assert re.search(r"wait \(threading.py:\d+\), flush \(counting.py:\d+\), _take \(lease.py:\d+\)", place)
    scene.worker()
    await scene.assert_exact()


async def test_a_zombie_cannot_win(any_scene) -> None:
    """A worker stopped for longer than its session, with another in its place, does no harm when it wakes up."""
    async with any_scene.load():
        zombie = any_scene.worker()
        await zombie.wait_for("handled", 40)
        zombie.send(signal.SIGSTOP)
        heir = any_scene.worker()
        await heir.wait_for("handled", 40)
        zombie.send(signal.SIGCONT)
        await heir.wait_for("revoked", 2)
        await heir.end(signal.SIGKILL)
        await zombie.end(signal.SIGKILL)
    any_scene.worker()
    await any_scene.assert_exact()


@pytest.mark.embedded
async def test_a_replaced_log_is_a_new_incarnation(scene) -> None:
    """Offsets of a topic that was created anew mean nothing: it is counted from its start, on top of the old counts."""
    await scene.produce(4_000)
    worker = scene.worker()
    await scene.caught_up()
    assert await worker.end(signal.SIGTERM) == 0
    await scene.recreate()
    await scene.produce(2_000)
    successor = scene.worker()
    await scene.assert_exact()
    assert [line[2:] for line in successor.lines("assigned")] == [["0", "1", "False"]] * 4


@pytest.mark.embedded
async def test_a_broker_that_lost_everything(own_broker, new_scene) -> None:
    """An empty broker in place of the old one, soon fuller than that: nothing of the old gets into the new counts."""
    scene = await new_scene(own_broker.kafka)
    await scene.produce(4_000)
    async with scene.supervised() as worker:
        await scene.caught_up()
        worker.send(signal.SIGSTOP)  # else its clients would race to create topics, which tansu then has twice
        own_broker.stop()
        own_broker.start()
        scene.sent.clear()
        await scene.create()
        await scene.produce(8_000)
        worker.send(signal.SIGCONT)
        await scene.assert_exact()


@pytest.mark.embedded
async def test_rows_of_somebody_else_stop_nothing(scene) -> None:
    """What others wrote onto a changelog is named at each start and left alone; a damaged row of ours ends it."""
    await scene.produce(400)
    await scene.write_row(b"what?", b"{}")
    worker = scene.worker()
    await scene.assert_exact()
    assert f"{scene.changelog}/2 holds 1 records that are not ours, passed over: b'what?' first" in worker.text()
    await worker.end(signal.SIGTERM)
    await scene.write_row(b"@ffffffffffffffff", b"{}")
    broken = scene.worker()
    assert await broken.end() == 1
    assert "/2: rows of '@ffffffffffffffff' have the older or unknown schema None" in broken.text()


@pytest.mark.kafka
async def test_a_rebalance_interrupts_a_takeover(new_scene, quick_kafka) -> None:
    """A step still taking a partition over when another worker comes hears that it is gone, and is asked again."""
    scene = await new_scene(quick_kafka)
    async with scene.load():
        slow = scene.worker("slow")
        await slow.wait_for("taking", 4)
        other = scene.worker()
        await slow.wait_for("taking", 6)
        assert not slow.lines("assigned")
        assert len(slow.lines("revoked")) == 4
        await slow.wait_for("handled", 5)
        await other.wait_for("handled", 5)
    await scene.assert_exact()


@pytest.mark.kafka
async def test_compaction_leaves_the_state(new_scene, quick_kafka) -> None:
    """What compaction leaves of a changelog, tombstones gone too, is still the last state and the position with it."""
    scene = await new_scene(quick_kafka)
    often = {"segment.ms": "200", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
    await scene.create_changelog(**{"cleanup.policy": "compact"}, **often)
    worker = scene.worker()
    async with scene.load(rate=4_000):
        await worker.wait_for("handled", 100)
    await scene.caught_up()
    await scene.compacted()
    await worker.end(signal.SIGKILL)
    await scene.produce(400)
    successor = scene.worker()
    await scene.assert_exact()
    assert "0" not in [line[2] for line in successor.lines("assigned")]
