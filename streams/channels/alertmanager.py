"""Alertmanager (API v2): alerts as it keeps them, firing until they end; it groups, routes and repeats by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rules.alerts import Alert, Ended, Kind
from rules.moment import DAY, EARLIEST, LATEST, Millis, to_rfc3339
from rules.policy import Channel
from streams.channels.redaction import plain
from streams.channels.sender import Note, Sent
from streams.channels.timing import Timing
from streams.channels.webhook import verdict
from streams.channels.wire import Trouble, Wire

PATH = "/api/v2/alerts"
MOST = 100  # alerts in one request

# Alertmanager lets an alert end by itself unless told otherwise. Conditions are told again after a day by default, what
# merely happened is worth knowing for as long.
LASTS: Millis = 2 * DAY
LONGEST = 1_000  # characters of a label or annotation


class Alertmanager:
    """Posts to one Alertmanager. The channel's secret, if there is one, is a bearer token."""

    most = MOST
    reports = False  # a report is no alert: nothing fires and nothing ends

    def __init__(self, channel: Channel, wire: Wire, timing: Timing) -> None:
        self.name = channel.name
        self._url = channel.url.rstrip("/") + PATH
        self._headers = {"Content-Type": "application/json"}
        if channel.secret:
            self._headers["Authorization"] = f"Bearer {channel.secret}"
        self._wire = wire
        self._timing = timing

    def __repr__(self) -> str:
        return f"Alertmanager({self.name!r})"

    async def send(self, note: Note) -> Sent:
        """One attempt; the same alert again only sets its end anew."""
        now = self._timing.now()
        body = json.dumps(list(posted(note, now)), ensure_ascii=False).encode("utf-8", "replace")
        answer = await self._wire.post(self._url, body, self._headers, want_body=False)
        if isinstance(answer, Trouble):
            return Sent.refused(answer.what) if answer.lasting else Sent.retry(answer.what)
        return verdict(answer, now)


def posted(note: Note, now: Millis) -> Iterator[dict[str, Any]]:
    """What of a note Alertmanager is told: which alerts end, and which fire."""
    for told in note.told:
        for ended in told.alert.ends:
            yield {"labels": labels(told.alert, ended), "endsAt": _time(told.alert.at)}
        if told.alert.kind is not Kind.RECOVERED:
            yield _firing(told, now)


def labels(alert: Alert, ended: Ended | None = None) -> dict[str, str]:
    """What makes it the same alert when it is told again, and what its end is found by."""
    what = alert if ended is None else ended
    scope, _, name = alert.scope.partition(":")
    found = {
        "alertname": "Blastdoor" + "".join(word.capitalize() for word in what.kind.value.split("_")),
        "severity": what.severity.value,
        "scope": alert.scope,
        "threshold": "" if what.threshold is None else str(what.threshold),
        "rule": what.rule if what.kind is Kind.RULE else "",
        "model": name if scope == "model" else "",
    }
    return {label: plain(value, LONGEST) for label, value in found.items() if value}


def _firing(note: Note, now: Millis) -> dict[str, Any]:
    alert, words = note.alert, note.message
    lines = "\n".join(f"{line.label}{words.colon}{plain(line.text, LONGEST)}" for line in words.lines)
    found = {
        "labels": labels(alert),
        "annotations": {
            "summary": plain(words.title, LONGEST),
            "description": lines,
            **{name: section.text for name, section in zip(("money", "advice"), words.sections, strict=False)},
            "alert_id": alert.id,
        },
        "startsAt": _time(alert.at),
        "endsAt": _time(alert.until if alert.until is not None else now + LASTS),
    }
    return found | ({"generatorURL": words.link.text} if words.link is not None else {})


def _time(at: Millis) -> str:
    return to_rfc3339(min(max(at, EARLIEST), LATEST))
