"""How every Kafka client of ours connects: plainly, over TLS, with SASL, as the environment says.

    BLASTDOOR_KAFKA_SECURITY        plaintext (default), ssl, sasl_plaintext, sasl_ssl
    BLASTDOOR_KAFKA_CA              file of the authority that signed the brokers' certificates; default: the system's
    BLASTDOOR_KAFKA_CERTIFICATE     our own certificate, and
    BLASTDOOR_KAFKA_KEY             its key, where brokers ask for them
    BLASTDOOR_KAFKA_SASL            SCRAM-SHA-512 (default), SCRAM-SHA-256, PLAIN
    BLASTDOOR_KAFKA_USER            user, and
    BLASTDOOR_KAFKA_PASSWORD        password, or
    BLASTDOOR_KAFKA_PASSWORD_FILE   a file that holds it

There are no options for these: a command line is seen by everybody on the machine.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams.settings import SettingsError, environment

if TYPE_CHECKING:
    from faust.types.auth import CredentialsT

PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_PREFIX = "BLASTDOOR_KAFKA_"
_LONGEST = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """What the environment says. The password is in no text of it."""

    protocol: str = "plaintext"
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    mechanism: str = MECHANISMS[0]
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("ssl")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("sasl")


def security(given: Mapping[str, str]) -> Security:
    """The security in an environment. Raises SettingsError."""

    def value(name: str, default: str = "") -> str:
        return given.get(_PREFIX + name, default).strip()

    protocol, mechanism = value("SECURITY", "plaintext").lower(), value("SASL", MECHANISMS[0]).upper()
    _check("SECURITY", protocol, PROTOCOLS)
    _check("SASL", mechanism, MECHANISMS)
    found = Security(
        protocol=protocol,
        ca=value("CA") or None,
        certificate=value("CERTIFICATE") or None,
        key=value("KEY") or None,
        mechanism=mechanism,
        user=value("USER"),
        password=_password(given),
    )
    if found.has_sasl and not (found.user and found.password):
        raise SettingsError(f"{_PREFIX}SECURITY={protocol} needs {_PREFIX}USER and {_PREFIX}PASSWORD (or …_FILE)")
    return found


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingsError(f"{_PREFIX}{name}: known are {', '.join(known)}")


def _password(given: Mapping[str, str]) -> str:
    if (file := given.get(f"{_PREFIX}PASSWORD_FILE")) is None:
        return given.get(f"{_PREFIX}PASSWORD", "")
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_LONGEST).decode().strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds no text"
        raise SettingsError(f"{_PREFIX}PASSWORD_FILE: cannot read {file}: {reason}") from error


def tls(found: Security) -> ssl.SSLContext | None:
    """Certificates and host names are always checked. Raises SettingsError for files that cannot be used."""
    if not found.has_tls:
        return None
    try:
        context = ssl.create_default_context(cafile=found.ca)
        if found.certificate:
            context.load_cert_chain(found.certificate, found.key)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{_PREFIX}CA, …CERTIFICATE, …KEY: {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


@cache
def _own() -> tuple[Security, ssl.SSLContext | None]:
    found = security(environment())
    return found, tls(found)


def connection(kafka: str) -> dict[str, Any]:
    """What a client of aiokafka is given to reach the brokers at `kafka`."""
    found, context = _own()
    options: dict[str, Any] = {"bootstrap_servers": kafka, "security_protocol": found.protocol.upper()}
    if context is not None:
        options["ssl_context"] = context
    if found.has_sasl:
        options |= {
            "sasl_mechanism": found.mechanism,
            "sasl_plain_username": found.user,
            "sasl_plain_password": found.password,
        }
    return options


def faust_credentials() -> CredentialsT | None:
    """The same for Faust."""
    import faust  # noqa: PLC0415 - takes a while, and most commands do without

    found, context = _own()
    if found.has_sasl:
        return faust.SASLCredentials(
            username=found.user, password=found.password, ssl_context=context, mechanism=found.mechanism
        )
    return faust.SSLCredentials(context) if context is not None else None
