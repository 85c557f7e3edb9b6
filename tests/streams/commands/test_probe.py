"""`blastdoor test-alert`: a message to a channel, and the truth about it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.channels.receiver import FEISHU, GONE, THROTTLED, WEBHOOK, Misbehaviour, Receiver
from streams.cli import main


def policy(directory: Path, receiver: Receiver) -> Path:
    channels = {}
    for kind in (FEISHU, WEBHOOK):
        channel = receiver.channel(kind)
        (directory / f"{kind}.url").write_text(channel.url)
        (directory / f"{kind}.secret").write_text(channel.secret)
        channels[f"{kind}-main"] = {"kind": kind, "url": f"file:{kind}.url", "secret": f"file:{kind}.secret"}
    path = directory / "policy.yaml"
    path.write_text(json.dumps({"channels": channels, "alerts": {"language": "en"}}))
    return path


async def run(path: Path, *words: str) -> Result:
    """The command in a thread of its own, as it brings its own loop."""
    return await asyncio.to_thread(CliRunner().invoke, main, ["test-alert", "--policy", str(path), *words])


async def test_a_message_arrives_and_is_said_to_have(tmp_path: Path) -> None:
    """Through the channel's own sender, signed as always."""
    async with Receiver() as receiver:
        found = await run(policy(tmp_path, receiver), "feishu-main", "webhook-main")
        card, hook = receiver.arrivals
    assert (found.exit_code, found.output) == (0, "feishu-main: delivered\nwebhook-main: delivered\n")
    assert card.body["card"]["header"]["title"]["content"] == "Test: alerts arrive here"
    assert hook.body["type"] == "blastdoor.alert.test"


@pytest.mark.parametrize(
    ("misbehaviour", "said"),
    [
        (Misbehaviour(status=401), "webhook-main: refused: HTTP 401"),
        (GONE, "webhook-main: refused: HTTP 410: the receiver wants no more"),
        (Misbehaviour(status=503), "webhook-main: not delivered: HTTP 503"),
    ],
)
async def test_what_does_not_arrive_is_not_said_to_have(misbehaviour: Misbehaviour, said: str, tmp_path: Path) -> None:
    """The receiver's own answer, and exit code 1."""
    async with Receiver() as receiver:
        receiver.plan(WEBHOOK, misbehaviour)
        found = await run(policy(tmp_path, receiver), "webhook-main")
    assert (found.exit_code, found.output) == (1, f"{said}\n")


async def test_http_200_with_a_code_is_a_failure(tmp_path: Path) -> None:
    """Feishu says no with HTTP 200; so do we."""
    async with Receiver() as receiver:
        receiver.plan(FEISHU, THROTTLED)
        found = await run(policy(tmp_path, receiver), "feishu-main")
    assert (found.exit_code, found.output) == (1, "feishu-main: not delivered: code 11232: rate limited\n")


async def test_a_name_that_is_none_is_told_the_others(tmp_path: Path) -> None:
    """A misspelt channel is no test."""
    async with Receiver() as receiver:
        found = await run(policy(tmp_path, receiver), "feishu")
        assert receiver.requests == []
    assert found.exit_code == 2
    assert "the policy has no channel feishu; it has: feishu-main, webhook-main" in found.output
