"""VolcEngine's resource packages, asked for by the official SDK (extra `volcengine`).

The SDK blocks, so every call runs in a thread. Its own retries are off: pace and patience are decided in one place.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from rules.moment import HOUR, Millis, to_datetime
from rules.policy import Provider as ProviderSpec
from rules.providers.answer import Answer, Balance, Failure, temporary
from rules.providers.packages import Gathered, Row, gather, matching, vanished
from rules.providers.paging import Paging
from rules.providers.volcengine import deduction, failure, package_row, settled
from streams.poll.provider import MissingExtraError, Surroundings

try:
    import volcenginesdkbilling
    import volcenginesdkcore
    from volcenginesdkcore.rest import ApiException
except ImportError as error:
    msg = "asking VolcEngine needs its SDK: pip install 'blastdoor[volcengine]'"
    raise MissingExtraError(msg) from error

PAGE = "20"  # the most that is given
PAUSE_SECONDS = 0.35  # between two calls: a third of the interface's 10 a second
PATIENCE = (5, 20)  # seconds to connect, to read
USED_UP_PAGES = 10  # newest first: a package used up today stands on the first of them
DEDUCTION_PAGES = 20
LOOK_BACK = 6 * HOUR

Item = Mapping[str, Any]
Call = Callable[[str], Any]
"""Asks for the page behind a token; the SDK's response."""


class _FailedError(Exception):
    """A call brought no page."""

    def __init__(self, found: Failure) -> None:
        super().__init__(str(found))
        self.failure = found


class VolcEngine:
    """One account."""

    def __init__(self, spec: ProviderSpec, secrets: Mapping[str, str], around: Surroundings) -> None:
        self._spec = spec
        self._secret_words = tuple(secrets.values())
        self._around = around
        self._products = spec.products or (None,)
        self._before: tuple[Balance, ...] = ()
        self._api = volcenginesdkbilling.BILLINGApi(volcenginesdkcore.ApiClient(_configuration(spec, secrets)))
        # It logs whole requests where debugging is on.
        logging.getLogger("com.volcengine.sdkcore").setLevel(logging.CRITICAL)

    async def ask(self) -> Answer | Failure:
        """All effective packages; a model without any has nothing left only if its used-up ones are listed."""
        asked_at = self._around.clock()
        try:
            gathered = await self._effective()
            if vanished(self._before, gathered.balances, asked_at):
                # Used up, or pushed past a page's edge while we were turning it: a second look tells.
                gathered = await self._effective()
            used_up = await self._used_up(gathered)
        except _FailedError as failed:
            return failed.failure
        self._before = gathered.balances
        at = self._around.clock()
        if not gathered.balances and not used_up and not gathered.leftovers:
            return temporary("Empty", "the account lists no package at all")
        balances = await self._settled(gathered.balances, asked_at) if self._spec.settled else gathered.balances
        return Answer(asked_at=asked_at, at=at, balances=(*balances, *used_up), leftovers=gathered.leftovers)

    async def close(self) -> None:
        """The SDK keeps nothing that must be given back."""

    async def _effective(self) -> Gathered:
        rows: list[Row] = []
        for product in self._products:
            paging = Paging()
            rows += [package_row(item) async for item in self._pages(self._packages("Effective", product), paging)]
            if paging.overrun:
                raise _FailedError(temporary("TooManyPages", f"the list goes on after {paging.pages} pages"))
        return gather(rows, self._spec.packages, self._around.zone)

    async def _used_up(self, gathered: Gathered) -> list[Balance]:
        """Models whose packages are all used up: nothing is left, and that is known."""
        missing = {model: names for model, names in self._spec.packages.items() if model not in gathered.met}
        found: list[Row] = []
        for product in self._products:
            async for item in self._pages(self._packages("UsedUp", product), Paging(USED_UP_PAGES), lambda: missing):
                row = package_row(item)
                for model in matching(row, missing):
                    del missing[model]
                    found.append(row)
        balances = gather(found, self._spec.packages, self._around.zone).balances
        return [balance for balance in balances if balance.available == 0]

    async def _settled(self, balances: tuple[Balance, ...], until: Millis) -> tuple[Balance, ...]:
        """The balances with what the deductions tell; without them where these cannot be had."""
        pages = self._pages(self._deductions(until), Paging(DEDUCTION_PAGES))
        try:
            found = [deduction(item, self._around.zone) async for item in pages]
        except _FailedError:
            return balances
        told = [each for each in found if each is not None]
        return tuple(settled(balance, told) for balance in balances)

    async def _pages(
        self, call: Call, paging: Paging, wanted: Callable[[], object] = lambda: True
    ) -> AsyncIterator[Item]:
        """The items of all pages, as long as they are wanted. Raises _FailedError."""
        while paging.token is not None and not paging.overrun and wanted():
            page = await self._try(call, paging.token)
            items = page.list or []
            paging.turn(len(items), page.next_token)
            for item in items:
                yield item.to_dict()
            await self._around.sleep(PAUSE_SECONDS)

    async def _try(self, call: Call, token: str) -> Any:
        try:
            page = await asyncio.to_thread(call, token)
        except ApiException as error:
            raise _FailedError(failure(error.status, error.reason, error.body, self._secret_words)) from None
        except Exception as error:  # noqa: BLE001 - whatever the SDK makes of an answer, there is none to use
            raise _FailedError(temporary(type(error).__name__, "no usable answer")) from None
        if page is None or not isinstance(page.list, list | None):
            raise _FailedError(temporary("BadAnswer", "no list of packages"))
        return page

    def _packages(self, status: str, product: str | None) -> Call:
        def call(token: str) -> Any:
            request = volcenginesdkbilling.ListResourcePackagesRequest(
                resource_type="Package", max_results=PAGE, next_token=token, status=status, product=product
            )
            return self._api.list_resource_packages(request, _request_timeout=PATIENCE)

        return call

    def _deductions(self, until: Millis) -> Call:
        def call(token: str) -> Any:
            request = volcenginesdkbilling.ListPackageUsageDetailsRequest(
                resource_type="Package",
                max_results=PAGE,
                next_token=token,
                deduct_begin_time=_written(until - LOOK_BACK),
                deduct_end_time=_written(until),
            )
            return self._api.list_package_usage_details(request, _request_timeout=PATIENCE)

        return call


def _configuration(spec: ProviderSpec, secrets: Mapping[str, str]) -> Any:
    found = volcenginesdkcore.Configuration()
    found.ak, found.sk = secrets["access_key"], secrets["secret_key"]
    found.region = spec.region or "cn-beijing"
    found.auto_retry = False
    if spec.host:
        found.host = spec.host
    return found


def _written(at: Millis) -> str:
    return to_datetime(at).strftime("%Y-%m-%dT%H:%M:%SZ")
