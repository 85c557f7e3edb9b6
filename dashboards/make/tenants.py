"""Tenants: who uses how much of what is theirs."""

from __future__ import annotations

from dashboards.make.board import board, choice
from dashboards.make.panels import ACTION_COLOURS, SHARE, bars, coloured, graph, pie, stat, steps, table
from dashboards.make.queries import line, now, rows

TENANT = 'tenant=~"$tenant"'
NOBODY = "no tenant has been seen"
USED = f"max by (tenant) (blastdoor_tenant_used_tokens{{{TENANT}}})"
LIMIT = f"max by (tenant) (blastdoor_tenant_limit_tokens{{{TENANT}}})"
OF_TENANTS = 'kind="tenant"'

ROWS = [
    (4, [
        (6, stat("Tenants", "Tenants that are ruled on.", now(f"sum(blastdoor_scopes{{{OF_TENANTS}}})"), empty=NOBODY)),
        (6, stat("Refused", "Tenants whose calls are refused.",
                 now(f'sum(blastdoor_scopes{{{OF_TENANTS}, action=~"block|kill"}})'),
                 limits=steps((None, "green"), (1, "red")))),
        (6, stat("Degraded", "Tenants whose calls are answered by a cheaper model.",
                 now(f'sum(blastdoor_scopes{{{OF_TENANTS}, action="degrade"}})'),
                 limits=steps((None, "green"), (1, "orange")))),
        (6, stat("Used today, of those shown", "Tokens of the tenants that use most, 50 of each worker.",
                 now(f"sum({USED})"), empty=NOBODY)),
    ]),
    (10, [
        (12, pie("Usage by tenant", "Shares of the tokens used today, of the tenants that use most.",
                 now(USED, "{{tenant}}"), empty=NOBODY)),
        (12, table("Budgets", "What each tenant used today, may use, and has left.",
                   rows(USED), rows(LIMIT), rows(f"{LIMIT} - {USED}"),
                   columns={"tenant": "tenant", "Value #A": "used", "Value #B": "limit", "Value #C": "left"},
                   empty=NOBODY)),
    ]),
    (10, [
        (12, bars("Share of the budget", "Used over limit. At 1 the budget is spent.",
                  now(f"topk(15, {USED} / {LIMIT})", "{{tenant}}"), unit="percentunit", limits=SHARE, most=1,
                  empty="no tenant has a limit")),
        (12, graph("Usage over the day", "Tokens since the accounting day began.", line(USED, "{{tenant}}"),
                   empty=NOBODY)),
    ]),
    (8, [
        (24, coloured(graph("Tenants by action", "How many tenants gates are told what about.",
                            line(f"sum by (action) (blastdoor_scopes{{{OF_TENANTS}}})", "{{action}}"), stacked=True),
                      ACTION_COLOURS)),
    ]),
]  # fmt: skip

BOARD = board(
    "tenants",
    "tenants",
    "Who uses how much of what is theirs: the tenants that use most, 50 of each worker. Departments, users and "
    "knowledge bases are no labels of metrics; the usage report has them.",
    ROWS,
    seen="blastdoor_ready",
    choices=[
        choice(
            "tenant",
            "Tenant",
            'label_values(blastdoor_tenant_used_tokens{job=~"$job", instance=~"$instance"}, tenant)',
            several=True,
        )
    ],
)
