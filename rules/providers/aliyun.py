"""Alibaba Cloud's billing interface (BssOpenApi 2017-12-14): rows of QueryResourcePackageInstances, error codes.

A page is `{"Success": true, "Data": {"TotalCount": "12", "Instances": {"Instance": [{…}]}}}`, an error
`{"Code": "…", "Message": "…"}` with any HTTP status. Only packages that are valid are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rules.moment import SECOND
from rules.providers.answer import Failure, permanent, temporary
from rules.providers.packages import Row

PERMANENT = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "Forbidden", "NoPermission", "NotAuthorized")
BUSY = 5 * SECOND
_SHOWN = 200


def package_row(item: Mapping[str, Any]) -> Row:
    """An instance as a row. What a person reads is `Remark`, what a program matches `PackageType`."""

    def text(name: str) -> str:
        value = item.get(name)
        return "" if value is None else str(value)

    return Row(
        id=text("InstanceId"),
        code=text("PackageType"),
        name=text("Remark"),
        unit=text("RemainingAmountUnit"),
        total=text("TotalAmount"),
        available=text("RemainingAmount"),
        effective=text("EffectiveTime"),
        expires=text("ExpiryTime"),
    )


def page(body: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], int] | None:
    """The instances of a page and the number of all; None where the body is no page."""
    data = body.get("Data")
    if body.get("Success") is not True or not isinstance(data, dict):
        return None
    found = data.get("Instances")
    items = found.get("Instance") if isinstance(found, dict) else found
    total = str(data.get("TotalCount", ""))
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items) or not total.isascii():
        return None
    return (items, int(total)) if total.isdigit() else None


def failure(status: int, body: Mapping[str, Any]) -> Failure:
    """What an answer that is no page means."""
    code, message = str(body.get("Code", ""))[:_SHOWN], " ".join(str(body.get("Message", "")).split())[:_SHOWN]
    if code.startswith(PERMANENT):
        # The text of a signature error repeats the request; nothing of it helps an operator.
        return permanent(code, "" if code.startswith("Signature") else message)
    if status == 429 or code.startswith("Throttling"):
        return temporary(code or "429", message, retry_after=BUSY)
    return temporary(code or f"HTTP {status}", message)
