"""Routes: who is told what."""

from __future__ import annotations

from typing import Any

import pytest

from rules.alerts import Alert, Ended, Kind, Severity
from rules.policy import Alerting, Digest, Route
from rules.routing import receivers

ROUTES = (
    Route(scope=("model:trial-*",), send=()),
    Route(severity=("critical",), scope=("model:*", "global"), send=("on-call", "team")),
    Route(kind=("dead_letters", "redis_unreachable"), send=("platform",)),
    Route(scope=("tenant:acme", "user:acme/*"), send=("acme",)),
)
ALERTING = Alerting(send=("team",), routes=ROUTES)


def alert(scope: str, kind: Kind = Kind.THRESHOLD, severity: Severity = Severity.WARNING, **fields: Any) -> Alert:
    return Alert(id="a", kind=kind, severity=severity, scope=scope, at=0, window="2026-08-13", **fields)


@pytest.mark.parametrize(
    ("raised", "channels"),
    [
        pytest.param(alert("model:a"), ("team",), id="no route fits"),
        pytest.param(alert("model:a", severity=Severity.CRITICAL), ("on-call", "team"), id="severity and scope"),
        pytest.param(alert("tenant:b", severity=Severity.CRITICAL), ("team",), id="only one of two conditions holds"),
        pytest.param(alert("model:trial-x", severity=Severity.CRITICAL), (), id="the first route that fits decides"),
        pytest.param(alert("model:not-trial-x"), ("team",), id="a pattern fits from the beginning"),
        pytest.param(alert("engine", Kind.DEAD_LETTERS), ("platform",), id="a kind"),
        pytest.param(alert("tenant:acme"), ("acme",), id="a scope as it is"),
        pytest.param(alert("tenant:acme2"), ("team",), id="and to its end"),
        pytest.param(alert("user:acme/x"), ("acme",), id="one of several patterns"),
        pytest.param(alert("user:acmex"), ("team",), id="special characters mean themselves"),
    ],
)
def test_the_first_route_that_fits_decides(raised: Alert, channels: tuple[str, ...]) -> None:
    """Conditions of a route hold together, the values of one condition each for itself."""
    assert receivers(raised, ALERTING) == channels


def test_without_routes_everybody_hears_everything() -> None:
    """The default: all alerts to `send`."""
    assert receivers(alert("engine", Kind.REDIS_GROWING), Alerting(send=("a", "b"))) == ("a", "b")


def test_an_end_takes_the_way_of_its_beginning() -> None:
    """Who heard that Redis is away hears that it is back."""
    ends = (Ended(id="x", kind=Kind.REDIS_UNREACHABLE, severity=Severity.CRITICAL),)
    assert receivers(alert("engine", Kind.RECOVERED, ends=ends), ALERTING) == ("platform",)


def test_the_digest_goes_where_it_is_sent() -> None:
    """With receivers of its own no route is asked; without, it is an alert like any other."""
    raised = alert("global", Kind.DIGEST, Severity.INFO)
    assert receivers(raised, Alerting(send=("team",), digest=Digest(at="09:05", send=("boss",)))) == ("boss",)
    assert receivers(raised, Alerting(send=("team",), digest=Digest(at="09:05"))) == ("team",)
