"""What the operator wants, already checked. `policy_check` turns a parsed file into this; without it, defaults hold."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rules.calendar import Calendar, calendar_of
from rules.moment import DAY, HOUR, MINUTE, SECOND, Millis


class Mode(StrEnum):
    """Whether decisions bind gateways."""

    ENFORCE = "enforce"
    OBSERVE = "observe"  # decide, show and alert, but every decision says allow; keys of v6 gates are left alone


class Unknown(StrEnum):
    """What holds for a model whose pool is unknown."""

    CLOSE = "close"  # refuse: nothing is charged
    HOLD = "hold"  # the last known limit stays; where there is none, refuse


class ModelTerms(Struct, frozen=True, kw_only=True):
    """How one model's limit is made. Tokens are whole numbers."""

    daily_cap: int = 2_000_000  # beyond it nothing is returned the next day
    small_buffer: int = 10_000
    formula: str = "interval"
    max_lag: Millis = 30 * MINUTE  # D: settlement lag + longest call + clock differences + the reading's own duration
    lag_ceiling: Millis = 6 * HOUR  # D_max: how far D may be learned upwards
    stale_after: Millis = 2 * HOUR  # a reading older than this no longer carries the low end
    unknown: Unknown = Unknown.CLOSE
    first_grant: int = 2_000_000


