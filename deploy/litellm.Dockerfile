# LiteLLM's proxy with the gate beside it. The version is the newest whose parts all come from a package registry.
FROM python:3.11.13-slim-bookworm
COPY gateway /src/gateway
RUN pip install --no-cache-dir --disable-pip-version-check "litellm[proxy]==1.108.7" "/src/gateway[kafka,prometheus]" \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin litellm
USER 10001
ENV HOME=/tmp PYTHONUNBUFFERED=1
EXPOSE 4000
ENTRYPOINT ["litellm"]
