"""The decoder's complaints become rejections: which reason, and a sentence that names the field.

The wording is msgspec's (the version is pinned, the tests hold every kind). It does not repeat what was sent, except
the value of an enum, and is cut short.
"""

from __future__ import annotations

import re

import msgspec

from rules.intake.fields import EXCERPT
from rules.records import Reason, Rejected

_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_TIMES = frozenset({"ts", "asked_at", "settled_until", "effective", "expires", "until", "time", "endTime"})

# The first pattern that is found decides.
_REASONS: tuple[tuple[str, Reason], ...] = (
    ("missing required field", Reason.MISSING_FIELD),
    ("RFC3339", Reason.BAD_TIME),
    (", got ", Reason.WRONG_TYPE),
    ("Expected `str`", Reason.WRONG_TYPE),
)


def rejection(fault: Exception) -> Rejected:
    """Why a decoder gave up."""
    if isinstance(fault, RecursionError):
        return Rejected(Reason.NOT_JSON, "JSON is nested too deeply")
    if isinstance(fault, UnicodeDecodeError):
        return Rejected(Reason.NOT_UTF8, f"invalid UTF-8 at byte {fault.start}")
    if not isinstance(fault, msgspec.ValidationError):
        return Rejected(Reason.NOT_JSON, _shortened(str(fault)))
    place = _PLACE.search(str(fault))
    field = place.group(1) if place else ""
    text = str(fault)[: place.start()] if place else str(fault)
    return Rejected(_reason(field, text), _shortened(f"{field}: {_sentence(text)}" if field else _sentence(text)))


def _reason(field: str, text: str) -> Reason:
    if _is_bound(text):
        return Reason.BAD_VALUE
    if "out of range" in text:
        return Reason.BAD_TIME if field.rpartition(".")[2] in _TIMES else Reason.BAD_VALUE
    return next((reason for pattern, reason in _REASONS if pattern in text), Reason.BAD_VALUE)


def _is_bound(text: str) -> bool:
    """Such as "Expected `int` >= 0" or "Expected `str` of length >= 1"."""
    return ">=" in text or "<=" in text


def _sentence(text: str) -> str:
    missing = re.fullmatch(r"Object missing required field (`[^`]*`)", text)
    return f"the required field {missing.group(1)} is missing" if missing else text[:1].lower() + text[1:]


def _shortened(text: str) -> str:
    return text if len(text) <= 2 * EXCERPT else text[: 2 * EXCERPT - 1] + "…"
