"""All metric names of a worker in one place, with meaning and unit. A misspelt name is an AttributeError, and
docs/metrics.md is made from this file (`make dashboards`).

Labels are bounded: reasons and outcomes are closed lists; of models, whose names any caller of a gateway can make up,
only so many are shown (`shows`); of tenants and of what is theirs only those that use most (streams/bounded_gauges.py,
streams/usage_gauges.py). No IP, and no user unless asked for.
"""

from __future__ import annotations

from blastdoor_gateway.contract import Action
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from rules.alerts import Kind
from rules.records import Reason
from rules.rulebook import SCOPES, Rulebook
from streams.bounded_gauges import OneOf, Tally, TopTenants

LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30)
WAY_BUCKETS = (*LATENCY_BUCKETS, 60, 300)
STEPS = ("meter", "route-balances", "route-controls", "judge", "rollups", "notify")

STATUSES = (200, 202, 204, 400, 401, 403, 404, 408, 409, 413, 429, 503)
"""What a request may be answered with."""

MODELS_SHOWN = 500
OTHER = "(other)"
"""Stands for the names of all further models."""


class Metrics:
    """The metrics of one process. Label values known beforehand exist from the start, so a rate over a never-seen
    failure is 0."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._shown: dict[str, None] = {}
        self._refusing: dict[str, None] = {}
        self._engine()
        self._models()
        self._scopes()
        self._usage()
        self._outlets()
        self._intake()
        self.in_force = Tally(self.scopes_in_force)
        self.rules_in_force = OneOf(self.rule)
        self.top_tenants = TopTenants(self.tenant_used, self.tenant_limit)
        self._begin()

    def expect_rules(self, rulebook: Rulebook) -> None:
        """Let the rules of the policy exist from the start."""
        for rules in rulebook.rules.values():
            for rule in rules:
                self.rule_failures.labels(rule=rule.spec.name)

    def _begin(self) -> None:
        for reason in Reason:
            self.dead_letters.labels(reason=reason.value)
        for outcome in ("counted", "duplicate", "rejected", "unusable"):
            self.events.labels(outcome=outcome)
        for step in STEPS:
            for of_step in (self.records, self.handling_seconds, self.flush_seconds, self.lost):
                of_step.labels(step=step)
        for kind in Kind:
            self.alerts_raised.labels(kind=kind.value)
        for scope in SCOPES:
            for action in Action:
                self.scopes_in_force.labels(kind=scope, action=action.value).set(0)

    def shows(self, model: str) -> bool:
        """Whether gauges of this model are shown: the first ones have a place, until they leave it."""
        return _has_place(self._shown, model)

    def leave(self, model: str) -> None:
        """Its gauges are gone."""
        self._shown.pop(model, None)

    def refused(self, model: str) -> None:
        """Count a call that a gateway refused."""
        self.refusals.labels(model=model if _has_place(self._refusing, model) else OTHER).inc()

    def _engine(self) -> None:
        to = self.registry
        self.events = Counter(
            "blastdoor_events", "Usage events taken from Kafka, by what became of them.", ["outcome"], registry=to
        )
        self.differing_duplicates = Counter(
            "blastdoor_differing_duplicates",
            "Events with the id of an earlier one, but other tokens or another model; the earlier one counts.",
            registry=to,
        )
        self.dead_letters = Counter(
            "blastdoor_dead_letters", "Records put onto the dead-letter topic.", ["reason"], registry=to
        )
        self.refusals = Counter(
            "blastdoor_gateway_refusals",
            "Calls that gateways reported as refused ([PRE-BLOCK]).",
            ["model"],
            registry=to,
        )
        self.position = Gauge("blastdoor_position", "Next offset to handle.", ["step", "partition"], registry=to)
        self.lag = Gauge(
            "blastdoor_lag_records",
            "Records in the topic beyond what is safely stored; busy partitions are stored every five seconds.",
            ["step", "partition"],
            registry=to,
        )
        self.flush_seconds = Histogram(
            "blastdoor_flush_seconds",
            "From the start of a flush to its last acknowledgement.",
            ["step"],
            buckets=LATENCY_BUCKETS,
            registry=to,
        )
        self.records = Counter("blastdoor_records", "Records handled.", ["step"], registry=to)
        self.handling_seconds = Counter(
            "blastdoor_handling_seconds", "Time spent in handling them.", ["step"], registry=to
        )
        self.partitions = Gauge("blastdoor_partitions", "Partitions in this worker's hands.", ["step"], registry=to)
        self.rebalances = Counter("blastdoor_rebalances", "Rebalances of the workers' group seen.", registry=to)
        self.ready = Gauge("blastdoor_ready", "1 once all assigned partitions are recovered.", registry=to)
        self.event_seconds = Histogram(
            "blastdoor_event_to_decision_seconds",
            "From a usage record's timestamp in Kafka to the decision with it in Redis; the oldest record of each.",
            buckets=WAY_BUCKETS,
            registry=to,
        )
        self.lost = Counter(
            "blastdoor_lost_stretches", "Partitions taken over of which records were deleted unread.", ["step"],
            registry=to,
        )  # fmt: skip
        self.info = Gauge("blastdoor_info", "1, with the version that runs.", ["version"], registry=to)
        self._policy()

    def _policy(self) -> None:
        to = self.registry
        self.policy_hash = Gauge("blastdoor_policy_info", "1 for the policy in force.", ["hash"], registry=to)
        self.policy_reloads = Counter(
            "blastdoor_policy_reloads", "Changed policy files, by what became of them.", ["outcome"], registry=to
        )
        self.policy_reload_failed = Gauge(
            "blastdoor_policy_reload_failed", "1 while the policy file as it is now is not in force.", registry=to
        )
        for outcome in ("adopted", "refused"):
            self.policy_reloads.labels(outcome=outcome)

    def policy_in_force(self, policy: str) -> None:
        """Show the hash of the policy in force, and no other."""
        self.policy_hash.clear()
        self.policy_hash.labels(hash=policy).set(1)

    def _intake(self) -> None:
        to = self.registry
        self.requests = Counter("blastdoor_http_requests", "Requests under /v1, by status.", ["status"], registry=to)
        for status in STATUSES:
            self.requests.labels(status=str(status))
        self.received = Counter(
            "blastdoor_http_events", "Events received over HTTP, by what became of them.", ["outcome"], registry=to
        )
        for outcome in ("accepted", "rejected", "unacknowledged"):
            self.received.labels(outcome=outcome)
        self.received_usage = Counter(
            "blastdoor_http_usage",
            "Of the events accepted over HTTP those of usage: each is to be found in blastdoor_events_total, too.",
            registry=to,
        )

    def _models(self) -> None:
        to = self.registry
        self.used = Gauge(
            "blastdoor_used_tokens", "Tokens used since the accounting day began.", ["model"], registry=to
        )
        self.limit = Gauge(
            "blastdoor_limit_tokens", "Limit for the accounting day; absent while unknown.", ["model"], registry=to
        )
        self.pool = Gauge(
            "blastdoor_pool_tokens",
            "Free tokens the accounting day has in total, as bounds.",
            ["model", "bound"],
            registry=to,
        )
        self.lag_tokens = Gauge(
            "blastdoor_unsettled_tokens",
            "Used tokens the provider has not booked yet, as bounds.",
            ["model", "bound"],
            registry=to,
        )
        self.charged = Gauge(
            "blastdoor_charged_tokens", "Tokens probably charged already, as bounds.", ["model", "bound"], registry=to
        )
        self.lag_bound = Gauge(
            "blastdoor_lag_bound_seconds", "Bound D on the provider's settlement lag in force.", ["model"], registry=to
        )
        self.reading = Gauge(
            "blastdoor_reading_timestamp_seconds",
            "When the newest reading of the balance was taken.",
            ["model"],
            registry=to,
        )
        self.action = Gauge(
            "blastdoor_action_in_force",
            "1 for the action in force, 0 for the others.",
            ["model", "action"],
            registry=to,
        )
        self._grounds()
        self._accounts()
        self._money()
        self.rule_failures = Counter("blastdoor_rule_failures", "Failed evaluations of a rule.", ["rule"], registry=to)
        self.rule_trials = Counter(
            "blastdoor_rule_would_fire",
            "Times that a rule with dry_run began to fire.",
            ["rule", "action"],
            registry=to,
        )
        self.decisions = Counter(
            "blastdoor_decisions", "Decisions that changed, by action and rule.", ["action", "rule"], registry=to
        )

    def _grounds(self) -> None:
        to = self.registry
        self.lag_seconds = Gauge(
            "blastdoor_settlement_lag_seconds",
            "How far the provider's books lie behind, as the newest readings show it; absent while unknown.",
            ["model"],
            registry=to,
        )
        self.complete = Gauge(
            "blastdoor_pool_complete",
            "1 while all usage before the newest reading has arrived: the high end is final.",
            ["model"],
            registry=to,
        )
        self.rule = Gauge("blastdoor_rule_in_force", "1 for the rule that decided.", ["model", "rule"], registry=to)
        self.formula_limit = Gauge(
            "blastdoor_formula_limit_tokens",
            "What each formula would allow today, cap included; for comparison. Absent while unknown.",
            ["model", "formula"],
            registry=to,
        )

    def _scopes(self) -> None:
        to = self.registry
        self.scopes_in_force = Gauge(
            "blastdoor_scopes", "Scopes by kind and by the action in force.", ["kind", "action"], registry=to
        )
        self.tenant_used = Gauge(
            "blastdoor_tenant_used_tokens",
            "Tokens used in the accounting day and in the month, of the tenants that use most.",
            ["tenant", "window"],
            registry=to,
        )
        self.tenant_limit = Gauge(
            "blastdoor_tenant_limit_tokens",
            "Budget of the same tenants with what was given on top; absent while none.",
            ["tenant", "window"],
            registry=to,
        )

    def _usage(self) -> None:
        """Of the accounting day, as the usage tables have it; set when somebody asks (`streams/usage_gauges.py`)."""
        to = self.registry
        rest = "all others are (other)."
        self.usage_tenant = Gauge(
            "blastdoor_usage_tenant_tokens", f"Tokens used today by the tenants that use most; {rest}", ["tenant"],
            registry=to,
        )  # fmt: skip
        self.usage_money = Gauge(
            "blastdoor_usage_tenant_money",
            "What the tokens of the same tenants cost at list price; absent where a price is not known.",
            ["tenant"],
            registry=to,
        )
        self.usage_department = Gauge(
            "blastdoor_usage_department_tokens",
            f"Tokens used today by the departments that use most, of the same tenants; {rest}",
            ["tenant", "department"],
            registry=to,
        )
        self.usage_knowledge_base = Gauge(
            "blastdoor_usage_knowledge_base_tokens",
            f"Tokens used today for the knowledge bases that are used most, of the same tenants; {rest}",
            ["tenant", "knowledge_base"],
            registry=to,
        )
        self.usage_user = Gauge(
            "blastdoor_usage_user_tokens",
            f"Tokens used today by the users that use most, of the same tenants, with `--user-metrics on`; {rest}",
            ["tenant", "user"],
            registry=to,
        )

    def _money(self) -> None:
        """In the policy's currency, of the accounting day."""
        to = self.registry
        self.charged_money = Gauge(
            "blastdoor_charged_money",
            "What tokens beyond the free pool cost today, as bounds.",
            ["model", "bound"],
            registry=to,
        )
        self.list_money = Gauge(
            "blastdoor_list_money", "What all tokens of today cost at list price.", ["model"], registry=to
        )
        self.spend = Gauge(
            "blastdoor_spend_money", "Money of the day on the policy's basis, over all models.", ["scope"], registry=to
        )
        self.spend_assumed = Gauge(
            "blastdoor_spend_assumed_money",
            "The part of it that models without a price cost, by assumption.",
            ["scope"],
            registry=to,
        )
        self.spend_limit = Gauge(
            "blastdoor_spend_limit_money",
            "Money at which everything closes; absent without one.",
            ["scope"],
            registry=to,
        )
        self.closed = Gauge("blastdoor_closed", "1 while the kill switch is closed.", ["scope"], registry=to)

    def _accounts(self) -> None:
        to = self.registry
        self.ledger = Gauge(
            "blastdoor_ledger_tokens",
            "The day's ledger: opening + returns + charged - used - expired - unexplained = closing, as bounds.",
            ["model", "entry", "bound"],
            registry=to,
        )
        self.expected_return = Gauge(
            "blastdoor_expected_return_tokens",
            "Yesterday's usage up to the cap, expected back today; part of no limit.",
            ["model"],
            registry=to,
        )
        self.returned = Gauge(
            "blastdoor_returned_tokens", "Tokens that came since the day began, at most.", ["model"], registry=to
        )
        self.return_overdue = Gauge(
            "blastdoor_return_overdue", "1 while the expected return is overdue.", ["model"], registry=to
        )
        self.runs_out = Gauge(
            "blastdoor_pool_runs_out_timestamp_seconds",
            "When the pool is used up by the rhythm of the last day; absent: not within a week, or not known.",
            ["model"],
            registry=to,
        )
        self.will_expire = Gauge(
            "blastdoor_will_expire_tokens",
            "Tokens that end unused if usage goes on as it does.",
            ["model"],
            registry=to,
        )
        self.needed_per_day = Gauge(
            "blastdoor_needed_tokens_per_day", "Daily usage with which nothing ends unused.", ["model"], registry=to
        )

    def _outlets(self) -> None:
        to = self.registry
        self.redis_writes = Counter(
            "blastdoor_redis_writes", "Writes to Redis, by outcome.", ["keys", "outcome"], registry=to
        )
        self.redis_troubles = Counter(
            "blastdoor_redis_troubles", "Times Redis could not be used, by kind.", ["kind"], registry=to
        )
        self.redis_again = Counter(
            "blastdoor_redis_rewrites", "Scopes written though nothing changed, by cause.", ["cause"], registry=to
        )
        self.redis_waiting = Gauge(
            "blastdoor_redis_waiting_scopes", "Scopes whose newest decision is not yet in Redis.", registry=to
        )
        self.publish_seconds = Histogram(
            "blastdoor_publish_seconds", "From a decision to its key in Redis.", buckets=LATENCY_BUCKETS, registry=to
        )
        self.redis_up = Gauge("blastdoor_redis_up", "1 while Redis answers.", registry=to)
        self.foreign_writes = Counter("blastdoor_foreign_writes", "Keys of ours that somebody else wrote.", registry=to)
        self.alerts = Counter(
            "blastdoor_alerts", "Alert deliveries, by channel and outcome.", ["channel", "outcome"], registry=to
        )
        self.alerts_waiting = Gauge(
            "blastdoor_alerts_waiting", "Alerts on their way to a channel.", ["channel"], registry=to
        )
        self.alerts_undelivered = Gauge(
            "blastdoor_alerts_undelivered",
            "Alerts kept that did not arrive and are not tried any more: see `blastdoor alerts list`.",
            ["channel"],
            registry=to,
        )
        self.alerts_raised = Counter("blastdoor_alerts_raised", "Alerts raised, by kind.", ["kind"], registry=to)


def _has_place(places: dict[str, None], name: str) -> bool:
    if name not in places and len(places) < MODELS_SHOWN:
        places[name] = None
    return name in places
