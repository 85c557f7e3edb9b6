"""VolcEngine's billing interface: rows of ListResourcePackages, deductions of ListPackageUsageDetails, error codes."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rules.moment import SECOND, Millis, from_datetime
from rules.providers.answer import Balance, Failure, permanent, temporary
from rules.providers.packages import Row

PERMANENT = frozenset({"InvalidAccessKey", "SignatureDoesNotMatch", "AccessDenied", "InvalidActionOrVersion"})
BUSY = 5 * SECOND  # flow control counts by the second
_SHOWN = 200


class Deduction(Struct, frozen=True, kw_only=True):
    """Usage up to `end` was taken from a package, which left `after`."""

    package: str
    end: Millis
    after: int


def package_row(item: Mapping[str, Any]) -> Row:
    """A row of ListResourcePackages; what is missing is empty text."""

    def text(name: str) -> str:
        value = item.get(name)
        return "" if value is None else str(value)

    return Row(
        id=text("instance_no"),
        code=text("configuration_code"),
        name=text("configuration_name"),
        unit=text("unit"),
        total=text("total_amount"),
        available=text("available_amount"),
        effective=text("effective_time"),
        expires=text("expiry_time"),
    )


def deduction(item: Mapping[str, Any], zone: tzinfo) -> Deduction | None:
    """A row of ListPackageUsageDetails; None where it does not say up to which usage it reaches."""
    try:
        when = datetime.fromisoformat(str(item["end_time"]))
        return Deduction(
            package=str(item["instance_no"]),
            end=from_datetime(when if when.tzinfo else when.replace(tzinfo=zone)),
            after=int(Decimal(str(item["after_amount"]))),
        )
    except (KeyError, ValueError, InvalidOperation, OverflowError):
        return None


def settled(balance: Balance, deductions: Iterable[Deduction]) -> Balance:
    """The balance with the instant up to which usage is deducted from it, if the deductions tell.

    They do when each package's newest deduction left exactly what the list shows: then nothing was deducted between
    the two answers, and what the newest of them covers is the limit of what the balance contains.
    """
    listed = {package.id: package.available for package in balance.packages or ()}
    newest: dict[str, Deduction] = {}
    for each in deductions:
        if each.package in listed and (each.package not in newest or each.end > newest[each.package].end):
            newest[each.package] = each
    if not newest or any(each.after != listed[each.package] for each in newest.values()):
        return balance
    return replace(balance, settled_until=max(each.end for each in newest.values()))


def failure(status: int, reason: str, body: str | bytes | None, secret_words: Iterable[str] = ()) -> Failure:
    """What an error of the interface means. HTTP 200 carries its error in `reason`, as Python writes a dictionary."""
    code, message = _told(body) or _told(reason) or ("", "")
    for word in secret_words:
        message = message.replace(word, "…") if word else message
    message = " ".join(message.split())[:_SHOWN]
    if code in PERMANENT:
        return permanent(code, message)
    if status == 429 or "Limit" in code or "Throttl" in code:
        return temporary(code or "429", message, retry_after=BUSY)
    return temporary(code or f"HTTP {status}", message)


def _told(text: str | bytes | None) -> tuple[str, str] | None:
    found = _parsed(text)
    metadata = found.get("ResponseMetadata")
    error = metadata.get("Error") if isinstance(metadata, dict) else found
    if not isinstance(error, dict) or "Code" not in error:
        return None
    return str(error["Code"])[:_SHOWN], str(error.get("Message", ""))


def _parsed(text: str | bytes | None) -> dict[str, Any]:
    written = text.decode("utf-8", "replace") if isinstance(text, bytes) else text or ""
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(written)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, dict):
            return found
    return {}
