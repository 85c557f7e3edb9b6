"""A worker with the last step alone, run as a process by the tests, to be killed in the midst of sending.

Usage: notifying.py KAFKA PREFIX URL SECRET. The webhook at URL gets the alerts.
"""

from __future__ import annotations

import asyncio
import sys
from zoneinfo import ZoneInfo

from rules.policy import Alerting, Channel
from streams.channels.build import build_senders
from streams.channels.timing import Timing
from streams.channels.wire import Wire
from streams.delivery.app import build_app, deliver
from streams.delivery.run import configure_logging, run
from streams.notify import Notify
from streams.topics import Topics

KAFKA, PREFIX, URL, SECRET = sys.argv[1:5]


class Nobody:
    """An observer that looks away."""

    def counted(self, channel: str, outcome: str) -> None:
        pass

    def kept(self, tally: object) -> None:
        pass


configure_logging()
channel = Channel(name="hook", kind="webhook", url=URL, secret=SECRET)
notify = Notify(
    Topics(PREFIX).alerts,
    build_senders({"hook": channel}, Wire(), Timing()),
    Alerting(send=("hook",)),
    zone=ZoneInfo("Asia/Shanghai"),
    timing=Timing(),
    observer=Nobody(),
)
app = build_app(f"{PREFIX}.worker", kafka=KAFKA, partitions=1, session_timeout=2.0, fetch_max_wait_ms=10)
deliver(app, notify)
code = run(app)
asyncio.run(notify.close())
sys.exit(code)
