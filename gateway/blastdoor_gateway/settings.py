"""The only module here that reads the environment.

BLASTDOOR_REDIS    redis://127.0.0.1:6379/0
BLASTDOOR_KAFKA    host:port,… to which usage events go, with BLASTDOOR_KAFKA_SECURITY, _CA, _CERTIFICATE, _KEY,
                   _SASL, _USER, _PASSWORD, _PASSWORD_FILE as the engine has them; or
BLASTDOOR_INTAKE   the URL of the engine's HTTP intake, with BLASTDOOR_TOKEN
BLASTDOOR_GATE     a TOML file with the gate's configuration (`config_file.py`)
BLASTDOOR_PREFIX   of keys and topics
BLASTDOOR_SOURCE   this gateway's name in the engine's policy
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from blastdoor_gateway.config import ConfigError, Gate
from blastdoor_gateway.config_file import load_gate
from blastdoor_gateway.events.secure import KafkaSecurity

# field of KafkaSecurity -> end of the variable's name
_SECURITY = {
    "protocol": "SECURITY",
    "ca": "CA",
    "certificate": "CERTIFICATE",
    "key": "KEY",
    "mechanism": "SASL",
    "user": "USER",
    "password": "PASSWORD",
    "password_file": "PASSWORD_FILE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the parts are. `token` and passwords in `redis` are secrets: this record does not show them."""

    redis: str = "redis://127.0.0.1:6379/0"
    kafka: str = ""
    security: KafkaSecurity = field(default_factory=KafkaSecurity)
    intake: str = ""
    token: str = ""
    source: str = "litellm"
    gate: Gate = field(default_factory=Gate)

    def __repr__(self) -> str:
        return f"Settings(kafka={self.kafka!r}, source={self.source!r})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Raises ConfigError for a configuration file that cannot be meant, OSError for one that cannot be read."""
        found = os.environ if environment is None else environment
        gate = load_gate(Path(found["BLASTDOOR_GATE"])) if found.get("BLASTDOOR_GATE") else Gate()
        if found.get("BLASTDOOR_PREFIX"):
            gate = replace(gate, prefix=found["BLASTDOOR_PREFIX"])
        given = {
            name: found.get(f"BLASTDOOR_{name.upper()}") for name in ("redis", "kafka", "intake", "token", "source")
        }
        if not _is_redis(given["redis"] or "redis://localhost"):
            raise ConfigError(
                "BLASTDOOR_REDIS is a URL like redis://HOST:6379/0; in a password write %23 for #, %2F for /"
            )
        security = {name: found.get(f"BLASTDOOR_KAFKA_{end}") for name, end in _SECURITY.items()}
        return cls(
            gate=gate,
            security=KafkaSecurity(**{name: value for name, value in security.items() if value}),
            **{name: value for name, value in given.items() if value},
        )


def _is_redis(url: str) -> bool:
    """Whether it can be connected to. What is wrong is not told: a sign in a password that cuts the URL makes a port
    of the password."""
    try:
        found = urlsplit(url)
        port_is_one = found.port is None or found.port > 0
    except ValueError:
        return False
    where = found.path if found.scheme == "unix" else found.hostname
    return found.scheme in {"redis", "rediss", "unix"} and bool(where) and port_is_one and not found.fragment
