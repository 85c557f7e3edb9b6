"""The only module that reads the environment. Command-line options of the same meaning win over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from streams.log_lines import FORMATS

DEFAULT_HTTP = "127.0.0.1:6066"
NAMES = ("kafka", "redis", "policy", "http", "prefix", "log_format", "traces")
VARIABLES = {name: f"BLASTDOOR_{name.upper()}" for name in NAMES}
CHOICES = {"log_format": FORMATS, "traces": ("off", "on")}


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
    event_clock: bool = False

    @classmethod
    def from_environment(cls, **options: str | None) -> Self:
        """Settings from `BLASTDOOR_*`; `options` that are not None win. Raises SettingsError."""
        if urlsplit(options.get("redis") or "").password:
            raise SettingsError("a password on the command line is seen by everybody: set BLASTDOOR_REDIS instead")
        found: dict[str, Any] = {name: os.environ[key] for name, key in VARIABLES.items() if key in os.environ}
        chosen = found | {name: value for name, value in options.items() if value is not None}
        for name, known in CHOICES.items():
            if chosen.get(name, known[0]) not in known:
                raise SettingsError(f"{VARIABLES[name]} is one of {', '.join(known)}")
        return cls(**chosen)

    def on_event_clock(self) -> Self:
        """The same settings for recordings: their own topics and keys."""
        return replace(self, prefix=f"{self.prefix}-event", event_clock=True)

    @property
    def legacy_prefix(self) -> str:
        """Empty in production: the keys gateways know. In event mode the keys of recordings are kept apart."""
        return f"{self.prefix}:" if self.event_clock else ""


def state_directory() -> Path:
    """Where a program keeps what it must remember: `$XDG_STATE_HOME`, else `~/.local/state`."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


def environment() -> Mapping[str, str]:
    """The process's environment as it is now, for what refers to it by name (`env:NAME` in a policy file)."""
    return dict(os.environ)
