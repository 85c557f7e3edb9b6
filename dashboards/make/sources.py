"""Balances and intake: what providers and gateways tell."""

from __future__ import annotations

from dashboards.make.board import board
from dashboards.make.panels import ANY_IS_BAD, ANY_IS_ODD, ZERO_IS_BAD, graph, stat, steps
from dashboards.make.queries import line, now

NO_POLLER = "no poller is seen"


def _rate(metric: str, by: str) -> str:
    return f"sum by ({by}) (rate(blastdoor_{metric}_total[$__rate_interval]))"


ROWS = [
    (4, [
        (6, stat("Providers asked", "Providers that some poller asks.",
                 now("sum(max by (provider) (blastdoor_poll_leading))"), limits=ZERO_IS_BAD, empty=NO_POLLER)),
        (6, stat("Not asked any more", "Providers whose polling has stopped: credentials or rights are missing.",
                 now("sum(max by (provider) (blastdoor_poll_stopped))"), limits=ANY_IS_BAD, empty=NO_POLLER)),
        (6, stat("Packages that count nowhere", "Packages of providers that the policy gives to no model.",
                 now("sum(max by (provider) (blastdoor_unplaced_packages))"), limits=ANY_IS_ODD, empty=NO_POLLER)),
        (6, stat("Oldest answer", "Since the provider that is silent for longest has answered.",
                 now("time() - min(max by (provider) (blastdoor_poll_answer_timestamp_seconds))"), unit="s",
                 limits=steps((None, "green"), (1800, "red")), empty=NO_POLLER)),
    ]),
    (9, [
        (12, graph("Balance as the provider tells it", "Tokens left by the last answer. Usage of the last minutes is "
                   "not in it yet.",
                   line("max by (provider, model) (blastdoor_balance_tokens)", "{{provider}}: {{model}}"),
                   empty=NO_POLLER)),
        (12, graph("Age of the last answer", "Readings that are too old no longer carry a limit.",
                   line("time() - max by (provider) (blastdoor_poll_answer_timestamp_seconds)", "{{provider}}"),
                   unit="s", limits=steps((None, "green"), (1800, "red")), empty=NO_POLLER)),
    ]),
    (8, [
        (8, graph("Polls", "Polls by what made them due.",
                  line(_rate("polls", "provider, why"), "{{provider}}: {{why}}"),
                  unit="ops", empty=NO_POLLER)),
        (8, graph("Failed polls", "Polls that brought no reading; a failed one is no reading, never zero.",
                  line(_rate("poll_failures", "provider, trouble"), "{{provider}}: {{trouble}}"), unit="ops",
                  empty=NO_POLLER)),
        (8, graph("Time of a poll", "From the question to the whole answer, 99 %.",
                  line("histogram_quantile(0.99, sum by (le, provider) (rate(blastdoor_poll_seconds_bucket"
                       "[$__rate_interval])))", "{{provider}}"), unit="s", empty="no poll in this time")),
    ]),
    (8, [
        (12, graph("Events over HTTP", "Events that gateways sent to a worker, by what became of them.",
                   line(_rate("http_events", "outcome"), "{{outcome}}"), unit="ops")),
        (12, graph("Requests over HTTP", "Requests to the intake, by status.",
                   line(_rate("http_requests", "status"), "{{status}}"),
                   unit="reqps", empty="no request yet")),
    ]),
]  # fmt: skip

BOARD = board(
    "sources",
    "balances and intake",
    "What providers and gateways tell.",
    ROWS,
    seen="blastdoor_poll_leading",
)
