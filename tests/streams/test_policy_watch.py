"""A changed policy file is taken over whole, or the one before stays and says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.channels.build import ChannelError
from streams.metrics import Metrics
from streams.policy_file import load_policy
from streams.policy_watch import FileState, PolicyWatch

WITHIN = 30.0


class Worker:
    """Who takes policies over; a channel may be one that it cannot build."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics, self.state = Metrics(), FileState()
        self.taken: list[Policy] = []
        self.broken_channel = False
        self.watch = PolicyWatch(str(path), load_policy(path), self.take, self.metrics, self.state, pause=0.01)

    def take(self, policy: Policy, rulebook: Rulebook) -> None:
        if self.broken_channel:
            raise ChannelError("channels.x.url: not an http or https URL")
        assert rulebook.rules["model"]
        self.taken.append(policy)

    def shown(self, line: str) -> bool:
        return f"\n{line}\n" in generate_latest(self.metrics.registry).decode()

    async def until(self, reached: Callable[[], bool]) -> None:
        """The file is looked at every hundredth of a second: whatever is awaited has no event of its own."""
        async with asyncio.timeout(WITHIN):
            while not reached():  # noqa: ASYNC110
                await asyncio.sleep(0.005)


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[Worker]:
    path = tmp_path / "policy.yaml"
    path.write_text("models: {default: {daily_cap: 1000}}\n")
    worker = Worker(path)
    task = asyncio.create_task(worker.watch.run())
    yield worker
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_valid_new_file_is_in_force(worker: Worker) -> None:
    """With its hash as a metric, and no other beside it."""
    worker.path.write_text("models: {default: {daily_cap: 2000}}\n")
    await worker.until(lambda: bool(worker.taken))
    (policy,) = worker.taken
    assert policy.default.daily_cap == 2000
    await worker.until(lambda: worker.shown(f'blastdoor_policy_info{{hash="{policy.hash}"}} 1.0'))
    assert generate_latest(worker.metrics.registry).decode().count("blastdoor_policy_info{") == 1


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param("models: {default: {daily_cap: -1}}\n", "models.default.daily_cap: must not", id="mistake"),
        pytest.param("mode: enforced\nmodles: {}\n", "(and 1 more)", id="two mistakes"),
        pytest.param("models: [\n", "line 2", id="half a file"),
        pytest.param("timezone: Europe/Amsterdam\n", "timezone changed: restart the workers", id="zone"),
        pytest.param('day_starts: "17:00"\n', "day_starts changed: restart the workers", id="day"),
        pytest.param("rules: [{name: r, scope: model, when: uzed > 1, then: {action: block}, says: x}]\n",
                     "there is no fact 'uzed'", id="rule"),
        pytest.param(None, "cannot be read", id="no file"),
    ],
)  # fmt: skip
async def test_a_file_that_cannot_be_taken_over_changes_nothing(
    worker: Worker, content: str | None, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The old one stays; the reason is in the log, in the state that raises the alert, and the metric says so. Once
    repaired, nothing is said any more."""
    before = worker.path.read_text()
    if content is None:
        worker.path.unlink()
    else:
        worker.path.write_text(content)
    await worker.until(lambda: bool(worker.state.refused))
    assert why in worker.state.refused
    assert worker.taken == []
    assert worker.shown("blastdoor_policy_reload_failed 1.0")
    assert "stays in force" in caplog.text
    worker.path.write_text(before)
    await worker.until(lambda: not worker.state.refused)
    assert worker.shown("blastdoor_policy_reload_failed 0.0")


async def test_a_channel_that_cannot_be_built_refuses_the_whole_file(worker: Worker) -> None:
    """Nothing of it is in force, not even what has nothing to do with channels."""
    worker.broken_channel = True
    worker.path.write_text("models: {default: {daily_cap: 2000}}\n")
    await worker.until(lambda: "not an http" in worker.state.refused)
    assert worker.taken == []


async def test_a_secret_that_changed_is_read_when_asked(worker: Worker, tmp_path: Path) -> None:
    """The file itself is as it was: whoever rotates a secret says so."""
    (tmp_path / "token").write_text("first-token-0123456789")
    worker.path.write_text("senders: {ops: {token: file:token}}\n")
    await worker.until(lambda: len(worker.taken) == 1)
    (tmp_path / "token").write_text("second-token-0123456789")
    worker.watch.nudge()
    await worker.until(lambda: len(worker.taken) == 2)
    assert worker.taken[1].senders["ops"].token == "second-token-0123456789"
    assert worker.taken[0].hash == worker.taken[1].hash


async def test_what_says_the_same_is_not_taken_over(worker: Worker) -> None:
    """Comments and layout are no change; the change after it is found as ever."""
    worker.path.write_text("# a word\nmodels:\n  default: {daily_cap: 1_000}\n")
    worker.watch.nudge()
    worker.path.write_text("models: {default: {daily_cap: 2000}}\n")
    await worker.until(lambda: bool(worker.taken))
    assert [policy.default.daily_cap for policy in worker.taken] == [2000]
