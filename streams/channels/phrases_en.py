"""The words in English."""

from __future__ import annotations

from rules.alerts import Kind, Severity
from streams.channels.phrases import Phrase, Words

THRESHOLDS = {
    ("pool", False): Phrase(
        "{who} has used {share} of its limit",
        "The limit is the lower bound of the free pool: calls up to it are free, nothing is charged yet.",
        "Watch the rate of use; move work that can wait to after the next return, or buy a package in time.",
    ),
    ("pool", True): Phrase(
        "{who} has used {share} of its limit",
        "The free pool is used up to the safety buffer: any further call may be charged at list price.",
        "Wait for the next return or buy a package; check that the gateway reads the decision as block.",
    ),
    ("cap", False): Phrase(
        "{who} has used {share} of its daily cap",
        "This wall is about returns, not about charges: usage beyond the cap is not returned tomorrow.",
        "Leave work that can wait for tomorrow.",
    ),
    ("cap", True): Phrase(
        "{who} has used {share} of its daily cap",
        "Usage beyond the cap is not returned, so the free pool shrinks for good; it is not necessarily charged.",
        "Leave the rest for tomorrow; if it must go on, an administrator can raise the daily cap.",
    ),
    ("day", False): Phrase(
        "{who} has used {share} of its tokens of the day",
        "The budget is not used up; once it is, the policy degrades, blocks or only tells, until the next day.",
        "Check that this usage is expected; an administrator can give more (blastdoor topup).",
    ),
    ("day", True): Phrase(
        "{who} has used {share} of its tokens of the day",
        "The budget is used up: the policy degrades, blocks or only tells, until the next day or a top-up.",
        "Look for unusual calls; if the usage is expected, an administrator can give more (blastdoor topup).",
    ),
    ("month", False): Phrase(
        "{who} has used {share} of its tokens of the month",
        "The budget is not used up; once it is, the policy degrades, blocks or only tells, until the month ends.",
        "Compare with the days that are left; an administrator can give more (blastdoor topup).",
    ),
    ("month", True): Phrase(
        "{who} has used {share} of its tokens of the month",
        "The budget is used up: the policy degrades, blocks or only tells, until the next month or a top-up.",
        "Look for unusual calls; if the usage is expected, an administrator can give more (blastdoor topup).",
    ),
    ("spend", False): Phrase(
        "{share} of the day's money is spent",
        "So much was spent today, by the higher estimate; at the limit everything online is closed.",
        "See which model costs it (blastdoor_spend_money); move work that can wait to another day.",
    ),
    ("spend", True): Phrase(
        "kill switch: the day's money is spent ({share})",
        "Everything online is closed until the next day: no further calls, no further cost.",
        "Find the cause first. Then blastdoor resume global, which grants the same amount once more.",
    ),
    ("", False): Phrase(
        "{who} has used {share} of its quota",
        "The quota is not used up; once it is, calls are degraded or blocked as the policy says.",
        "Check that this usage is expected; an administrator can raise the quota.",
    ),
    ("", True): Phrase(
        "{who} has used {share} of its quota",
        "The quota is used up: further calls are degraded or blocked as the policy says, so they add no cost.",
        "Look for unusual calls; if the usage is expected, an administrator can raise the quota.",
    ),
}

