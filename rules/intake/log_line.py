"""The lines that a v6 gate writes into its log: usage, balance checks, refusals.

    2026-08-13 11:22:08,900 INFO … 📊 [Usage] MODEL:HASH: +2439 (Today: 73,257 | BalAtSync: 2,242,178 | Limit: 2,000)
    2026-08-12 13:36:03,000 INFO … 📊 [Usage] MODEL:HASH: +38083 (Today: 1,279,904 | Rem: 1,558,307 | Limit: 2,000)
    2026-08-13 11:22:00,000 INFO … DEBUG: Checking MODEL (Bal: 1,726,526, Rem: 1,676,526)
    2026-08-12 15:09:51,000 INFO … 🚫 [PRE-BLOCK] MODEL daily limit reached (1,696,135+16/296,869)

Ids come from the content alone, so a copy of a log is recognised; the running `Today` makes usage lines unique. A line
that bears one of the marks and cannot be read is rejected; any other line is none of ours. The picture before the mark
does not matter, and full-width signs do as well as plain ones.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from datetime import datetime, tzinfo

from rules.intake.fields import LONGEST_NAME, MOST_TOKENS, Unfit, instant
from rules.moment import Millis
from rules.records import Reading, Reason, Record, Refusal, Usage

_NUMBER = r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?![0-9])"
)

_USAGE_MARK = re.compile(r"[\[【]Usage[\]】]")
_CHECK_MARK = re.compile(r"\bChecking\b(?=.*\bBal\b)")
_REFUSAL_MARK = re.compile(r"[\[【]PRE-BLOCK[\]】]")

_USAGE = re.compile(
    rf"\s*(\S+):([^\s:]+):\s*\+{_NUMBER}\s*\(Today:\s*{_NUMBER}\s*\|\s*(?:Rem|BalAtSync):[^|]*\|\s*Limit:[^|)]*\)"
)
_CHECK = re.compile(rf"\s*(\S+)\s*\(Bal:\s*{_NUMBER}\s*[,)]")
_REFUSAL = re.compile(rf"\s*(\S+)\s+daily limit reached\s*\({_NUMBER}\+{_NUMBER}/{_NUMBER}\)")

Fields = tuple[str, ...]


def log_record(line: str, zone: tzinfo) -> Record | None:
    """The record of a log line, None for a line of another program. Raises Unfit for one of ours that is broken."""
    text = line if line.isascii() else unicodedata.normalize("NFKC", line)
    for mark, shape, make in _KINDS:
        found = mark.search(text)
        if found:
            return _read(text, found, shape, make, zone)
    return None


def is_marked(line: str) -> bool:
    """Whether a line bears one of our marks."""
    return any(mark.search(line) for mark, _, _ in _KINDS)


def _read(text: str, mark: re.Match[str], shape: re.Pattern[str], make: Make, zone: tzinfo) -> Record:
    fields = shape.match(text, mark.end())
    if fields is None:
        raise _broken(f"the line says {mark.group()} and goes on in a form that is not known")
    if "\ufffd" in fields.group(1) or len(fields.group(1)) > LONGEST_NAME:
        raise _broken("model: not a readable name")
    written = _written_time(text[: mark.start()])
    return make(written, _instant(written, zone), fields.groups())


def _written_time(head: str) -> str:
    """The last time before the mark: what stands before it was put there by whoever collected the log."""
    times = _TIME.findall(head)
    if not times:
        raise _broken("no date and time before the mark")
    return str(times[-1]).replace(",", ".").replace(" ", "T")


def _instant(written: str, zone: tzinfo) -> Millis:
    try:
        return instant("time", datetime.fromisoformat(written), zone)
    except ValueError:
        raise _broken("time: no such date or hour") from None
    except Unfit as unfit:
        raise _broken(unfit.rejected.detail) from None


def _usage(written: str, at: Millis, fields: Fields) -> Usage:
    model, key_hash, tokens, today = fields[0], fields[1], _number("tokens", fields[2]), _number("Today", fields[3])
    if today < tokens:
        raise _broken(f"Today: {today} is less than the {tokens} tokens it must contain")
    if len(key_hash) > LONGEST_NAME or "\ufffd" in key_hash:
        raise _broken("hash: not a readable name")
    name = _identity("usage", written, model, key_hash, tokens, today)
    return Usage(id=name, at=at, model=model, total_tokens=tokens, key_hash=key_hash, source="log", today=today)


def _check(written: str, at: Millis, fields: Fields) -> Reading:
    model, available = fields[0], _number("Bal", fields[1])
    return Reading(
        id=_identity("balance", written, model, available), at=at, model=model, available=available, source="log"
    )


def _refusal(written: str, at: Millis, fields: Fields) -> Refusal:
    model = fields[0]
    usage, reserve, limit = _number("usage", fields[1]), _number("reserve", fields[2]), _number("limit", fields[3])
    name = _identity("refusal", written, model, usage, reserve, limit)
    return Refusal(id=name, at=at, model=model, usage=usage, reserve=reserve, limit=limit)


Make = Callable[[str, Millis, Fields], Record]
_KINDS: tuple[tuple[re.Pattern[str], re.Pattern[str], Make], ...] = (
    (_USAGE_MARK, _USAGE, _usage),
    (_CHECK_MARK, _CHECK, _check),
    (_REFUSAL_MARK, _REFUSAL, _refusal),
)


def _number(field: str, written: str) -> int:
    digits = written.replace(",", "")
    if len(digits) > len(str(MOST_TOKENS)) or int(digits) > MOST_TOKENS:
        raise _broken(f"{field}: more than {MOST_TOKENS}")
    return int(digits)


def _identity(kind: str, *content: object) -> str:
    """The same content has the same id, wherever it was read and whichever zone was configured."""
    text = "\x1f".join([kind, *map(str, content)])
    return f"log-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _broken(detail: str) -> Unfit:
    return Unfit(Reason.BAD_LOG_LINE, detail)
