"""How the gate's producer connects to Kafka: plainly, over TLS, with SASL. The same settings as the engine's."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blastdoor_gateway.config import ConfigError

PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurity:
    """`ca`, `certificate`, `key` and `password_file` are paths. The password is in no text of it."""

    protocol: str = "plaintext"
    ca: str = ""
    certificate: str = ""
    key: str = ""
    mechanism: str = MECHANISMS[0]
    user: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""

    def options(self) -> dict[str, Any]:
        """What aiokafka's producer is given. Raises ConfigError for what cannot be meant or read."""
        protocol, mechanism = self.protocol.lower(), self.mechanism.upper()
        _check("BLASTDOOR_KAFKA_SECURITY", protocol, PROTOCOLS)
        found: dict[str, Any] = {} if protocol == "plaintext" else {"security_protocol": protocol.upper()}
        if protocol.endswith("ssl"):
            found["ssl_context"] = self._context()
        if protocol.startswith("sasl"):
            _check("BLASTDOOR_KAFKA_SASL", mechanism, MECHANISMS)
            found |= {"sasl_mechanism": mechanism, **self._login()}
        return found

    def _login(self) -> dict[str, str]:
        password = self.password
        if self.password_file:
            try:
                password = Path(self.password_file).read_text(encoding="utf-8").strip()
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it holds no text"
                raise ConfigError(f"BLASTDOOR_KAFKA_PASSWORD_FILE: {self.password_file}: {reason}") from error
        if not (self.user and password):
            raise ConfigError("BLASTDOOR_KAFKA_SECURITY with SASL needs BLASTDOOR_KAFKA_USER and …_PASSWORD (or _FILE)")
        return {"sasl_plain_username": self.user, "sasl_plain_password": password}

    def _context(self) -> ssl.SSLContext:
        """Certificates and host names are always checked."""
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key or None)
        except (OSError, ValueError) as error:
            raise ConfigError(f"BLASTDOOR_KAFKA_CA, …_CERTIFICATE, …_KEY: {error}") from error
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name}: known are {', '.join(known)}")