KINDS: dict[str, Phrase] = {
    Kind.RULE: Phrase(
        "rule {rule} now decides for {who}",
        "Further calls are treated as this rule says; the numbers are above.",
        "Read the reason; if the rule is wrong, change the policy file and run blastdoor check-policy.",
    ),
    Kind.LAG_BOUND_BROKEN: Phrase(
        "the balance of {who} lags further behind than expected",
        "The limit now assumes the longer lag. Its lower end can still be trusted, but less can be used.",
        "If this happens often, raise max_lag in the policy.",
    ),
    Kind.UNEXPLAINED: Phrase(
        "the free pool of {who} fell for no known reason",
        "Usage was deducted that nobody metered: the pool runs dry early, and calls after that are charged.",
        "Check for expired packages and for calls that bypass the gateway, such as a leaked API key.",
    ),
    Kind.UNSEEN_ARRIVAL: Phrase(
        "{who} received tokens nobody announced",
        "The free pool is larger than known, so nothing is charged; the bounds start afresh from this reading.",
        "Look up the source in the provider's console; if it is right, nothing is to be done.",
    ),
    Kind.RETURN_OVERDUE: Phrase(
        "the return for {who} is overdue",
        "The limit counts only tokens that have arrived, so nothing is charged; there is less to use today.",
        "Look again later; if it stays away, check the provider's console and ask the provider.",
    ),
    Kind.USAGE_WITHOUT_READINGS: Phrase(
        "{who} has usage but no balance readings",
        "The free pool is unknown: calls that pass meanwhile may be charged.",
        "Check the balance poller and its credentials; `unknown` in the policy says whether to close or to hold.",
    ),
    Kind.READINGS_WITHOUT_USAGE: Phrase(
        "{who} has balance readings but no usage",
        "Usage is not metered, so the limit does not tighten: calls beyond the free pool are charged.",
        "Check that the gateway's log is shipped (blastdoor ship) and that the model's names match the aliases.",
    ),
    Kind.FOREIGN_WRITE: Phrase(
        "somebody else wrote the Redis keys of {who}",
        "The gateway may have read another limit, and calls that passed may be charged; our values are back.",
        "Switch off the gateway's own balance sync and find the writer.",
    ),
    Kind.CALIBRATION_CONFLICT: Phrase(
        "the calibration of {who} contradicts the readings",
        "Until this is settled the lower value rules, so nothing is charged because of it.",
        "Compare with the console and the date; if it is right, calibrate again with --force.",
    ),
    Kind.CALIBRATED: Phrase(
        "the free pool of {who} was calibrated by hand",
        "The limit now rests on this value: if it is too high, calls beyond the true pool are charged.",
        "If nobody meant to do this, find out who did and calibrate again.",
    ),
    Kind.ARRIVAL: Phrase(
        "tokens arrived for {who}",
        "There is more to use free of charge; thresholds are announced anew.",
        "Nothing is to be done.",
    ),
    Kind.POLL_STOPPED: Phrase(
        "balances are no longer asked for",
        "Limits rest on the last readings and then count as unknown; what passes after that may be charged.",
        "Repair what the reason names (keys, permissions), see with blastdoor poll --show, restart the poller.",
    ),
    Kind.EXPIRED: Phrase(
        "a package of {who} ended with tokens left",
        "These tokens are lost for good; nothing is charged as long as the rest of the pool lasts.",
        "Use what is near its end first: plan calls for the last days of a package.",
    ),
    Kind.CLOCKS_APART: Phrase(
        "clocks are apart: {who}",
        "The lag bound covers it as long as lag and difference together stay under it; beyond that calls are charged.",
        "Synchronise the clocks of gateways, poller and engine; where times are behind, look for held-up records.",
    ),
    Kind.USAGE_MISSING: Phrase(
        "calls of {who} are missing from our count",
        "The pool is smaller than it looks until readings show it, and calls let through by then may be charged.",
        "See whether every gateway's log is shipped whole: a stopped shipper, a file rotated away, dead letters.",
    ),
    Kind.EXPIRING: Phrase(
        "a package of {who} will end with tokens left",
        "What is not used by then is lost for good and shrinks the free pool; nothing is charged because of it.",
        "Plan calls before it ends; with the daily usage above nothing would be lost.",
    ),
    Kind.CHARGED: Phrase(
        "{who} probably used tokens beyond its free pool",
        "They are charged at list price: tokens and money above, at least and at most. It is not refunded.",
        "Check why calls passed: a gate that runs open, calls around the gateway, or a buffer that is too small.",
    ),
    Kind.UNPRICED: Phrase(
        "{who} has no price in the policy",
        "Its cost is an assumption: `spend.unknown_price`, else the dearest price known. The kill switch counts it.",
        "Add the model under `prices` in the policy, or an alias if it is another spelling of a known one.",
    ),
    Kind.BLOCK_IGNORED: Phrase(
        "calls to {who} go on although they are refused",
        "The limit is reached or unknown: what passes now may be charged at list price.",
        "Check that the gateway reads the decisions and does not run open; until then stop the key at the provider.",
    ),
    Kind.GATE_OPEN: Phrase(
        "a gateway lets calls through unasked",
        "It cannot read decisions and was told to stay open: limits are not kept there, calls may be charged.",
        "Check the gateway's way to Redis and the engine's heartbeat; `failure` in its settings says what falls open.",
    ),
    Kind.ENGINE_BEHIND: Phrase(
        "blastdoor is behind",
        "Limits rest on older usage: what is not read yet can carry a model beyond its limit.",
        "Check workers and Kafka; the metric blastdoor_lag_records says which step is behind.",
    ),
    Kind.DEAD_LETTERS: Phrase(
        "more records than usual cannot be read",
        "Usage that cannot be read is not counted: limits do not tighten by it, and calls may be charged.",
        "Look at the reasons in the topic of dead letters; repair the producer and send the records again.",
    ),
    Kind.TENANTS_CROWDED: Phrase(
        "more tenants than there is room for",
        "Those beyond it are counted together and the engine holds no budget against them; the gate's own limits hold.",
        "See whether somebody makes names up; tenants written into the policy's section tenants keep their place.",
    ),
    Kind.REDIS_UNREACHABLE: Phrase(
        "Redis cannot be reached",
        "Gateways get no new decisions: what they do meanwhile is their own setting, calls may be charged.",
        "Check Redis and the network; decisions are written by themselves as soon as it answers.",
    ),
    Kind.REDIS_GROWING: Phrase(
        "Redis is running out of memory",
        "When it is full, decisions cannot be written any more and gateways go on with old ones.",
        "Find what grows (redis-cli --bigkeys); old daily_usage keys without an end are a usual cause.",
    ),
    Kind.POLICY_REFUSED: Phrase(
        "the changed policy file is not in force",
        "The policy before it goes on: what was changed in the file has no effect yet.",
        "Run blastdoor check-policy; once repaired, the file is taken over by itself.",
    ),
    Kind.DIGEST: Phrase(
        "{day} in numbers",
        "Within the free pool nothing was charged.",
        "Nothing is to be done.",
    ),
    Kind.TEST: Phrase(
        "test: alerts arrive here",
        "None, this is a test.",
        "Nothing is to be done.",
    ),
    Kind.RECOVERED: Phrase(
        "over: {what}",
        "What was told of it before holds no more; the numbers above are those of now.",
        "Nothing is to be done.",
    ),
}

