"""A ruling as gauges. What is unknown is absent, never zero."""

from __future__ import annotations

from contextlib import suppress

from blastdoor_gateway.contract import Action
from prometheus_client import Gauge

from rules.account import Account
from rules.facts import GLOBAL
from rules.formulas import FORMULAS
from rules.ledger import Amount
from rules.limit import effective_limit
from rules.outcome import Outcome
from rules.policy import Policy
from rules.prices import NANO
from rules.ruling import Ruling
from streams.metrics import Metrics

ENTRIES = ("opening", "returns", "charged", "expired", "unexplained", "closing")


def count(metrics: Metrics, ruling: Ruling, *, history: bool) -> None:
    """Count the ruling as a decision that changed, if it is one, and the rules that failed."""
    for failure in ruling.failed:
        metrics.rule_failures.labels(rule=failure.partition(":")[0]).inc()
    if history:
        metrics.decisions.labels(action=ruling.action, rule=ruling.rule).inc()


def show(metrics: Metrics, ruling: Ruling) -> None:
    """Set the gauges of the ruling's scope."""
    kind, _, name = ruling.scope.partition(":")
    metrics.in_force.put(ruling.scope, ruling.action)
    if kind == "model" and metrics.shows(name):
        _show_model(metrics, name, ruling)
    elif kind == "tenant":
        metrics.top_tenants.put(name, ruling.windows)
    elif kind == GLOBAL:
        _show_spend(metrics, ruling)


def _show_model(metrics: Metrics, model: str, ruling: Ruling) -> None:
    bounds = ruling.bounds
    metrics.used.labels(model=model).set(ruling.used)
    _set(metrics.limit, ruling.limit, model)
    _set_ends(metrics.pool, model, ruling.pool_low, ruling.pool_high)
    _set_ends(metrics.lag_tokens, model, bounds.lag_tokens_low, bounds.lag_tokens_high)
    _set_ends(metrics.charged, model, bounds.charged_low, bounds.charged_high)
    metrics.lag_bound.labels(model=model).set(bounds.lag_bound / 1000)
    _set(metrics.reading, None if bounds.reading_at is None else bounds.reading_at / 1000, model)
    for action in Action:
        metrics.action.labels(model=model, action=action.value).set(action.value == ruling.action)
    _set(metrics.lag_seconds, bounds.lag_seconds, model)
    metrics.complete.labels(model=model).set(bounds.complete)
    metrics.rules_in_force.put(model, ruling.rule)
    if ruling.money:
        _set_ends(metrics.charged_money, model, ruling.money["charged_low"] / NANO, ruling.money["charged_high"] / NANO)
        _set(metrics.list_money, ruling.money["list"] / NANO, model)


def _show_spend(metrics: Metrics, ruling: Ruling) -> None:
    metrics.spend.labels(scope=GLOBAL).set(ruling.used / NANO)
    metrics.spend_assumed.labels(scope=GLOBAL).set(ruling.money.get("assumed", 0) / NANO)
    _set(metrics.spend_limit, None if ruling.limit is None else ruling.limit / NANO, GLOBAL)
    metrics.closed.labels(scope=GLOBAL).set(ruling.action == Action.KILL.value)


def hide(metrics: Metrics, scope: str) -> None:
    """Take the gauges of a scope away: another worker rules on it now, and two answers would be one too many."""
    kind, _, name = scope.partition(":")
    metrics.in_force.drop(scope)
    if kind == "model":
        _hide_model(metrics, name)
    elif kind == "tenant":
        metrics.top_tenants.drop(name)
    elif kind == GLOBAL:
        for gauge in (metrics.spend, metrics.spend_assumed, metrics.spend_limit, metrics.closed):
            _set(gauge, None, GLOBAL)


def _hide_model(metrics: Metrics, model: str) -> None:
    for gauge in (
        metrics.used, metrics.limit, metrics.lag_bound, metrics.reading, metrics.lag_seconds, metrics.complete,
        metrics.list_money,
    ):  # fmt: skip
        _set(gauge, None, model)
    for gauge in (metrics.pool, metrics.lag_tokens, metrics.charged, metrics.charged_money):
        _set_ends(gauge, model, None, None)
    for action in Action:
        _set(metrics.action, None, model, action.value)
    for formula in FORMULAS:
        _set(metrics.formula_limit, None, model, formula)
    metrics.rules_in_force.drop(model)
    _hide_account(metrics, model)
    metrics.leave(model)


def show_account(metrics: Metrics, scope: str, account: Account) -> None:
    """Set the gauges of the day's ledger and of what is to come."""
    model, ahead = scope.removeprefix("model:"), account.outlook
    if not metrics.shows(model):
        return
    for entry in ENTRIES:
        amount: Amount | None = None if account.ledger is None else getattr(account.ledger, entry)
        low, high = amount or (None, None)
        _set(metrics.ledger, low, model, entry, "low")
        _set(metrics.ledger, high, model, entry, "high")
    _set(metrics.expected_return, ahead.expected_return, model)
    metrics.returned.labels(model=model).set(ahead.returned)
    metrics.return_overdue.labels(model=model).set(ahead.overdue)
    _set(metrics.runs_out, None if ahead.runs_out_at is None else ahead.runs_out_at / 1000, model)
    metrics.will_expire.labels(model=model).set(sum(known.tokens for known in ahead.will_expire))
    metrics.needed_per_day.labels(model=model).set(ahead.needed_per_day)


def show_formulas(metrics: Metrics, outcome: Outcome, policy: Policy) -> None:
    """Set what each formula would allow, from what the ruling was made of."""
    kind, _, model = outcome.ruling.scope.partition(":")
    if outcome.sight is None or kind != "model" or not metrics.shows(model):
        return
    for formula in FORMULAS:
        limit = effective_limit(policy.terms(model), outcome.sight.bounds, outcome.sight.metered, formula)
        _set(metrics.formula_limit, limit.tokens, model, formula)


def _hide_account(metrics: Metrics, model: str) -> None:
    for entry in ENTRIES:
        for end in ("low", "high"):
            _set(metrics.ledger, None, model, entry, end)
    for gauge in (
        metrics.expected_return,
        metrics.returned,
        metrics.return_overdue,
        metrics.runs_out,
        metrics.will_expire,
        metrics.needed_per_day,
    ):
        _set(gauge, None, model)


def _set_ends(gauge: Gauge, model: str, low: float | None, high: float | None) -> None:
    _set(gauge, low, model, "low")
    _set(gauge, high, model, "high")


def _set(gauge: Gauge, value: float | None, *labels: str) -> None:
    if value is not None:
        gauge.labels(*labels).set(value)
        return
    with suppress(KeyError):
        gauge.remove(*labels)
