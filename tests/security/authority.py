"""A certificate authority of a test's own, and a certificate for 127.0.0.1 made by it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple


class Authority(NamedTuple):
    """Files in PEM. `bundle`: key and certificate in one, as Kafka wants them."""

    ca: Path
    certificate: Path
    key: Path
    bundle: Path


def make(directory: Path, name: str = "authority") -> Authority:
    """Valid for a day; RSA, as Kafka's PEM reader wants PKCS#8 and does not take every curve."""
    root, key, request, certificate = (directory / f"{name}-{part}.pem" for part in ("ca", "key", "request", "cert"))
    names, root_key = directory / f"{name}.ext", directory / f"{name}-ca-key.pem"
    names.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"]
    _run([*new, "-x509", "-days", "1", "-keyout", root_key, "-out", root])
    _run([*new, "-keyout", key, "-out", request])
    signed = ["-CA", root, "-CAkey", root_key, "-CAcreateserial", "-days", "1", "-extfile", names]
    _run(["openssl", "x509", "-req", "-in", request, *signed, "-out", certificate])
    bundle = directory / f"{name}-bundle.pem"
    bundle.write_text(key.read_text() + certificate.read_text() + root.read_text())
    return Authority(root, certificate, key, bundle)


def _run(argv: list[str | Path]) -> None:
    subprocess.run(argv, check=True, capture_output=True)
