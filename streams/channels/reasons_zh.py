"""Reasons that the core gives in English, in Chinese. A rule of the policy brings its own words in both languages.

A sentence here has the same places as its English one. What is not here is shown as it came: a reason in another
language is better than none.
"""

from __future__ import annotations

import re
from functools import cache

SENTENCES = {
    "{n} tokens were used since the last reading of the balance": "自上次余额读数以来已使用 {n} tokens",
    "{rest} of {all} tokens have not come back {h} h after the day began": (
        "核算日开始 {h} 小时后，{all} tokens 中仍有 {rest} 未返还"
    ),
    "times of readings are {how}": "余额读数的时间{how}",
    "times of usage are {how}": "用量的时间{how}",
    "{s} s ahead of their receipt: the clock that stamped them is fast, or ours is slow": (
        "比收到时早 {s} 秒：打时间戳的时钟偏快，或本机时钟偏慢"
    ),
    "{s} s behind their receipt: the clock that stamped them is slow, or they came late": (
        "比收到时晚 {s} 秒：打时间戳的时钟偏慢，或记录迟到"
    ),
    "{low} to {high} tokens came to the pool ({id})": "额度到账 {low} 至 {high} tokens({id})",
    "reading {id} is settled {m} min behind: the lag bound is raised": "读数 {id} 的结算滞后 {m} 分钟：滞后上界已调高",
    "at least {n} tokens came unseen (reading {id}): the pool is started afresh": (
        "至少 {n} tokens 未被察觉地到账(读数 {id})：额度从此读数重新开始推算"
    ),
    "at least {n} tokens left the pool unmetered (reading {id}): the pool is started afresh": (
        "至少 {n} tokens 未经计量就离开了额度(读数 {id})：额度从此读数重新开始推算"
    ),
    "package {id} ended with {least} to {most} tokens left": "资源包 {id} 到期时仍剩 {least} 至 {most} tokens",
    "{by} set the pool of {day} to {n}, by force, against everything known before": (
        "{by} 将 {day} 的额度强制设为 {n}，与此前所知不符"
    ),
    "{by} set the pool of {day} to {n}, beside the readings": "{by} 将 {day} 的额度设为 {n}，与读数并用",
    "calibration {id} to {n} does not fit: {why}": "校准 {id}(设为 {n})与已知不符：{why}",
    "it is for {day}, the accounting day is {today}": "它属于 {day}，而核算日是 {today}",
    "the readings allow {n} at most: they rule": "读数至多允许 {n}，以读数为准",
    "the readings say {n} at least: it rules": "读数至少为 {n}，以校准为准",
    "no rule applies": "没有规则适用",
    "{n} of {all} tokens that gateways counted today never reached us": (
        "网关今日计入的 {all} tokens 中有 {n} 从未送达引擎"
    ),
    "the policy has no price for {model}: its tokens of the day are taken to cost {money} {currency} at list price": (
        "策略中没有 {model} 的价格：其当日用量按 {money} {currency}(原价)估算"
    ),
    "{low} to {high} tokens went beyond the free pool, for {least} to {most} {currency}": (
        "{low} 至 {high} tokens 超出免费额度，费用 {least} 至 {most} {currency}"
    ),
    "the changed policy file is not in force: {why}": "改动后的策略文件没有生效：{why}",
    "{n} tokens were used lately, though calls are to be refused for {m} min now": (
        "近来仍用了 {n} tokens，而 {m} 分钟以来调用本应被拦截"
    ),
    "{n} tokens end unused from {day} on, at {rate} a day; {needed} a day would use them": (
        "按每日 {rate} 计，自 {day} 起将有 {n} tokens 未用即失效；每日 {needed} 可用完"
    ),
    "{day} has more than {n} tenants in one partition: the others are counted together": (
        "{day} 单个分区内的租户超过 {n} 个：其余租户合并统计"
    ),
    "the policy has no price for {id}: its tokens of the day are taken to cost {money} {name} at list price": (
        "策略中没有 {id} 的价格：按假设的单价，今日用量计 {money} {name}"
    ),
    "{low} to {high} tokens went beyond the free pool, for {least} to {most} {name}": (
        "{low} 至 {high} tokens 超出免费额度，计费 {least} 至 {most} {name}"
    ),
    "{n} records could not be read within {m} minutes": "{m} 分钟内有 {n} 条记录无法读取",
    "no answer for {m} min": "已 {m} 分钟没有应答",
    "{used} of {most} MB are used": "{most} MB 中已用 {used} MB",
    "{used} MB are used, {low} MB were within the last day; there is no maxmemory": (
        "已用 {used} MB，最近一天最低为 {low} MB；没有设置 maxmemory"
    ),
    "{n} calls passed unasked at {names}": "{n} 次调用未经询问即放行，位于 {names}",
    "usage of all partitions is known up to {m} min ago: a step is behind, or a partition has no worker": (
        "各分区的用量只知道到 {m} 分钟前：某个环节滞后，或某个分区没有 worker"
    ),
    "usage of all partitions is not known at all: a step is behind, or a partition has no worker": (
        "各分区的用量完全未知：某个环节滞后，或某个分区没有 worker"
    ),
    "{key} was written by somebody else and has been overwritten: is a gateway's own balance sync still running?": (
        "{key} 被他方写入，现已改回：网关自己的余额同步是否仍在运行？"
    ),
    "Redis held a newer decision than ours: does a second engine run with the same Redis and prefix?": (
        "Redis 中的决策比我们的新：是否有另一个引擎使用同一 Redis 和前缀？"
    ),
    "{provider} refuses to be asked for balances: {why}": "{provider} 拒绝余额查询：{why}",
}
NESTED = ("how", "why")  # places that may hold a sentence of their own
TEXTS = ("id", "by", "key", "names", "provider", "model", "currency", *NESTED)  # all other places hold numbers or a day
LONGEST = 2_000  # characters; names may come from outside, and nobody shall keep us searching


def in_chinese(reason: str) -> str:
    """The same in Chinese, or as it came."""
    for pattern, sentence in _patterns() if len(reason) <= LONGEST else ():
        if found := pattern.fullmatch(reason):
            values = found.groupdict()
            return sentence.format(**values | {name: in_chinese(values[name]) for name in NESTED if name in values})
    return reason


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Those with the most text of their own first, so that none is taken for a shorter one."""
    ordered = sorted(SENTENCES.items(), key=lambda pair: -len(re.sub(r"\{\w+\}", "", pair[0])))
    return tuple((re.compile(_pattern(english), re.DOTALL), chinese) for english, chinese in ordered)


def _pattern(english: str) -> str:
    def place(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{'.+?' if found[1] in TEXTS else '-?[0-9][0-9.,-]*'})"

    return re.sub(r"\\\{(\w+)\\\}", place, re.escape(english))
