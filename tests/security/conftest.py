"""Apache Kafka with TLS and SASL, Redis 7 with TLS and ACL, for whoever has the right certificate and password."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from streams.embedded.server import free_port
from tests.kafka.apache import ApacheKafka
from tests.security.authority import Authority, make

USER, PASSWORD = "blastdoor", "kafka-s3cret-0123"
REDIS_USER, REDIS_PASSWORD = "blastdoor", "redis-s3cret-0123"

# What docs/security.md says a worker needs: its own keys and those of the gates, and no command that harms others.
ACL = (
    "~blastdoor* ~limit:dynamic:volcengine:* ~daily_usage:* ~consume:last_run:* ~quota:tenant:* "
    "+@read +@write +@connection +@scripting +info +time +type +scan -@dangerous +info"
)


class Secured(NamedTuple):
    """Addresses by protocol, and what one must know."""

    authority: Authority
    plaintext: str
    ssl: str
    sasl_ssl: str

    def environment(self, protocol: str = "sasl_ssl", **more: str) -> dict[str, str]:
        return {
            "BLASTDOOR_KAFKA": self.sasl_ssl if protocol == "sasl_ssl" else self.ssl,
            "BLASTDOOR_KAFKA_SECURITY": protocol,
            "BLASTDOOR_KAFKA_CA": str(self.authority.ca),
            "BLASTDOOR_KAFKA_USER": USER,
            "BLASTDOOR_KAFKA_PASSWORD": PASSWORD,
        } | more


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def secured_kafka(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    ports = {"SSL": free_port(), "SASL_SSL": free_port()}
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.bundle),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.ca),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
    }
    kafka = ApacheKafka.start(tmp_path_factory.mktemp("secured-kafka"), settings, ports, {USER: PASSWORD})
    yield Secured(authority, kafka.address, f"127.0.0.1:{ports['SSL']}", f"127.0.0.1:{ports['SASL_SSL']}")
    kafka.stop()


@pytest.fixture(scope="session")
def secured_redis(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A `rediss://` URL with the password, for the one user that may do anything. There is no plain port."""
    directory, port = tmp_path_factory.mktemp("secured-redis"), free_port()
    users = directory / "users.acl"
    users.write_text(f"user default off\nuser {REDIS_USER} on >{REDIS_PASSWORD} {ACL}\n")
    tls = [
        "--tls-cert-file",
        authority.certificate,
        "--tls-key-file",
        authority.key,
        "--tls-ca-cert-file",
        authority.ca,
    ]
    place = ["--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1", "--dir", directory]
    server = subprocess.Popen(
        [str(shutil.which("redis-server")), *place, *tls, "--tls-auth-clients", "no", "--aclfile", users, "--save", ""],
        stdout=subprocess.DEVNULL,
    )
    url = f"rediss://{REDIS_USER}:{REDIS_PASSWORD}@127.0.0.1:{port}/0?ssl_ca_certs={authority.ca}"
    _await(url)
    yield url
    server.kill()
    server.wait()


def _await(url: str) -> None:
    deadline = time.monotonic() + 60
    with Redis.from_url(url) as client:
        while True:
            try:
                client.ping()
            except RedisConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return


ROOT = Path(__file__).parents[2]
