"""What the environment and options may say, and what is told of what they may not."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.settings import Settings, SettingsError


@pytest.mark.parametrize("kafka", ["kafka:9092", "kafka", "a.b:1, c-d_e:65535", "[::1]:9092", "127.0.0.1:9092"])
def test_addresses_of_brokers(kafka: str) -> None:
    """One or several, by name or number; without a port it is 9092."""
    assert Settings.from_environment(kafka=kafka).kafka == kafka


@pytest.mark.parametrize("kafka", ["", "kafka:x", "kafka:0", "kafka:99999", "a:1,,b:2", "a b:1", "http://kafka:9092"])
def test_what_is_no_address_is_told(kafka: str) -> None:
    """Instead of a library's traceback."""
    with pytest.raises(SettingsError, match="BLASTDOOR_KAFKA is HOST:PORT"):
        Settings.from_environment(kafka=kafka)


@pytest.mark.parametrize(
    "redis",
    ["redis://h", "redis://h:1/0", "rediss://u:p%23w@h:6380/1?ssl_ca_certs=/ca.pem", "unix:///run/redis.sock?db=1"],
)
def test_urls_of_redis(redis: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With TLS, a user, a socket."""
    monkeypatch.setenv("BLASTDOOR_REDIS", redis)
    assert Settings.from_environment().redis == redis


@pytest.mark.parametrize(
    "redis", ["", "h:6379", "http://h", "redis://", "redis://h:x", "redis://u:s3cr#et@h:6379/0", "redis://u:s3/cret@h"]
)
def test_what_is_no_url_of_redis_is_told_without_its_password(redis: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign in a password that cuts the URL makes a port of the password: it is not repeated."""
    monkeypatch.setenv("BLASTDOOR_REDIS", redis)
    with pytest.raises(SettingsError, match="BLASTDOOR_REDIS is a URL") as told:
        Settings.from_environment()
    assert "s3cr" not in str(told.value)


@pytest.mark.parametrize("prefix", ["", "a b", "ä", "a/b", "x" * 101])
def test_what_cannot_be_a_prefix_is_told(prefix: str) -> None:
    """Topics are named with it, and Kafka takes few signs."""
    with pytest.raises(SettingsError, match="BLASTDOOR_PREFIX"):
        Settings.from_environment(prefix=prefix)


def test_a_command_ends_with_two() -> None:
    """Whoever started it need not start it again."""
    found = CliRunner().invoke(main, ["worker", "--kafka", "kafka:x"])
    assert (found.exit_code, found.output) == (
        2,
        "Error: BLASTDOOR_KAFKA is HOST:PORT, several with commas between, not 'kafka:x'\n",
    )
