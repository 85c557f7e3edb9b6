# blastdoor: worker, poller and tools in one image. No root, no compiler, no shell needed.
#   docker build -t blastdoor .
#   docker run --rm blastdoor doctor --help
FROM rust:1.88.0-slim-bookworm AS native
COPY native /src/native
RUN cargo build --release --locked --offline --manifest-path /src/native/Cargo.toml --target-dir /build \
    && mv /build/release/libblastdoor_native.so /build/counting.so

FROM python:3.11.13-slim-bookworm AS builder
RUN python -m venv /opt/blastdoor
COPY deploy/requirements.lock /src/deploy/requirements.lock
RUN /opt/blastdoor/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /src/deploy/requirements.lock
COPY pyproject.toml README.md LICENSE /src/
COPY gateway /src/gateway
COPY native /src/native
COPY rules /src/rules
COPY streams /src/streams
RUN /opt/blastdoor/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation /src/gateway /src \
    && /opt/blastdoor/bin/pip uninstall --yes setuptools pip

FROM python:3.11.13-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin blastdoor
COPY --from=builder /opt/blastdoor /opt/blastdoor
COPY --from=native /build/counting.so /opt/blastdoor/lib/python3.11/site-packages/native/counting.so
ENV PATH=/opt/blastdoor/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 BLASTDOOR_HTTP=0.0.0.0:6066
USER 10001
WORKDIR /etc/blastdoor
EXPOSE 6066
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:6066/ready', timeout=2)"]
ENTRYPOINT ["blastdoor"]
CMD ["worker"]
