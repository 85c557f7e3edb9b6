"""Alibaba Cloud's resource packages (BssOpenApi, QueryResourcePackageInstances), signed by ourselves.

The signature is the cloud's third (ACS3-HMAC-SHA256): a canonical request of method, path, query, headers and the
body's hash.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import aiohttp

from rules.moment import Millis, to_datetime
from rules.policy import Provider as ProviderSpec
from rules.providers.aliyun import failure, package_row, page
from rules.providers.answer import Answer, Failure, temporary
from rules.providers.packages import Row, gather
from streams.poll.body import bounded
from streams.poll.provider import Surroundings

HOST = "business.aliyuncs.com"
ACTION, VERSION = "QueryResourcePackageInstances", "2017-12-14"
PAGE_SIZE, PAGES = 100, 50
PAUSE_SECONDS = 0.2
PATIENCE_SECONDS = 20.0
_EMPTY = hashlib.sha256(b"").hexdigest()


class Aliyun:
    """One account."""

    def __init__(self, spec: ProviderSpec, secrets: Mapping[str, str], around: Surroundings) -> None:
        self._spec = spec
        self._secrets = secrets
        self._around = around
        base = spec.host or HOST
        self._base = base if base.startswith("http") else f"https://{base}"

    async def ask(self) -> Answer | Failure:
        """All valid packages, of each product that is named."""
        asked_at = self._around.clock()
        rows: dict[str, Row] = {}
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            for product in self._spec.products or ("",):
                found = await self._list(session, product)
                if isinstance(found, Failure):
                    return found
                rows |= {row.id: row for row in found}
        if not rows:
            return temporary("Empty", "the account lists no package at all")
        gathered = gather(rows.values(), self._spec.packages, self._around.zone)
        return Answer(
            asked_at=asked_at,
            at=self._around.clock(),
            balances=gathered.balances,
            leftovers=gathered.leftovers,
        )

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _list(self, session: aiohttp.ClientSession, product: str) -> list[Row] | Failure:
        rows: list[Row] = []
        for number in range(1, PAGES + 1):
            found = await self._page(session, product, number)
            if isinstance(found, Failure):
                return found
            items, total = found
            rows += map(package_row, items)
            if not items or number * PAGE_SIZE >= total:
                return rows
            await self._around.sleep(PAUSE_SECONDS)
        return temporary("TooManyPages", f"the list goes on after {PAGES} pages")

    async def _page(
        self, session: aiohttp.ClientSession, product: str, number: int
    ) -> tuple[list[Mapping[str, Any]], int] | Failure:
        query = {"PageNum": str(number), "PageSize": str(PAGE_SIZE)} | ({"ProductCode": product} if product else {})
        headers = self._signed(query)
        try:
            async with session.post(
                f"{self._base}/?{canonical_query(query)}", headers=headers, allow_redirects=False
            ) as response:
                body = json.loads(await bounded(response))
        except TimeoutError:
            return temporary("Timeout", f"no answer within {PATIENCE_SECONDS:.0f} s")
        except (aiohttp.ClientError, OSError, ValueError, RecursionError) as error:
            return temporary(type(error).__name__, "no usable answer")
        if not isinstance(body, dict):
            return temporary("BadAnswer", "no list of packages")
        return page(body) or failure(response.status, body)

    def _signed(self, query: Mapping[str, str]) -> dict[str, str]:
        host = self._base.partition("://")[2].rstrip("/")
        return signed_headers(
            host,
            query,
            (self._secrets["access_key"], self._secrets["secret_key"]),
            now=self._around.clock(),
            nonce=uuid.uuid4().hex,
        )


def canonical_query(query: Mapping[str, str]) -> str:
    """Sorted, and quoted as RFC 3986 has it."""
    return "&".join(f"{quote(name, safe='-_.~')}={quote(query[name], safe='-_.~')}" for name in sorted(query))


def signed_headers(
    host: str,
    query: Mapping[str, str],
    key: tuple[str, str],
    *,
    now: Millis,
    nonce: str,
    action: str = ACTION,
    version: str = VERSION,
) -> dict[str, str]:
    """The headers of a POST without body. `key`: id and secret."""
    headers = {
        "host": host,
        "x-acs-action": action,
        "x-acs-content-sha256": _EMPTY,
        "x-acs-date": to_datetime(now).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "x-acs-signature-nonce": nonce,
        "x-acs-version": version,
    }
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = "\n".join(["POST", "/", canonical_query(query), lines, names, _EMPTY])
    text = f"ACS3-HMAC-SHA256\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(key[1].encode(), text.encode(), hashlib.sha256).hexdigest()
    credential = f"ACS3-HMAC-SHA256 Credential={key[0]},SignedHeaders={names},Signature={signature}"
    return headers | {"Authorization": credential}
