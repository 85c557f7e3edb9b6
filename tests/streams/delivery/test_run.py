"""How a worker's process ends when it has hardly begun."""

from __future__ import annotations

import signal

import pytest

from streams.embedded.server import free_port


async def test_no_broker_is_an_error_with_a_reason(tmp_path, make_scene) -> None:
    """The process ends with 1 at once, and says where nobody answers."""
    nobody = f"127.0.0.1:{free_port()}"
    worker = make_scene(nobody).worker()
    assert await worker.end() == 1
    assert f"stopping: starting: no Kafka broker answers at {nobody}" in worker.output.read_text()
    assert "Traceback" not in worker.output.read_text()


@pytest.mark.embedded
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_while_starting_is_an_orderly_end(scene, number: signal.Signals) -> None:
    """Nothing has been handled, so there is nothing to lose."""
    worker = scene.worker()
    await worker.wait_for("running")
    assert await worker.end(number) == 0
    assert "CRITICAL" not in worker.output.read_text()


@pytest.mark.embedded
async def test_what_runs_beside_must_start(scene) -> None:
    """A port that is taken ends the process with 1, one line, and no worker that nobody can see."""
    worker = scene.worker("beside")
    assert await worker.end() == 1
    assert "stopping: starting: the port is taken" in worker.output.read_text()
    assert "Traceback" not in worker.output.read_text()
    assert not worker.lines("assigned")


@pytest.mark.embedded
async def test_topics_that_do_not_fit_end_the_process(new_scene, broker) -> None:
    """A source with another number of partitions than the app was told."""
    scene = await new_scene(broker)
    scene.partitions = 3
    worker = scene.worker()
    assert await worker.end() == 1
    assert f"{scene.topic} has 4" in worker.output.read_text()
