"""The HTTP server: metrics for Prometheus, readiness for whoever starts us, and what else is given to it. Binds to the
loopback address unless told otherwise."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from streams.delivery.turns import Breath

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LARGEST = 4 * 1024 * 1024
"""Of a request's body, unpacked. A batch of 512 payloads of a gateway, its usual most, has some 2 MB."""


class ListenError(RuntimeError):
    """The address cannot be used."""


def split_address(address: str) -> tuple[str, int]:
    """`host:port`; raises ListenError on anything else. An IPv6 host stands in brackets."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        msg = f"an HTTP address is HOST:PORT, not {address!r}"
        raise ListenError(msg)
    return host.strip("[]"), int(port)


def check_free(address: str) -> None:
    """Raises ListenError if somebody listens there already: told in one line, and before anything has been started."""
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError as error:
            msg = f"cannot listen on {address}: {error.strerror or error}"
            raise ListenError(msg) from error


async def serve(
    address: str,
    registry: CollectorRegistry,
    ready: Callable[[], bool],
    routes: Iterable[web.RouteDef] = (),
    before: Callable[[], None] = lambda: None,
) -> web.AppRunner:
    """Start serving; the caller stops it with `cleanup()`. `before`: what brings gauges up to date when somebody asks
    for the metrics. Raises ListenError if the address is taken."""
    application = web.Application(client_max_size=LARGEST)
    application.router.add_get("/metrics", _metrics(registry, ready, before))
    application.router.add_get("/ready", _readiness(ready))
    application.router.add_routes(routes)
    runner = web.AppRunner(application, access_log=None, handle_signals=False)
    await runner.setup()
    host, port = split_address(address)
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        msg = f"cannot listen on {address}: {error.strerror or error}"
        raise ListenError(msg) from error
    return runner


def _metrics(registry: CollectorRegistry, ready: Callable[[], bool], before: Callable[[], None]) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        ready()  # shows how far the partitions are on its way
        before()
        names = request.query.getall("name[]", [])
        asked = registry.restricted_registry(names) if names else registry
        return web.Response(body=await page(asked), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return answer


async def page(registry: Collector) -> bytes:
    """All families of metrics, one after the other: thousands of samples keep nobody waiting for the event loop."""
    breath, families = Breath(), []
    for family in registry.collect():
        families.append(generate_latest(_Family(family)))
        await breath()
    return b"".join(families)


class _Family(Collector):
    """One alone."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)


def _readiness(ready: Callable[[], bool]) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"ready": True}) if ready() else web.json_response({"ready": False}, status=503)

    return answer
