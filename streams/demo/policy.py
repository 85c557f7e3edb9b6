"""The policy of the demo: a file as an operator would write it, with the secrets in files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from streams.channels.receiver import FEISHU, WEBHOOK, Receiver

FEISHU_CHANNEL, WEBHOOK_CHANNEL = "feishu-main", "webhook-main"
CHANNELS = {FEISHU_CHANNEL: FEISHU, WEBHOOK_CHANNEL: WEBHOOK}

TEXT = f"""\
timezone: Asia/Shanghai
models:
  default: {{daily_cap: 2_000_000, small_buffer: 10_000, max_lag: 30m}}
alerts: {{thresholds: [0.8, 1.0], send: [{FEISHU_CHANNEL}, {WEBHOOK_CHANNEL}], language: LANGUAGE, group: 0s}}
channels:
  {FEISHU_CHANNEL}: {{kind: feishu, url: "file:{FEISHU_CHANNEL}.url", secret: "file:{FEISHU_CHANNEL}.secret"}}
  {WEBHOOK_CHANNEL}: {{kind: webhook, url: "file:{WEBHOOK_CHANNEL}.url", secret: "file:{WEBHOOK_CHANNEL}.secret"}}
"""


@contextmanager
def policy_file(receiver: Receiver, language: str) -> Iterator[Path]:
    """The file, in a folder that only this user may enter and that is gone afterwards."""
    with TemporaryDirectory(prefix="blastdoor-demo-") as folder:
        for name, kind in CHANNELS.items():
            channel = receiver.channel(kind, name)
            Path(folder, f"{name}.url").write_text(channel.url)
            Path(folder, f"{name}.secret").write_text(channel.secret)
        path = Path(folder, "policy.yaml")
        path.write_text(TEXT.replace("LANGUAGE", language))
        yield path
