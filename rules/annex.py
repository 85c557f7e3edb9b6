"""The technical annex of a contract: three clauses with the numbers that a policy enforces, in Chinese or English."""

from __future__ import annotations

from collections.abc import Callable

from rules.moment import DAY, HOUR, MINUTE, SECOND
from rules.policy import Budget, Policy, Rate

LANGUAGES = ("zh", "en")

_OVER = {
    "zh": {
        "degrade": "系统将自动降级为离线关键词问答",
        "block": "系统将停止调用大模型",
        "warn": "系统将继续服务并向双方告警，超出部分按实际费用结算",
    },
    "en": {
        "degrade": "the system falls back to offline keyword answers by itself",
        "block": "the system stops calling the model",
        "warn": "the system goes on and tells both sides; what is used beyond is settled at its actual price",
    },
}
_SPANS = {"zh": ("秒", "分钟", "小时", "天"), "en": ("second", "minute", "hour", "day")}


def annex(policy: Policy, language: str, tenant: str = "") -> str:
    """The clauses as Markdown; `tenant`: with this one's budget, otherwise with the one of all who have none."""
    budget = policy.tenants.get(tenant, policy.tenant_default) if tenant else policy.tenant_default
    render = {"zh": _chinese, "en": _english}[language]
    return render(policy, budget, tenant)


def missing(policy: Policy, tenant: str = "") -> list[str]:
    """What the policy does not say, so that a clause has no number: fields to fill in before anybody signs."""
    budget = policy.tenants.get(tenant, policy.tenant_default) if tenant else policy.tenant_default
    where = f"tenants.{tenant}" if tenant in policy.tenants else "tenants.default"
    needed = {
        f"{where}.monthly_tokens": budget.monthly_tokens,
        "limits.per_user": policy.limits.get("per_user"),
        "limits.per_ip": policy.limits.get("per_ip"),
        "spend.daily": policy.spend,
    }
    return [field for field, value in needed.items() if value is None]


def _chinese(policy: Policy, budget: Budget, tenant: str) -> str:
    over = _OVER["zh"][budget.over]
    monthly = _amount(budget.monthly_tokens, lambda n: f"每月 {n:,} Tokens", "（每月额度未在策略中设定）")
    daily = _amount(budget.daily_tokens, lambda n: f"，其中每日不超过 {n:,} Tokens", "")
    shares = "、".join(f"{share:.0%}" for share in policy.alerts.thresholds)
    warned = f"用量达到额度的 {shares} 时，系统向双方指定的联系人发出告警。" if shares else ""
    per_user, per_ip = (_rate(policy.limits.get(name), "zh") for name in ("per_user", "per_ip"))
    money = policy.spend
    kill = (
        f"全系统单日费用达到 {money.daily:,} {money.currency} 时，全部在线调用暂停至下一个计费日，或由授权人员恢复。"
        if money is not None
        else "（单日止损金额未在策略中设定）"
    )
    return f"""# 技术附件：用量与防护条款{f"（{tenant}）" if tenant else ""}

计费日按 {policy.timezone} 时间 {policy.day_starts} 起算。策略版本：{policy.hash}。

## 一、Token 超额即停（Hard Limit Clause）

基础交付包包含{monthly}{daily}。一旦达到上限，{over}；若需继续使用，\
需在管理后台在线增购 Token 包，增购立即生效。{warned}

## 二、IP 与单用户防刷基线（Fair Use Policy）

单用户最高提问频次为 {per_user}，单个 IP 最高为 {per_ip}。\
严禁通过脚本或程序化方式调用前台 Web 交互界面；\
对异常来源，服务方有权封禁其 IP 或用户，并说明原因与期限。

{kill}

## 三、实时消耗看板（Transparency Dashboard）

管理后台向甲方管理员提供各部门、各用户、各知识库的每日 Token 消耗统计与可导出的明细。\
每一次限制都附有原因、依据的数值与时间。
"""


def _english(policy: Policy, budget: Budget, tenant: str) -> str:
    over = _OVER["en"][budget.over]
    monthly = _amount(budget.monthly_tokens, lambda n: f"{n:,} tokens a month", "(no monthly amount in the policy)")
    daily = _amount(budget.daily_tokens, lambda n: f", of which {n:,} tokens a day at most", "")
    shares = ", ".join(f"{share:.0%}" for share in policy.alerts.thresholds)
    warned = f" At {shares} of the amount the contacts of both sides are told." if shares else ""
    per_user, per_ip = (_rate(policy.limits.get(name), "en") for name in ("per_user", "per_ip"))
    money = policy.spend
    kill = (
        f"When the cost of a day reaches {money.daily:,} {money.currency}, all online calls stop until the next day, "
        "or until an authorised person resumes them."
        if money is not None
        else "(no daily amount of money in the policy)"
    )
    return f"""# Technical annex: usage and protection{f" ({tenant})" if tenant else ""}

Days begin at {policy.day_starts} in {policy.timezone}. Version of the policy: {policy.hash}.

## 1. Hard limit

The base package contains {monthly}{daily}. Once it is used up, {over}; to go on, more tokens are bought in the
administration, which takes effect at once.{warned}

## 2. Fair use

A user may ask {per_user}, an address {per_ip}. Calling the web interface by scripts or programs is forbidden; the
provider may ban the address or user it comes from, and tells why and for how long.

{kill}

## 3. Transparency

The administration shows the customer's administrators the daily tokens of each department, user and knowledge base,
with details to export. Every limitation comes with its reason, the numbers behind it and its time.
"""


def _amount(tokens: int | None, said: Callable[[int], str], otherwise: str) -> str:
    return otherwise if tokens is None else said(tokens)


def _rate(rate: Rate | None, language: str) -> str:
    if rate is None:
        return {"zh": "（未在策略中设定）", "en": "(no rate in the policy)"}[language]
    names = dict(zip((SECOND, MINUTE, HOUR, DAY), _SPANS[language], strict=True))
    span = names[rate.per]
    return f"每{span} {rate.calls:,} 次" if language == "zh" else f"{rate.calls:,} times {_article(span)} {span}"


def _article(word: str) -> str:
    return "an" if word == "hour" else "a"
