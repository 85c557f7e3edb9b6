"""A real Prometheus that asks once a second, with the rules of the tree loaded."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from streams.embedded.server import Server, serve
from tests.dashboards.boards import ROOT

RULES = ROOT / "dashboards" / "prometheus" / "*.yaml"


class Prometheus:
    """A server that runs, and questions to it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.began = time.time()

    @classmethod
    def start(cls, folder: Path, targets: Mapping[str, str]) -> Prometheus:
        """`targets`: addresses by job."""
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()
            ],
        }
        path = folder / "prometheus.yml"
        path.write_text(yaml.safe_dump(config))

        def argv(port: int) -> list[str]:
            options = {
                "config.file": path,
                "storage.tsdb.path": folder / "data",
                "web.listen-address": f"127.0.0.1:{port}",
                "log.level": "warn",
            }
            return ["prometheus", *(f"--{name}={value}" for name, value in options.items())]

        return cls(serve("Prometheus", argv, _is_ready, log=folder / "prometheus.log", within=60))

    def stop(self) -> None:
        self.server.child.stop()

    async def ever(self, query: str) -> list[dict[str, Any]]:
        """The series that had a number at any time since the start; NaN is none."""
        span = {"start": f"{self.began:.3f}", "end": f"{time.time():.3f}", "step": "1"}
        found = await self._get("query_range", {"query": query, **span})
        return [
            series for series in found["result"] if any(not math.isnan(float(value)) for _, value in series["values"])
        ]

    async def now(self, query: str) -> list[dict[str, Any]]:
        """What it answers at this moment."""
        found: list[dict[str, Any]] = (await self._get("query", {"query": query}))["result"]
        return found

    async def rules(self) -> list[dict[str, Any]]:
        """Every rule with how it fares."""
        return [rule for group in (await self._get("rules", {}))["groups"] for rule in group["rules"]]

    async def _get(self, what: str, parameters: dict[str, str]) -> Any:
        where = f"http://{self.server.address}/api/v1/{what}"
        async with aiohttp.ClientSession() as session, session.get(where, params=parameters) as answer:
            said = await answer.json()
        assert said["status"] == "success", (parameters, said)
        return said["data"]


def _is_ready(connection: Any) -> bool:
    connection.sendall(b"GET /-/ready HTTP/1.0\r\n\r\n")
    return b" 200 " in connection.recv(64)
