"""`blastdoor` with event loops that can be blocked: `python -m tests.faults.blockable worker …`.

SIGUSR1 blocks every event loop of the process, the one that sends heartbeats as well, as a call that never returns
would; the process itself runs on. SIGUSR2 ends that.
"""

from __future__ import annotations

import asyncio
import signal
import time

from streams.cli import main

LOOK_EVERY = 0.05


class Loops(asyncio.DefaultEventLoopPolicy):
    """Knows the loops that it has made."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[asyncio.AbstractEventLoop] = []
        self.blocked = False

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        self.made.append(loop := super().new_event_loop())
        return loop

    def block(self, *_: object) -> None:
        """Called on the main thread, in the middle of whatever its loop does."""
        self.blocked = True
        for loop in self.made:
            if loop.is_running():
                loop.call_soon_threadsafe(self._wait)
        self._wait()

    def release(self, *_: object) -> None:
        self.blocked = False

    def _wait(self) -> None:
        while self.blocked:
            time.sleep(LOOK_EVERY)


def run() -> None:
    """The command line, with this process's signals."""
    loops = Loops()
    asyncio.set_event_loop_policy(loops)
    signal.signal(signal.SIGUSR1, loops.block)
    signal.signal(signal.SIGUSR2, loops.release)
    main()


if __name__ == "__main__":
    run()