RULES: dict[str, Phrase] = {
    "global-killed": Phrase(
        "kill switch: everything is closed by an operator",
        "No call passes at all until somebody resumes, so nothing is charged.",
        "Who and why stands above; blastdoor resume global opens again.",
    ),
    "global-spend-reached": Phrase(
        "kill switch: the day's money is spent",
        "Everything online is closed until the next day: no further calls, no further cost.",
        "Find the cause first. Then blastdoor resume global, which grants the same amount once more.",
    ),
    **dict.fromkeys(
        ("user-killed", "ip-killed", "tenant-closed"),
        Phrase(
            "{who} is closed by an operator",
            "No call of it passes until somebody resumes, so it costs nothing.",
            "Who and why stands above; blastdoor resume opens it again.",
        ),
    ),
    **dict.fromkeys(
        ("user-banned", "ip-banned"),
        Phrase(
            "{who} is banned by an operator",
            "No call of it passes while the ban lasts, so it costs nothing.",
            "Who and why stands above; blastdoor unban lifts it.",
        ),
    ),
}

BACK = Phrase(
    "{who} is back under its limit",
    "Calls up to the limit are free of charge again; thresholds are announced anew.",
    "Nothing is to be done; work that was put off can go on.",
)

FREED = Phrase(
    "{who} is back within its budget",
    "Calls within the budget pass again; thresholds are announced anew.",
    "Nothing is to be done; work that was put off can go on.",
)

EN = Words(
    language="en",
    severities={Severity.INFO: "info", Severity.WARNING: "warning", Severity.CRITICAL: "critical"},
    scopes={"model": "model", "tenant": "tenant", "user": "user", "ip": "IP", "global": "global", "engine": "engine"},
    labels={
        "used": "used",
        "limit": "limit",
        "left": "left to the limit",
        "over": "beyond the limit",
        "pool": "free pool of the day (low to high)",
        "charged": "probably charged",
        "most": "at most",
        "rule": "rule",
        "reason": "reason",
        "window": "accounting day",
        "round": "round {n}",
        "at": "time",
        "money": "What it means for money",
        "advice": "What to do",
        "id": "alert",
        "link": "Open the dashboard",
        "unknown": "unknown",
        "digest": "digest",
        "all": "all together",
        "returned": "returned",
        "expired": "expired",
        "unexplained": "lost for no known reason",
        "refused": "calls refused for",
        "requests": "requests",
        "saved": "saved by the cache",
        "cache_hits": "answered by the cache",
        "rest": "left",
        "more": "more",
        "never_known": "The free pool was not known, so what was charged is not either.",
        "over_now": "over",
        "times": "told before",
    },
    thresholds=THRESHOLDS,
    kinds=KINDS,
    rules=RULES,
    back=BACK,
    freed=FREED,
    again="still: {title}",
    hours="{h} h {m} min",
    many="{n} alerts: {title} …",
    more="{names} and {n} more",
    comma=", ",
    charged="An estimated {n} tokens at most went beyond the free pool at list price; the charge is not refunded.",
    colon=": ",
)
