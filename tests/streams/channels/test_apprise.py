"""Through apprise: what it is handed, and what its yes and no mean."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from apprise.decorators import notify
from apprise.manager_plugins import NotificationManager

from rules.alerts import Ended, Kind, Severity
from rules.policy import Channel
from streams.channels.apprise import Apprise
from streams.channels.gathered import gathered
from streams.channels.sender import Result

URL = "bdtest://user:very-secret-token@host/path"


class Service:
    """A service of apprise's own making: keeps what it is told, and answers as it should."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.answer = True

    def __call__(self, body: str, title: str, notify_type: str, **_: Any) -> bool:
        self.heard.append({"body": body, "title": title, "type": str(notify_type)})
        if not self.answer:
            logging.getLogger("apprise").warning("failed to send to %s", URL)
        return self.answer


@pytest.fixture
def service() -> Iterator[Service]:
    """Known to apprise as bdtest://."""
    made = Service()
    notify(on="bdtest")(made.__call__)
    yield made
    NotificationManager().remove("bdtest")


@pytest.fixture
def sender(service: Service) -> Apprise:
    return Apprise(Channel(name="a", kind="apprise", url=URL))


async def test_an_alert_is_title_and_plain_text(sender: Apprise, service: Service, make_note) -> None:
    """The numbers, the meaning for money and the advice, in plain text."""
    assert (await sender.send(make_note("en"))).result is Result.DELIVERED
    (heard,) = service.heard
    assert (heard["title"], heard["type"]) == ("Model deepseek-v4-flash has used 80% of its limit", "warning")
    assert "limit: 2,232,178 tokens (80.1%)\n" in heard["body"]
    assert "\n\nWhat to do: " in heard["body"]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"severity": Severity.CRITICAL}, "failure"),
        ({"severity": Severity.INFO}, "info"),
        (
            {"kind": Kind.RECOVERED, "ends": (Ended(id="e", kind=Kind.RULE, severity=Severity.CRITICAL),)},
            "success",
        ),
    ],
)
async def test_severity_is_told_in_its_terms(
    fields: dict[str, Any], kind: str, sender: Apprise, service: Service, make_note
) -> None:
    """Services colour or sort by it."""
    await sender.send(make_note("en", **fields))
    assert service.heard[0]["type"] == kind


async def test_several_alerts_are_one_message(sender: Apprise, service: Service, make_note) -> None:
    """People read these: what comes together is told together."""
    await sender.send(gathered([make_note("en", scope=f"model:{number}") for number in range(25)]))
    (heard,) = service.heard
    assert heard["title"].startswith("25 alerts: ")
    assert heard["body"].count("1,790,000 / 2,232,178 tokens") == 25


async def test_a_no_is_tried_again_and_says_nothing_secret(
    sender: Apprise, service: Service, make_note, caplog: pytest.LogCaptureFixture
) -> None:
    """It gives no reason. What its services log of a failure can hold the URL: none of it comes through."""
    service.answer = False
    with caplog.at_level(logging.DEBUG):
        sent = await sender.send(make_note("en"))
    assert (sent.result, sent.doubtful) == (Result.RETRY, True)
    assert "very-secret-token" not in caplog.text + repr(sent) + repr(sender)
