"""Model quota: one model's pool between its two ends, and everything its limit is made from."""

from __future__ import annotations

from typing import Any

from dashboards.make.board import board, choice
from dashboards.make.panels import ANY_IS_BAD, ZERO_IS_BAD, banded, coloured, graph, matrix, stat, steps
from dashboards.make.queries import SOURCE, line, narrowed, now, rows

MODEL = 'model=~"$model"'
UNKNOWN = "unknown"


def _of(metric: str, labels: str = "") -> str:
    return f"max(blastdoor_{metric}{{{MODEL}{', ' if labels else ''}{labels}}})"


def _end(metric: str, bound: str) -> str:
    return _of(metric, f'bound="{bound}"')


# A decision changed where an action is in force that was not a minute ago.
CHANGES: dict[str, Any] = {
    "name": "Decisions",
    "datasource": SOURCE,
    "enable": True,
    "iconColor": "orange",
    "expr": narrowed(
        f"max by (model, action) (blastdoor_action_in_force{{{MODEL}}} == 1)"
        f" unless max by (model, action) (blastdoor_action_in_force{{{MODEL}}} offset 1m == 1)"
    ),
    "step": "30s",
    "titleFormat": "{{model}}: {{action}}",
    "textFormat": "from here on gates are told: {{action}}",
    "tagKeys": "action",
}

NUMBERS = [
    (3, stat("Used today", "Tokens used since the accounting day began.", now(_of("used_tokens")))),
    (3, stat("Limit today", "What may be used today, cumulative like the used tokens.", now(_of("limit_tokens")),
             empty=UNKNOWN)),
    (3, stat("Pool, at least", "Free tokens the day has in total, surely.", now(_end("pool_tokens", "low")),
             empty=UNKNOWN)),
    (3, stat("Pool, at most", "Free tokens the day has in total, at best.", now(_end("pool_tokens", "high")),
             empty=UNKNOWN)),
    (3, stat("Charged, at most", "Tokens that may have been charged.", now(_end("charged_tokens", "high")),
             limits=ANY_IS_BAD, empty=UNKNOWN)),
    (3, stat("Usage complete", "1: all usage before the newest reading has arrived, so the high end is final.",
             now(_of("pool_complete")), unit="bool_yes_no", limits=ZERO_IS_BAD)),
    (3, stat("Pool runs out in", "Until the pool is used up by the rhythm of the last day.",
             now(f"{_of('pool_runs_out_timestamp_seconds')} - time()"), unit="s",
             limits=steps((None, "red"), (4 * 3600, "green")), empty="not this week")),
    (3, stat("Reading is old", "Since the newest reading of the balance was taken.",
             now(f"time() - {_of('reading_timestamp_seconds')}"), unit="s",
             limits=steps((None, "green"), (1800, "yellow"), (3600, "red")), empty="no reading")),
]  # fmt: skip

POOL = coloured(
    banded(
        graph(
            "Pool, limit and usage",
            "The pool lies between its ends, surely not below the lower one. The limit keeps below that end; calls are "
            "refused where used meets the limit.",
            line(_end("pool_tokens", "low"), "pool, at least"),
            line(_end("pool_tokens", "high"), "pool, at most"),
            line(_of("limit_tokens"), "limit"),
            line(_of("used_tokens"), "used"),
            empty="the model was not used, or no reading has come",
        ),
        "pool, at least",
        "pool, at most",
    ),
    {"pool, at least": "blue", "pool, at most": "light-blue", "limit": "red", "used": "green"},
)

ROWS = [
    (4, NUMBERS),
    (11, [(24, POOL)]),
    (8, [
        (8, banded(graph("Unsettled tokens", "Used tokens that the provider has not booked yet.",
                         line(_end("unsettled_tokens", "low"), "at least"),
                         line(_end("unsettled_tokens", "high"), "at most"), empty="no reading"),
                   "at least", "at most")),
        (8, graph("Lag of the provider's books", "How far they lie behind, and the bound D that is reckoned with.",
                  line(_of("settlement_lag_seconds"), "lag seen"), line(_of("lag_bound_seconds"), "bound D"),
                  unit="s", empty="no reading")),
        (8, graph("Age of the newest reading", "Readings that are too old no longer carry a limit.",
                  line(f"time() - {_of('reading_timestamp_seconds')}", "age"), unit="s",
                  limits=steps((None, "green"), (3600, "red")), empty="no reading")),
    ]),
    (9, [
        (12, graph("Formulas side by side", "What each formula would allow today; the policy names the one that rules.",
                   line(f"max by (formula) (blastdoor_formula_limit_tokens{{{MODEL}}})", "{{formula}}"),
                   empty="no formula can say anything yet")),
        (12, matrix("Ledger of the day", "opening + returns + charged - used - expired - unexplained = closing, "
                    "each between two bounds.",
                    rows(f"max by (entry, bound) (blastdoor_ledger_tokens{{{MODEL}}})"), row="entry", column="bound",
                    empty="an end of the pool is unknown")),
    ]),
    (8, [
        (24, banded(graph("What the day costs", "Tokens beyond the free pool, between two bounds, and all tokens at "
                          "list price, in the policy's currency.",
                          line(_end("charged_money", "low"), "charged, at least"),
                          line(_end("charged_money", "high"), "charged, at most"),
                          line(_of("list_money"), "at list price"), empty="the model has no price"),
                    "charged, at least", "charged, at most")),
    ]),
    (8, [
        (8, graph("Returns", "Yesterday's usage comes back today, up to the cap. Part of no limit before it is here.",
                  line(_of("expected_return_tokens"), "expected"), line(_of("returned_tokens"), "came"),
                  line(_of("return_overdue"), "overdue (1)"), empty="nothing is expected")),
        (8, graph("Ends unused", "Tokens that expire unless more is used, and what a day would have to use.",
                  line(_of("will_expire_tokens"), "will expire"),
                  line(_of("needed_tokens_per_day"), "needed a day"), empty="no package is known")),
        (8, graph("Charged tokens", "Tokens that were probably not free, between two bounds.",
                  line(_end("charged_tokens", "low"), "at least"), line(_end("charged_tokens", "high"), "at most"),
                  limits=steps((None, "green"), (1, "red")), empty="no pool is known")),
    ]),
]  # fmt: skip

BOARD = board(
    "model-quota",
    "model quota",
    "One model's pool between its two ends, and everything its limit is made from.",
    ROWS,
    seen="blastdoor_used_tokens",
    choices=[
        choice(
            "model",
            "Model",
            'label_values(blastdoor_used_tokens{job=~"$job", instance=~"$instance"}, model)',
            several=False,
        )
    ],
    marks=[CHANGES],
)
