# blastdoor: worker, poller and tools in one image. No root, nothing to compile, no shell needed.
#   docker build -t blastdoor .
#   docker run --rm blastdoor doctor --help
FROM python:3.11.13-slim-bookworm AS builder
RUN python -m venv /opt/blastdoor
COPY deploy/requirements.lock /src/deploy/requirements.lock
RUN /opt/blastdoor/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /src/deploy/requirements.lock
COPY pyproject.toml README.md LICENSE /src/
COPY gateway /src/gateway
COPY rules /src/rules
COPY streams /src/streams
RUN /opt/blastdoor/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation /src/gateway /src \
    && /opt/blastdoor/bin/pip uninstall --yes setuptools pip

FROM python:3.11.13-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin blastdoor
COPY --from=builder /opt/blastdoor /opt/blastdoor
ENV PATH=/opt/blastdoor/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 BLASTDOOR_HTTP=0.0.0.0:6066
USER 10001
WORKDIR /etc/blastdoor
EXPOSE 6066
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:6066/ready', timeout=2)"]
ENTRYPOINT ["blastdoor"]
CMD ["worker"]
