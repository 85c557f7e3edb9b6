"""Overview: what is refused, what it costs, and whether the engine lives."""

from __future__ import annotations

from dashboards.make.board import board
from dashboards.make.panels import (
    ACTION_COLOURS,
    ANY_IS_BAD,
    ANY_IS_ODD,
    SHARE,
    ZERO_IS_BAD,
    coloured,
    graph,
    stat,
    steps,
    table,
)
from dashboards.make.queries import line, now, rows


def _scopes(kind: str, action: str) -> str:
    return f'sum(blastdoor_scopes{{kind="{kind}", action="{action}"}})'


NUMBERS = [
    (3, stat("Models blocked", "Models of which calls are refused because their limit is reached.",
             now(_scopes("model", "block")), limits=ANY_IS_BAD)),
    (3, stat("Models warned", "Models near their limit.", now(_scopes("model", "warn")), limits=ANY_IS_ODD)),
    (3, stat("Models killed", "Models an operator or a rule has shut until it is lifted.",
             now(_scopes("model", "kill")), limits=ANY_IS_BAD)),
    (3, stat("Models unknown", "Models without a limit that can be trusted: no reading, or metering is too young.",
             now(_scopes("model", "unknown")), limits=ANY_IS_ODD)),
    (3, stat("Tenants over", "Tenants whose calls are refused or answered by a cheaper model.",
             now('sum(blastdoor_scopes{kind="tenant", action=~"block|kill|degrade"})'), limits=ANY_IS_ODD)),
    (3, stat("Workers ready", "Workers that have recovered all their partitions.",
             now("sum(blastdoor_ready)"), limits=ZERO_IS_BAD, empty="no worker is seen")),
    (3, stat("Redis answers", "Workers that reach Redis. Without it gates go on with the last decisions they know.",
             now("sum(blastdoor_redis_up)"), limits=ZERO_IS_BAD, empty="no worker is seen")),
    (3, stat("Alerts lost", "Alerts that did not arrive and are not tried any more.",
             now("sum(blastdoor_alerts_undelivered)"), limits=ANY_IS_BAD)),
]  # fmt: skip

MODELS = table(
    "Models now",
    "Of each model: what gates are told, by which rule, and how much of today's limit is used. `blastdoor explain` "
    "tells the rest.",
    rows("max by (model, action) (blastdoor_action_in_force == 1)"),
    rows("max by (model, rule) (blastdoor_rule_in_force)"),
    rows("max by (model) (blastdoor_used_tokens)"),
    rows("max by (model) (blastdoor_limit_tokens)"),
    rows('max by (model) (blastdoor_charged_tokens{bound="high"})'),
    columns={
        "model": "model",
        "action": "action",
        "rule": "rule",
        "Value #C": "used",
        "Value #D": "limit",
        "Value #E": "charged, at most",
    },
    empty="no model has been used yet",
)

SPENT = "max(blastdoor_spend_money)"
NO_PRICES = "the policy has no prices"
MONEY = [
    (6, stat("Money today", "What today cost, on the policy's basis and in its currency.", now(SPENT),
             empty=NO_PRICES)),
    (6, stat("Share of the day's money", "Of what a day may cost. At 1 everything closes.",
             now(f"{SPENT} / (max(blastdoor_spend_limit_money) > 0)"), unit="percentunit", limits=SHARE,
             empty="no limit is set")),
    (6, stat("Of it by assumption", "What models without a price of their own cost today.",
             now("max(blastdoor_spend_assumed_money)"), limits=steps((None, "green"), (0.000001, "yellow")),
             empty=NO_PRICES)),
    (6, stat("Everything closed", "Yes while the kill switch is closed: no call is let through.",
             now("max(blastdoor_closed)"), unit="bool_yes_no", limits=ANY_IS_BAD, empty="no limit is set")),
]  # fmt: skip

ROWS = [
    (4, NUMBERS),
    (4, MONEY),
    (9, [
        (14, MODELS),
        (10, graph("Share of the limit used", "Used tokens over today's limit. At 1 calls are refused.",
                   line("max by (model) (blastdoor_used_tokens) / max by (model) (blastdoor_limit_tokens)",
                        "{{model}}"),
                   unit="percentunit", limits=SHARE, empty="no limit is known")),
    ]),
    (8, [
        (8, graph("Tokens charged today", "Tokens that were probably not free, as bounds. The low one is certain.",
                  line('sum(blastdoor_charged_tokens{bound="low"})', "at least"),
                  line('sum(blastdoor_charged_tokens{bound="high"})', "at most"),
                  limits=steps((None, "green"), (1, "red")), empty="no pool is known")),
        (8, coloured(graph("Decisions that changed", "Entries of the history, by what gates are told then.",
                           line("sum by (action) (rate(blastdoor_decisions_total[$__rate_interval]))", "{{action}}"),
                           unit="ops", stacked=True), ACTION_COLOURS)),
        (8, graph("Calls refused by gateways", "Refusals that gateways' logs report, by model.",
                  line("sum by (model) (rate(blastdoor_gateway_refusals_total[$__rate_interval]))", "{{model}}"),
                  unit="reqps", empty="no gateway reported a refusal")),
    ]),
    (8, [
        (8, graph("Event to decision", "From a usage record in Kafka to the decision with it in Redis.",
                  line("histogram_quantile(0.5, sum by (le) (rate(blastdoor_event_to_decision_seconds_bucket"
                       "[$__rate_interval])))", "half"),
                  line("histogram_quantile(0.99, sum by (le) (rate(blastdoor_event_to_decision_seconds_bucket"
                       "[$__rate_interval])))", "99 %"),
                  unit="s", limits=steps((None, "green"), (5, "red")), empty="nothing was decided in this time")),
        (8, graph("Events", "Usage events by what became of them.",
                  line("sum by (outcome) (rate(blastdoor_events_total[$__rate_interval]))", "{{outcome}}"),
                  unit="ops")),
        (8, graph("Records behind", "Records in Kafka that are not handled and stored yet, by step.",
                  line("sum by (step) (blastdoor_lag_records)", "{{step}}"),
                  limits=steps((None, "green"), (500_000, "red")))),
    ]),
]  # fmt: skip

BOARD = board(
    "overview",
    "overview",
    "What is refused, what it costs, and whether the engine lives.",
    ROWS,
    seen="blastdoor_ready",
)
