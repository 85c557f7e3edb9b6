"""Alertmanager: what it is told, and what a real one makes of it."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from rules.alerts import Alert, Ended, Kind, Severity
from rules.moment import HOUR, MINUTE, SECOND
from rules.policy import Channel
from streams.channels.alertmanager import LASTS, PATH, Alertmanager, labels, posted
from streams.channels.gathered import gathered
from streams.channels.messages import message
from streams.channels.sender import Note, Result
from streams.channels.timing import Timing
from streams.channels.wire import Wire
from streams.embedded.server import HOST, Server, serve
from streams.wall_clock import wall_clock

AT = 1_786_591_320_000
CRITICAL = Severity.CRITICAL
CONFIG = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


def ending(alert: Alert) -> tuple[Ended, ...]:
    return (Ended(id=alert.id, kind=alert.kind, severity=alert.severity, threshold=alert.threshold, rule=alert.rule),)


def test_an_alert_fires_until_its_window_ends(make_note) -> None:
    """Name, severity, scope and threshold as labels; words as annotations; it ends with its day at the latest."""
    (told,) = posted(make_note("en", until=AT + HOUR, rule=""), AT)
    assert told["labels"] == {
        "alertname": "BlastdoorThreshold",
        "severity": "warning",
        "scope": "model:deepseek-v4-flash",
        "threshold": "0.8",
        "model": "deepseek-v4-flash",
    }
    assert (told["startsAt"], told["endsAt"]) == ("2026-08-13T03:22:00.000+00:00", "2026-08-13T04:22:00.000+00:00")
    assert told["annotations"]["summary"] == "Model deepseek-v4-flash has used 80% of its limit"
    assert "used: 1,790,000 tokens" in told["annotations"]["description"]
    assert told["annotations"]["advice"]


def test_what_has_no_end_fires_for_two_days(make_note) -> None:
    """Longer than the default repeat, so that a condition that lasts never seems to be over."""
    (told,) = posted(make_note("en", kind=Kind.UNEXPLAINED, threshold=None), AT)
    assert told["endsAt"] == "2026-08-15T03:22:00.000+00:00"
    assert LASTS > 24 * HOUR


def test_a_recovery_ends_what_fired(make_note) -> None:
    """The labels are those of the alert that it ends, and nothing new fires."""
    fired = make_note("en", threshold=1.0, severity=CRITICAL)
    over = make_note("en", kind=Kind.RECOVERED, severity=CRITICAL, at=AT + MINUTE, ends=ending(fired.alert))
    (told,) = posted(over, AT + MINUTE)
    assert told == {"labels": labels(fired.alert), "endsAt": "2026-08-13T03:23:00.000+00:00"}


def test_a_rule_that_takes_over_ends_one_and_fires_another(make_note) -> None:
    """Both are told with one alert."""
    before = make_note("en", kind=Kind.RULE, rule="stale", threshold=None)
    after = make_note("en", kind=Kind.RULE, rule="mine", threshold=None, ends=ending(before.alert))
    first, second = posted(after, AT)
    assert (first["labels"]["rule"], "startsAt" in first) == ("stale", False)
    assert (second["labels"]["rule"], "startsAt" in second) == ("mine", True)


def test_several_keep_their_own_words(make_note) -> None:
    """A group is a request, not one alert."""
    told = list(posted(gathered([make_note("en", scope=f"model:{name}") for name in "abc"]), AT))
    assert [each["labels"]["model"] for each in told] == ["a", "b", "c"]
    assert told[2]["annotations"]["summary"] == "Model c has used 80% of its limit"


@pytest.mark.parametrize(
    ("status", "result"),
    [(200, Result.DELIVERED), (400, Result.REFUSED), (401, Result.REFUSED), (404, Result.RETRY), (500, Result.RETRY)],
)
async def test_the_status_is_the_answer(status: int, result: Result, make_note, wire: Wire) -> None:
    """400 will not do a second time, 500 may; the token goes into a header and nowhere else."""
    seen: list[tuple[str, str | None, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.path, request.headers.get("Authorization"), await request.json()))
        return web.Response(status=status)

    application = web.Application()
    application.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        url = f"http://{HOST}:{runner.addresses[0][1]}/am/"
        sender = Alertmanager(Channel(name="am", kind="alertmanager", url=url, secret="token"), wire, Timing())
        sent = await sender.send(make_note("en"))
    finally:
        await runner.cleanup()
    assert (sent.result, repr(sender)) == (result, "Alertmanager('am')")
    ((path, authorization, body),) = seen
    assert (path, authorization, len(body)) == ("/am" + PATH, "Bearer token", 1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real Alertmanager that tells nobody."""
    home: Path = tmp_path_factory.mktemp("alertmanager")
    (home / "config.yml").write_text(CONFIG)
    binary = str(shutil.which("prometheus-alertmanager"))

    def argv(port: int) -> list[str]:
        return [
            binary,
            f"--config.file={home / 'config.yml'}",
            f"--storage.path={home / 'data'}",
            f"--web.listen-address={HOST}:{port}",
            "--cluster.listen-address=",
        ]

    def ready(connection: Any) -> bool:
        connection.sendall(b"GET /-/ready HTTP/1.0\r\n\r\n")
        return b" 200 " in connection.recv(64)

    running = serve("Alertmanager", argv, ready, log=home / "log", within=20)
    yield running
    running.child.stop()


def note(now: int, **fields: Any) -> Note:
    known: dict[str, Any] = {"kind": Kind.THRESHOLD, "severity": CRITICAL, "window": "2026-08-13", "threshold": 1.0}
    alert = Alert(**(known | {"id": "a", "scope": "model:é\"'长", "at": now, "until": now + HOUR} | fields))
    from zoneinfo import ZoneInfo

    return Note(alert, message(alert, "zh", ZoneInfo("Asia/Shanghai"), "https://grafana.example/d/bd"))


def firing(address: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://{address}{PATH}?active=true") as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


@pytest.mark.alertmanager
async def test_a_real_alertmanager_keeps_it_until_it_ends(server: Server, wire: Wire) -> None:
    """It takes names of any language, keeps a repeat as the same alert, and lets it go with the recovery."""
    sender = Alertmanager(Channel(name="am", kind="alertmanager", url=f"http://{server.address}"), wire, Timing())
    now = wall_clock() - MINUTE
    first = note(now)
    assert (await sender.send(gathered([first, note(now, threshold=0.8, severity=Severity.WARNING)]))).result is (
        Result.DELIVERED
    )
    assert (await sender.send(note(now, again=1, at=now + SECOND))).result is Result.DELIVERED
    found = {alert["labels"]["threshold"]: alert for alert in firing(server.address)}
    assert set(found) == {"0.8", "1.0"}
    assert found["1.0"]["labels"]["model"] == "é\"'长"
    assert found["1.0"]["annotations"]["summary"] == "仍在持续：模型 é\"'长 已用到限额的 100%"
    assert found["1.0"]["generatorURL"] == "https://grafana.example/d/bd"
    over = note(now, id="b", kind=Kind.RECOVERED, threshold=None, at=now + 2 * SECOND, ends=ending(first.alert))
    assert (await sender.send(over)).result is Result.DELIVERED
    assert [alert["labels"]["threshold"] for alert in firing(server.address)] == ["0.8"]


@pytest.mark.alertmanager
async def test_a_real_alertmanager_refuses_what_is_none(server: Server) -> None:
    """What the fake above answers is what the real one does: 400 for a body it cannot use."""
    url = f"http://{server.address}{PATH}"
    async with aiohttp.ClientSession() as session, session.post(url, json=[{"labels": {}}]) as answer:
        assert answer.status == 400
