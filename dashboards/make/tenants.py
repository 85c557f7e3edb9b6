"""Tenants: who uses how much of what is theirs."""

from __future__ import annotations

from dashboards.make.board import board, choice
from dashboards.make.panels import ACTION_COLOURS, SHARE, Panel, bars, coloured, graph, pie, stat, steps, table
from dashboards.make.queries import line, now, rows

PIECES = 20
OTHER = "(other)"
TENANT = 'tenant=~"$tenant"'
NOBODY = "no tenant has been seen"
UNUSED = "nothing was used today"
NAMELESS = "names of users are not shown: see the panel's description"


def _of_tenant(what: str, window: str) -> str:
    return f'max by (tenant) (blastdoor_tenant_{what}_tokens{{{TENANT}, window="{window}"}})'


USED, USED_IN_MONTH = (_of_tenant("used", window) for window in ("day", "month"))
LIMIT, LIMIT_OF_MONTH = (_of_tenant("limit", window) for window in ("day", "month"))
SPENT = f"blastdoor_tenant_used_tokens{{{TENANT}}} / blastdoor_tenant_limit_tokens{{{TENANT}}}"
COST = f"sum by (tenant) (blastdoor_usage_tenant_money{{{TENANT}}})"
OF_TENANTS = 'kind="tenant"'
USERS = (
    " Names of users are personal data, and Prometheus forgets nothing on request: a worker shows them with"
    " --user-metrics on. Its page /usage has them at any rate."
)


def _shares(title: str, says: str, label: str, *, empty: str = UNUSED, legend: str = "right") -> Panel:
    """The pieces add up to all that was used: what is not among the largest is one piece."""
    metric = f"blastdoor_usage_{label}_tokens"
    named = f'topk({PIECES}, sum by ({label}) ({metric}{{{TENANT}, {label}!="{OTHER}"}}))'
    rest = f"sum({metric}{{{TENANT}}}) - (sum({named}) or vector(0))"
    return pie(title, says, now(named, f"{{{{{label}}}}}"), now(rest, OTHER), empty=empty, legend=legend)


def _values(title: str, says: str, label: str, *, empty: str = UNUSED) -> Panel:
    """A row for each tenant and value."""
    used = rows(f"sum by (tenant, {label}) (blastdoor_usage_{label}_tokens{{{TENANT}}})")
    columns = {"tenant": "tenant", label: label.replace("_", " "), "Value": "tokens"}
    return table(title, says, used, columns=columns, empty=empty, most_first="tokens")


ROWS = [
    (4, [
        (6, stat("Tenants", "Tenants that are ruled on.", now(f"sum(blastdoor_scopes{{{OF_TENANTS}}})"), empty=NOBODY)),
        (6, stat("Refused", "Tenants whose calls are refused.",
                 now(f'sum(blastdoor_scopes{{{OF_TENANTS}, action=~"block|kill"}})'),
                 limits=steps((None, "green"), (1, "red")))),
        (6, stat("Degraded", "Tenants whose calls are answered by a cheaper model.",
                 now(f'sum(blastdoor_scopes{{{OF_TENANTS}, action="degrade"}})'),
                 limits=steps((None, "green"), (1, "orange")))),
        (6, stat("Used today", "Tokens of the tenants chosen above, all of them by default.",
                 now(f"sum(blastdoor_usage_tenant_tokens{{{TENANT}}})"), empty=UNUSED)),
    ]),
    (10, [
        (10, _shares("Usage by tenant", "Shares of the tokens used today. What names no tenant is (unassigned).",
                     "tenant")),
        (14, table("Budgets", "What each tenant used today, may use, and has left, today and this month; and what it "
                   "costs at list price. Shown are the tenants that use most, 50 of each worker, the cost of 20.",
                   rows(USED), rows(LIMIT), rows(f"{LIMIT} - {USED}"), rows(f"{LIMIT_OF_MONTH} - {USED_IN_MONTH}"),
                   rows(f"{COST} and {USED}"),
                   columns={"tenant": "tenant", "Value #A": "used", "Value #B": "limit", "Value #C": "left",
                            "Value #D": "left this month", "Value #E": "cost"}, most_first="used", empty=NOBODY)),
    ]),
    (10, [
        (8, _shares("Usage by department", "Shares of the tokens used today; those of several tenants under one name "
                    "are one piece.", "department", legend="bottom")),
        (8, _shares("Usage by knowledge base", "Shares of the tokens used today; those of several tenants under one "
                    "name are one piece.", "knowledge_base", legend="bottom")),
        (8, _shares("Usage by user", f"Shares of the tokens used today.{USERS}", "user", empty=NAMELESS,
                    legend="bottom")),
    ]),
    (9, [
        (8, _values("Departments", "Tokens used today, the largest of each tenant.", "department")),
        (8, _values("Knowledge bases", "Tokens used today, the largest of each tenant.", "knowledge_base")),
        (8, _values("Users", f"Tokens used today, the largest of each tenant.{USERS}", "user", empty=NAMELESS)),
    ]),
    (10, [
        (12, bars("Share of the budget", "Used over limit, of the day's budget or the month's, whichever is nearer. "
                  "At 1 it is spent.",
                  now(f"topk(15, max by (tenant) ({SPENT}))", "{{tenant}}"), unit="percentunit", limits=SHARE, most=1,
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
    "Who uses how much of what is theirs: the tenants that use most, the largest departments, knowledge bases and "
    "users of each; all others together are (other), so that sums are whole. Every name, and 400 days, are on the page "
    "/usage.",
    ROWS,
    seen="blastdoor_ready",
    choices=[
        choice(
            "tenant",
            "Tenant",
            'label_values(blastdoor_usage_tenant_tokens{job=~"$job", instance=~"$instance"}, tenant)',
            several=True,
        )
    ],
)