class Channel(Struct, frozen=True, kw_only=True):
    """Where alerts go. `url` and `secret` are the resolved secrets: never print this record."""

    name: str
    kind: str  # feishu, webhook, alertmanager, apprise
    url: str
    secret: str = ""
    schema: str = "2.0"  # of a Feishu card

    def __repr__(self) -> str:
        return f"Channel({self.name!r}, kind={self.kind!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """What rich shows; a struct would offer all fields."""
        return [("name", self.name), ("kind", self.kind)]


class Gateway(Struct, frozen=True, kw_only=True):
    """How one gateway tells of its usage, and whether it counts its own admissions."""

    name: str
    usage: str = "events"  # events, log, daily_usage
    guard: bool = False
    daily_usage: str = "gateway"  # who writes the daily_usage keys: gateway or engine
    hashes: tuple[str, ...] = ()  # of keys that it alone counts under; with usage daily_usage


class Route(Struct, frozen=True, kw_only=True):
    """Alerts of a kind and their receivers. An empty condition holds for all."""

    severity: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()  # patterns: `*` stands for any text
    kind: tuple[str, ...] = ()
    send: tuple[str, ...] = ()  # nobody: the alert is kept, and told to none


class Digest(Struct, frozen=True, kw_only=True):
    """The report of the day before."""

    at: str  # HH:MM in the policy's zone
    send: tuple[str, ...] | None = None  # None: as routes say


class Watch(Struct, frozen=True, kw_only=True):
    """From when on something about blastdoor or its surroundings is told."""

    behind: Millis = 5 * MINUTE  # usage is complete only up to so long ago
    dead_letters: int = 10  # within ten minutes
    redis_memory: float = 0.8  # share of Redis's maxmemory
    expiring: Millis = 3 * DAY  # before the end of a package with tokens that will not be used


class Alerting(Struct, frozen=True, kw_only=True):
    """What is announced, where, how often and in which language."""

    thresholds: tuple[float, ...] = (0.8, 1.0)  # shares of a limit
    send: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()  # the first that fits decides; where none does, `send`
    language: str = "zh"
    dashboard: str = ""  # a link for people
    group: Millis = 5 * SECOND  # so long an alert waits for others to go in one message; 0: each by itself
    cooldown: Millis = 10 * MINUTE  # what comes and goes is told once in this time
    repeat: Millis = DAY  # what lasts is told again after this time; 0: never
    digest: Digest | None = None
    watch: Watch = Watch()


class RuleSpec(Struct, frozen=True, kw_only=True):
    """One rule as data: in `scope`, when the CEL condition `when` holds, `action` applies and `says` tells a person."""

    name: str
    scope: str  # model, tenant, user, ip, global
    when: str
    action: str
    says: str
    says_zh: str = ""  # the same in Chinese; empty: there is only one
    alert: str | None = None  # severity
    priority: int = 0
    lasting: Millis = 0  # `for:` so long the condition must hold before the rule fires
    clear: str | None = None  # the condition that ends it; None: that `when` holds no more
    keep_firing_for: Millis = 0  # it goes on firing so long after its end began
    ban_for: Millis = 0  # of the effect `ban`: a block that lasts so long from when it fired
    on_error: str | None = None  # ignore, warn, block; None: it counts as holding if its action restricts calls
    dry_run: bool = False  # it is asked and reported, and binds nobody


class Budget(Struct, frozen=True, kw_only=True):
    """What a tenant may use. None: no limit."""

    daily_tokens: int | None = None
    monthly_tokens: int | None = None
    over: str = "degrade"  # what happens beyond it: degrade, block, warn


class Price(Struct, frozen=True, kw_only=True):
    """Money per million tokens, exact. None: cached input costs what input costs."""

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    since: str = ""  # valid from this accounting day on; "": always


class Spend(Struct, frozen=True, kw_only=True):
    """The money at which everything online closes."""

    daily: Decimal
    currency: str = "CNY"
    basis: str = "charged"  # tokens beyond the free pool (high estimate); list: every token
    unknown_price: Price | None = None  # of a model without a price; None: the dearest that is known


class Rate(Struct, frozen=True, kw_only=True):
    """At most `calls` calls in any `per` milliseconds."""

    calls: int
    per: Millis


class Provider(Struct, frozen=True, kw_only=True):
    """Whom the poller asks for balances. Credentials are references here (`env:NAME`, `file:PATH`), resolved by who
    asks."""

    name: str
    kind: str  # volcengine, aliyun, http, file
    packages: dict[str, tuple[str, ...]] = {}  # model -> codes and names of its packages; /…/ is an expression
    access_key: str = ""
    secret_key: str = ""
    region: str = ""
    host: str = ""  # another address of the interface
    products: tuple[str, ...] = ()  # only packages of these; none: of all
    settled: bool = False  # ask for deductions, too
    url: str = ""
    token: str = ""
    path: str = ""
    every: Millis = 30 * MINUTE
    least: Millis = 5 * MINUTE


class Sender(Struct, frozen=True, kw_only=True):
    """Who may send events over HTTP, and what. `token` is the resolved secret: never print this record."""

    name: str
    token: str
    may: tuple[str, ...] = ("usage",)  # usage, balances, controls

    def __repr__(self) -> str:
        return f"Sender({self.name!r}, may={self.may!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """What rich shows; a struct would offer all fields."""
        return [("name", self.name), ("may", self.may)]


class Viewer(Struct, frozen=True, kw_only=True):
    """Who may look at usage and decisions over HTTP; `tenant` None: at all. `token` is the resolved secret: never print
    this record."""

    name: str
    token: str
    tenant: str | None = None

    def __repr__(self) -> str:
        return f"Viewer({self.name!r}, tenant={self.tenant!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """What rich shows; a struct would offer all fields."""
        return [("name", self.name), ("tenant", self.tenant)]


class Policy(Struct, frozen=True, kw_only=True):
    """Everything the operator decides, with defaults that need no file."""

    timezone: str = "Asia/Shanghai"
    day_starts: str = "00:00"
    mode: Mode = Mode.ENFORCE
    default: ModelTerms = ModelTerms()
    models: dict[str, ModelTerms] = {}
    aliases: dict[str, str] = {}
    alerts: Alerting = Alerting()
    channels: dict[str, Channel] = {}
    gateways: dict[str, Gateway] = {}
    providers: dict[str, Provider] = {}
    senders: dict[str, Sender] = {}
    viewers: dict[str, Viewer] = {}
    tenant_default: Budget = Budget()
    tenants: dict[str, Budget] = {}
    spend: Spend | None = None
    prices: dict[str, tuple[Price, ...]] = {}  # by model, in order of their beginning
    limits: dict[str, Rate] = {}  # per_ip, per_user
    rules: tuple[RuleSpec, ...] = ()
    lateness: Millis = 5 * SECOND  # how long a record may be under way
    close_after_days: int = 3  # events for days closed longer ago are refused as too late
    gate_buffer: int = 50_000  # a v6 gate's own SMALL_BUFFER, added back in its keys
    hash: str = "defaults"

    def terms(self, model: str) -> ModelTerms:
        """The terms of a canonical model name."""
        return self.models.get(model, self.default)

    def canonical(self, name: str) -> str:
        """The one name that all spellings of a model share."""
        return self.aliases.get(name, name)

    def named(self) -> frozenset[str]:
        """Scopes of the models and tenants that the policy names; all others were named by callers."""
        models = (f"model:{name}" for name in (*self.models, *self.aliases.values(), *self.prices))
        return frozenset((*models, *(f"tenant:{name}" for name in self.tenants)))

    def calendar(self) -> Calendar:
        """The accounting days of this policy."""
        return calendar_of(self.timezone, self.day_starts)

    def left_to_gates(self) -> tuple[str, ...]:
        """Fields that bind no gate by themselves: gates hold rates by their own file. An operator must not take what
        stands here for protection; it is for the contract's annex."""
        return tuple(f"limits.{name}" for name in sorted(self.limits))

    @property
    def counts_money(self) -> bool:
        """Whether what tokens cost matters to the operator."""
        return self.spend is not None or bool(self.prices)

    @property
    def currency(self) -> str:
        """Of all money."""
        return "CNY" if self.spend is None else self.spend.currency

    def hashed(self) -> Policy:
        """With the hash of its content. Called while channels hold references, so that no secret goes into it."""
        content = msgspec.json.encode(replace(self, hash=""), order="deterministic")
        return replace(self, hash=hashlib.sha256(content).hexdigest()[:12])

    def observing(self) -> Policy:
        """The same policy, not binding."""
        return replace(self, mode=Mode.OBSERVE)
