"""Engine: every step from Kafka to Redis and to the people who are told."""

from __future__ import annotations

from dashboards.make.board import board
from dashboards.make.panels import ANY_IS_BAD, ANY_IS_ODD, ZERO_IS_BAD, graph, stat, steps, table
from dashboards.make.queries import line, now, rows


def _rate(metric: str, by: str) -> str:
    return f"sum by ({by}) (rate(blastdoor_{metric}_total[$__rate_interval]))"


def _quantile(share: str, metric: str, by: str = "le") -> str:
    return f"histogram_quantile({share}, sum by ({by}) (rate(blastdoor_{metric}_seconds_bucket[$__rate_interval])))"


NUMBERS = [
    (4, stat("Workers ready", "Workers that have recovered all their partitions.", now("sum(blastdoor_ready)"),
             limits=ZERO_IS_BAD, empty="no worker is seen")),
    (4, stat("Records behind", "Records in Kafka that are not handled and stored yet.",
             now("sum(blastdoor_lag_records)"), limits=steps((None, "green"), (100_000, "yellow"), (500_000, "red")))),
    (4, stat("Not in Redis yet", "Scopes whose newest decision is not yet in Redis.",
             now("sum(blastdoor_redis_waiting_scopes)"), limits=ANY_IS_ODD)),
    (4, stat("Dead letters", "Records put aside in the time shown because they could not be used.",
             now("sum(increase(blastdoor_dead_letters_total[$__range]))"), limits=ANY_IS_ODD)),
    (4, stat("Rules that failed", "Evaluations of a rule that failed in the time shown; restricting ones then hold.",
             now("sum(increase(blastdoor_rule_failures_total[$__range]))"), limits=ANY_IS_BAD)),
    (4, stat("Written by others", "Keys of ours that somebody else wrote in the time shown.",
             now("sum(increase(blastdoor_foreign_writes_total[$__range]))"), limits=ANY_IS_BAD)),
]  # fmt: skip

ROWS = [
    (4, NUMBERS),
    (9, [
        (12, graph("Event to decision", "From a usage record in Kafka to the decision with it in Redis; the oldest "
                   "record of each.",
                   line(_quantile("0.5", "event_to_decision"), "half"),
                   line(_quantile("0.99", "event_to_decision"), "99 %"), unit="s",
                   limits=steps((None, "green"), (5, "red")), empty="nothing was decided in this time")),
        (12, graph("Time by step", "Seconds of each second spent in handling records. At 1 a worker is full.",
                   line("sum by (step) (rate(blastdoor_handling_seconds_total[$__rate_interval]))", "{{step}}"),
                   unit="percentunit", stacked=True)),
    ]),
    (8, [
        (8, graph("Records handled", "Records that each step took from Kafka.",
                  line(_rate("records", "step"), "{{step}}"), unit="ops")),
        (8, graph("Time of a flush", "Until the broker has acknowledged outputs and rows; 99 % by step.",
                  line(_quantile("0.99", "flush", "le, step"), "{{step}}"), unit="s",
                  empty="nothing was flushed in this time")),
        (8, graph("Time to Redis", "From a decision to its key.",
                  line(_quantile("0.5", "publish"), "half"), line(_quantile("0.99", "publish"), "99 %"), unit="s",
                  empty="nothing was written in this time")),
    ]),
    (8, [
        (8, graph("Records behind, by step", "Records in Kafka that are not handled and stored yet.",
                  line("sum by (step) (blastdoor_lag_records)", "{{step}}"),
                  limits=steps((None, "green"), (500_000, "red")))),
        (8, graph("Usage events", "By what became of them. A duplicate counts once; differing: it says something else. "
                  "All of them together are at least what came over HTTP.",
                  line(_rate("events", "outcome"), "{{outcome}}"),
                  line("sum(rate(blastdoor_http_usage_total[$__rate_interval]))", "came over HTTP"),
                  line("sum(rate(blastdoor_differing_duplicates_total[$__rate_interval]))", "differing"),
                  unit="ops")),
        (8, graph("Dead letters by reason", "Records put aside because they could not be used.",
                  line(_rate("dead_letters", "reason"), "{{reason}}"), unit="ops")),
    ]),
    (8, [
        (8, graph("Writes to Redis", "By kind of key and outcome.",
                  line(_rate("redis_writes", "keys, outcome"), "{{keys}}, {{outcome}}"), unit="ops")),
        (8, graph("Trouble with Redis", "Times it could not be used, and scopes written again, by cause.",
                  line(_rate("redis_troubles", "kind"), "trouble: {{kind}}"),
                  line(_rate("redis_rewrites", "cause"), "again: {{cause}}"), unit="ops")),
        (8, graph("Shared out anew", "Rebalances of the group, and partitions of which records were lost unread.",
                  line("sum(increase(blastdoor_rebalances_total[$__rate_interval]))", "rebalances"),
                  line("sum(increase(blastdoor_lost_stretches_total[$__rate_interval]))", "lost stretches"))),
    ]),
    (8, [
        (8, graph("Alerts raised", "Alerts by what they are about.",
                  line(_rate("alerts_raised", "kind"), "{{kind}}"), unit="ops")),
        (8, graph("Alerts delivered", "Deliveries by channel and outcome; `none` is the channel where none is set.",
                  line(_rate("alerts", "channel, outcome"), "{{channel}}, {{outcome}}"), unit="ops")),
        (8, graph("Alerts waiting or lost", "On their way to a channel, and those not tried any more.",
                  line("sum by (channel) (blastdoor_alerts_waiting)", "waiting: {{channel}}"),
                  line("sum by (channel) (blastdoor_alerts_undelivered)", "lost: {{channel}}"))),
    ]),
    (8, [
        (8, graph("Partitions", "Partitions in the workers' hands. Fewer than the topic has: some are nobody's.",
                  line("sum by (step) (blastdoor_partitions)", "{{step}}"))),
        (8, graph("Changed policies", "Policy files taken over or refused while the worker ran.",
                  line("sum by (outcome) (increase(blastdoor_policy_reloads_total[$__rate_interval]))",
                       "{{outcome}}"))),
        (8, graph("Policy file not in force", "1 while the file as it is now was refused: the one before holds.",
                  line("max by (instance) (blastdoor_policy_reload_failed)", "{{instance}}"),
                  limits=steps((None, "green"), (1, "red")))),
    ]),
    (8, [
        (8, table("Versions and policies", "What each worker runs. Two policies at once: a rollout stands still.",
                  rows("max by (instance, version) (blastdoor_info)"),
                  rows("max by (instance, hash) (blastdoor_policy_info)"),
                  columns={"instance": "worker", "version": "version", "hash": "policy"},
                  empty="no worker is seen")),
        (8, graph("Positions", "Next offset to handle, by step: a line that stays level while records wait is stuck.",
                  line("sum by (step) (blastdoor_position)", "{{step}}"))),
        (8, graph("Rules that failed or were tried", "A rule that cannot be evaluated holds if it restricts calls, "
                  "unless on_error says otherwise; one with dry_run binds nobody.",
                  line(_rate("rule_failures", "rule"), "{{rule}}"),
                  line(_rate("rule_would_fire", "rule"), "{{rule}} would fire"), unit="ops", empty="none failed")),
    ]),
]  # fmt: skip

BOARD = board(
    "engine",
    "engine",
    "Every step from Kafka to Redis and to the people who are told.",
    ROWS,
    seen="blastdoor_ready",
)
