"""The gate's way to a Kafka that asks who comes."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest
from blastdoor_gateway.config import ConfigError
from blastdoor_gateway.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

SASL = {
    "BLASTDOOR_KAFKA": "kafka:9092",
    "BLASTDOOR_KAFKA_SECURITY": "sasl_ssl",
    "BLASTDOOR_KAFKA_USER": "gateway",
    "BLASTDOOR_KAFKA_PASSWORD": "s3cret-0123",
}


def settings(**more: str) -> Settings:
    return Settings.from_environment(SASL | {f"BLASTDOOR_KAFKA_{name}": value for name, value in more.items()})


def test_plain_needs_nothing() -> None:
    """As before: without the variables aiokafka is told nothing more."""
    assert Settings.from_environment({"BLASTDOOR_KAFKA": "kafka:9092"}).security.options() == {}


def test_sasl_over_tls() -> None:
    """Certificates and names are checked; TLS is 1.2 at least."""
    options = settings().security.options()
    context = options.pop("ssl_context")
    assert options == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "gateway",
        "sasl_plain_password": "s3cret-0123",
    }
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_the_password_may_stand_in_a_file(tmp_path: Path) -> None:
    """Line breaks at its ends are none of it."""
    file = tmp_path / "password"
    file.write_text("fr0m-file\n")
    assert settings(PASSWORD_FILE=str(file)).security.options()["sasl_plain_password"] == "fr0m-file"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SECURITY", "tls", "known are plaintext, ssl"),
        ("SASL", "GSSAPI", "known are SCRAM-SHA-512"),
        ("USER", "", "needs BLASTDOOR_KAFKA_USER"),
        ("PASSWORD", "", "needs BLASTDOOR_KAFKA_USER and …_PASSWORD"),
        ("PASSWORD_FILE", "/nonesuch", "/nonesuch: No such file"),
        ("CA", "/nonesuch.pem", "No such file"),
    ],
)
def test_a_mistake_is_told_at_the_start(name: str, value: str, says: str) -> None:
    """Never a producer that goes on without what was asked for; and never with the secret."""
    with pytest.raises(ConfigError, match=says) as told:
        settings(**{name: value}).security.options()
    assert "s3cret" not in str(told.value)


def test_no_text_shows_the_password() -> None:
    """Of the settings and of their part."""
    assert "s3cret" not in repr(settings()) + repr(settings().security)
