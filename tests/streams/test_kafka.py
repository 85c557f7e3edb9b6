"""How clients of Kafka connect, as the environment says."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.kafka import Security, security, tls
from streams.settings import Settings, SettingsError


def given(**fields: str) -> dict[str, str]:
    return {f"BLASTDOOR_KAFKA_{name.upper()}": value for name, value in fields.items()}


def test_nothing_said_is_plaintext() -> None:
    """No TLS, no user."""
    found = security({})
    assert (found, tls(found)) == (Security(), None)


def test_a_password_may_stand_in_a_file(tmp_path: Path) -> None:
    """As container platforms hand secrets over; a line break at its end is none of it."""
    (tmp_path / "password").write_text("s3cret\n")
    found = security(given(security="SASL_SSL", user="u", password_file=str(tmp_path / "password"), sasl="plain"))
    assert (found.protocol, found.mechanism, found.user, found.password) == ("sasl_ssl", "PLAIN", "u", "s3cret")
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "fields",
    [
        {"security": "tls"},
        {"sasl": "MD5"},
        {"security": "sasl_ssl", "user": "u"},
        {"security": "sasl_ssl", "password": "s3cret"},
        {"security": "sasl_ssl", "user": "u", "password_file": "/nowhere"},
    ],
)
def test_mistakes_are_told_at_once(fields: dict[str, str]) -> None:
    """With the variable's name, without the password."""
    with pytest.raises(SettingsError, match="BLASTDOOR_KAFKA_") as found:
        security(given(**fields))
    assert "s3cret" not in str(found.value)


def test_files_that_are_none() -> None:
    """An authority that is not there is an operator's mistake, not a broker that is away."""
    with pytest.raises(SettingsError, match="No such file"):
        tls(security(given(security="ssl", ca="/nowhere.pem")))


def test_certificates_and_names_are_always_checked() -> None:
    """There is no switch for it."""
    context = tls(security(given(security="ssl")))
    assert context is not None
    assert context.check_hostname


def test_a_redis_password_is_refused_as_an_option() -> None:
    """Whoever lists processes would see it."""
    with pytest.raises(SettingsError) as found:
        Settings.from_environment(redis="redis://:s3cret@host/0")
    assert "s3cret" not in str(found.value)
