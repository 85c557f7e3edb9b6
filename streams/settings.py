"""The only module that reads the environment. Command-line options of the same meaning win over it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from streams.log_lines import FORMATS

DEFAULT_HTTP = "127.0.0.1:6066"
NAMES = ("kafka", "redis", "policy", "http", "prefix", "log_format", "traces", "user_metrics", "counting")
VARIABLES = {name: f"BLASTDOOR_{name.upper()}" for name in NAMES}
CHOICES = {
    "log_format": FORMATS,
    "traces": ("off", "on"),
    "user_metrics": ("off", "on"),
    "counting": ("auto", "native", "python"),
}


_ADDRESS = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")  # without a port it is Kafka's own
_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,100}")


class SettingsError(Exception):
    """The environment holds something that cannot be used. The message repeats no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the parts are.

    `prefix` names topics and keys; event mode adds `-event` so that recordings never mix with live data.
    """

    kafka: str = "127.0.0.1:9092"
    redis: str = "redis://127.0.0.1:6379/0"
    policy: str | None = None
    http: str = DEFAULT_HTTP
    prefix: str = "blastdoor"
    log_format: str = "human"
    traces: str = "off"  # whether trace contexts of usage records are handed on
    user_metrics: str = "off"  # whether names of users may stand in metrics
    counting: str = "auto"  # native where the compiled core is there
    event_clock: bool = False

    @classmethod
    def from_environment(cls, **options: str | None) -> Self:
        """Settings from `BLASTDOOR_*`; `options` that are not None win. Raises SettingsError."""
        if urlsplit(options.get("redis") or "").password:
            raise SettingsError("a password on the command line is seen by everybody: set BLASTDOOR_REDIS instead")
        found: dict[str, Any] = {name: os.environ[key] for name, key in VARIABLES.items() if key in os.environ}
        settings = cls(**(found | {name: value for name, value in options.items() if value is not None}))
        settings.check()
        return settings

    def check(self) -> None:
        """What a library would answer with a traceback, or with a part of a password. Raises SettingsError."""
        for address in self.kafka.split(","):
            found = _ADDRESS.fullmatch(address.strip())
            if found is None or not 0 < int(found[1] or 9092) < 65_536:
                raise SettingsError(f"BLASTDOOR_KAFKA is HOST:PORT, several with commas between, not {address!r}")
        if not _PREFIX.fullmatch(self.prefix):
            raise SettingsError(
                "BLASTDOOR_PREFIX is letters, digits, '.', '_' and '-', 100 at most: topics are named so"
            )
        if not _is_redis(self.redis):
            raise SettingsError(
                "BLASTDOOR_REDIS is a URL like redis://HOST:6379/0 (rediss:// is TLS; in a password write"
                " %23 for #, %2F for /, %40 for @)"
            )
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise SettingsError(f"{VARIABLES[name]} is one of {', '.join(known)}")

    def on_event_clock(self) -> Self:
        """The same settings for recordings: their own topics and keys."""
        return replace(self, prefix=f"{self.prefix}-event", event_clock=True)

    @property
    def legacy_prefix(self) -> str:
        """Empty in production: the keys gateways know. In event mode the keys of recordings are kept apart."""
        return f"{self.prefix}:" if self.event_clock else ""


def _is_redis(url: str) -> bool:
    """Whether it can be connected to; what is wrong is not told, for it may be a piece of the password."""
    try:
        found = urlsplit(url)
        port_is_one = found.port is None or found.port > 0
    except ValueError:
        return False
    where = found.path if found.scheme == "unix" else found.hostname
    return found.scheme in {"redis", "rediss", "unix"} and bool(where) and port_is_one and not found.fragment


def state_directory() -> Path:
    """Where a program keeps what it must remember: `$XDG_STATE_HOME`, else `~/.local/state`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


def environment() -> Mapping[str, str]:
    """The process's environment as it is now, for what refers to it by name (`env:NAME` in a policy file)."""
    return dict(os.environ)
