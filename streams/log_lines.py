"""A log record as one line: for people, or as JSON for whoever collects logs.

Names of models and tenants are written by strangers: in neither form can one of them begin a line of its own.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from typing import Any

FORMATS = ("human", "json")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def told(**fields: Any) -> dict[str, Any]:
    """Fields of a record beside its sentence, for `extra`. JSON lines have them, people read the sentence."""
    return {"told": fields}


def line_maker(name: str) -> logging.Formatter:
    """The formatter of a format's name."""
    return JsonLines() if name == "json" else HumanLines("%(asctime)s %(levelname)s %(name)s: %(message)s")


class HumanLines(logging.Formatter):
    """Time, level, place and sentence. A traceback follows on lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (logging's name)
        record.message = _CONTROL.sub(lambda found: ascii(found.group())[1:-1], record.message)
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """An object a line: `time`, `level`, `logger`, `message`, what was told beside it, and `error` with a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": at, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        line |= getattr(record, "told", {})
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = "".join(traceback.format_exception(record.exc_info[1]))
        text = json.dumps(line, ensure_ascii=False, default=str)
        return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)  # JSON lets some line ends stand
