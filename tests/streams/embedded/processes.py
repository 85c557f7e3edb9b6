"""What the kernel says about processes, from /proc."""

from __future__ import annotations

import time
from pathlib import Path


def family(pid: int) -> list[int]:
    """The process and all that it has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(member for child in children for member in family(int(child)))]


def gone(pid: int) -> bool:
    """Ended; a zombie that nobody has collected yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def left(pids: list[int], within: float = 5.0) -> list[int]:
    """Those that are still there after `within` seconds."""
    deadline = time.monotonic() + within
    while (there := [pid for pid in pids if not gone(pid)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return there


def listening(pids: list[int]) -> set[str]:
    """`address:port` of every TCP socket on which these processes listen, in hex as the kernel writes them."""
    links = [link for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()]
    sockets = {str(link.readlink()) for link in links if link.is_symlink()}
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    return {row[1] for row in rows if row[3] == LISTEN and f"socket:[{row[9]}]" in sockets}


LISTEN = "0A"
LOOPBACK = "0100007F"
