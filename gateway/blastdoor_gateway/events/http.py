"""Events to the engine's HTTP intake, one JSON object a line. For gateways that cannot reach Kafka."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPErrorProcessor, Request, build_opener

from blastdoor_gateway.events.outbox import Batch, UnusableError


class HttpCarrier:
    """Posts to `url` with a bearer token. Redirects are not followed: the token is for that address alone."""

    def __init__(self, url: str, token: str = "", within: float = 10.0) -> None:
        """Raises ValueError for a URL that is not http(s)."""
        if urlsplit(url).scheme not in {"http", "https"}:
            msg = "the intake's URL begins with http:// or https://"
            raise ValueError(msg)
        self._url = url
        self._headers = {"Content-Type": "application/x-ndjson"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        self._within = within
        self._opener = build_opener(_AsItIs)

    def __repr__(self) -> str:
        return "HttpCarrier()"

    async def deliver(self, batch: Batch) -> None:
        body = b"\n".join(value for _, value in batch) + b"\n"
        await asyncio.to_thread(self._post, body)

    async def close(self) -> None:
        """Every post has a connection of its own."""

    def _post(self, body: bytes) -> None:
        request = Request(self._url, data=body, headers=self._headers, method="POST")  # noqa: S310  (checked above)
        with self._opener.open(request, timeout=self._within) as answer:
            if answer.status == 400:
                msg = f"the intake answered 400: {answer.read(500)!r}"
                raise UnusableError(msg)
            if not 200 <= answer.status < 300:
                msg = f"the intake answered {answer.status}"
                raise OSError(msg)


class _AsItIs(HTTPErrorProcessor):
    """Leaves every answer to us."""

    def http_response(self, _request: Request, response: Any) -> Any:
        return response

    https_response = http_response  # type: ignore[assignment]
