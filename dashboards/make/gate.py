"""Gate: what gates did with calls, how long it took them, and whether they can ask."""

from __future__ import annotations

from dashboards.make.board import board
from dashboards.make.panels import ANY_IS_BAD, ANY_IS_ODD, graph, stat, steps
from dashboards.make.queries import line, now

NO_GATE = "no gate is seen"


def _rate(metric: str, by: str) -> str:
    return f"sum by ({by}) (rate(blastdoor_gate_{metric}_total[$__rate_interval]))"


def _slow(share: str) -> str:
    return f"histogram_quantile({share}, sum by (le) (rate(blastdoor_gate_admission_seconds_bucket[$__rate_interval])))"


ROWS = [
    (4, [
        (4, stat("Gates", "Processes with a gate in them.", now("count(blastdoor_gate_breaker_open)"), empty=NO_GATE)),
        (4, stat("Calls a second", "Calls that asked a gate.",
                 now("sum(rate(blastdoor_gate_admissions_total[$__rate_interval]))"), unit="reqps", empty=NO_GATE)),
        (4, stat("Share refused", "Calls that were rejected, of all that asked.",
                 now('sum(rate(blastdoor_gate_admissions_total{action="reject"}[$__rate_interval]))'
                     " / (sum(rate(blastdoor_gate_admissions_total[$__rate_interval])) > 0)"),
                 unit="percentunit", limits=steps((None, "green"), (0.05, "yellow"), (0.5, "red")),
                 empty="no calls")),
        (4, stat("Kept from Redis", "Gates whose breaker is open: they decide by what they remember.",
                 now("sum(blastdoor_gate_breaker_open)"), limits=ANY_IS_BAD, empty=NO_GATE)),
        (4, stat("Engine is silent", "Gates that see no fresh heartbeat of the engine.",
                 now("sum(blastdoor_gate_engine_silent)"), limits=ANY_IS_BAD, empty=NO_GATE)),
        (4, stat("Not settled yet", "Settlements that Redis has not taken yet.",
                 now("sum(blastdoor_gate_backlog)"), limits=ANY_IS_ODD, empty=NO_GATE)),
    ]),
    (9, [
        (12, graph("Admissions", "Calls by what was done with them and the layer that spoke; none: all let it through.",
                   line(_rate("admissions", "action, layer"), "{{action}}, {{layer}}"), unit="reqps", stacked=True,
                   empty=NO_GATE)),
        (12, graph("Time of an admission", "What a call waits for its gate.",
                   line(_slow("0.5"), "half"), line(_slow("0.99"), "99 %"), unit="s",
                   limits=steps((None, "green"), (0.05, "red")), empty="no calls")),
    ]),
    (8, [
        (8, graph("Decided without Redis", "Calls answered from what the gate remembers, by what was done.",
                  line('sum by (action) (rate(blastdoor_gate_admissions_total{local="yes"}[$__rate_interval]))',
                       "{{action}}"), unit="reqps", empty=NO_GATE)),
        (8, graph("Redis failures", "Questions that Redis did not answer, by cause.",
                  line(_rate("redis_failures", "cause"), "{{cause}}"), unit="ops", empty=NO_GATE)),
        (8, graph("Would have been refused", "Calls let through because the gate or the policy only observes.",
                  line(_rate("observed_refusals", "layer"), "{{layer}}"), unit="reqps", empty=NO_GATE)),
    ]),
    (8, [
        (8, graph("Settlements", "What became of them; each ends a reservation with what was really used.",
                  line(_rate("settlements", "outcome"), "{{outcome}}"), unit="ops", empty=NO_GATE)),
        (8, graph("Tokens counted", "Tokens that gates counted when calls ended.",
                  line("sum by (instance) (rate(blastdoor_gate_settled_tokens_total[$__rate_interval]))",
                       "{{instance}}"), unit="cps", empty=NO_GATE)),
        (8, graph("Usage events", "Events that gates sent to the engine. Dropped ones are missing from the books.",
                  line(_rate("events", "outcome"), "{{outcome}}"), unit="ops", empty=NO_GATE)),
    ]),
    (8, [
        (12, graph("Answer cache", "Questions by what the cache had: the same, one near to it, nothing.",
                   line(_rate("cache", "outcome"), "{{outcome}}"), unit="ops", empty=NO_GATE)),
        (12, graph("Calls without a price", "Calls reckoned at the assumed price, as their model has none.",
                   line("sum by (instance) (rate(blastdoor_gate_unpriced_total[$__rate_interval]))", "{{instance}}"),
                   unit="reqps", empty=NO_GATE)),
    ]),
]  # fmt: skip

BOARD = board(
    "gate",
    "gate",
    "What gates did with calls, how long it took them, and whether they can ask.",
    ROWS,
    seen="blastdoor_gate_breaker_open",
)
