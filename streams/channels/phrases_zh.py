"""The words in Chinese."""

from __future__ import annotations

from rules.alerts import Kind, Severity
from streams.channels.phrases import Phrase, Words

THRESHOLDS = {
    ("pool", False): Phrase(
        "{who} 已用到限额的 {share}",
        "限额取免费额度的下界：到限额为止的调用都在免费额度之内，尚不产生费用。",
        "留意消耗速度；不急的任务推迟到次日返还到账之后，或提前增购资源包。",
    ),
    ("pool", True): Phrase(
        "{who} 已用到限额的 {share}",
        "免费额度已用到安全余量，再放行的调用可能按原价计费。",
        "等待返还到账或增购资源包；确认网关读到的决策为 block。",
    ),
    ("cap", False): Phrase(
        "{who} 已用到每日上限的 {share}",
        "这是返还上限而不是计费上限：超过每日上限的用量次日不返还，未必当场计费。",
        "把不急的任务留到次日，避免白用额度。",
    ),
    ("cap", True): Phrase(
        "{who} 已用到每日上限的 {share}",
        "已到返还上限：再用的部分次日不返还，启动资金会永久减少；未必当场计费。",
        "剩余任务留到次日；确需继续，请由管理员调高每日上限。",
    ),
    ("day", False): Phrase(
        "{who} 已用到今日 Token 预算的 {share}",
        "今日预算尚未用尽；用尽后按策略降级、拦截或仅提醒，次日自动恢复。",
        "确认用量是否正常；需要时由管理员增购(blastdoor topup)。",
    ),
    ("day", True): Phrase(
        "{who} 已用到今日 Token 预算的 {share}",
        "今日预算已用尽：后续调用按策略降级、拦截或仅提醒；次日或增购之后恢复。",
        "排查是否有异常调用；确属正常用量的，由管理员增购(blastdoor topup)。",
    ),
    ("month", False): Phrase(
        "{who} 已用到本月 Token 预算的 {share}",
        "本月预算尚未用尽；用尽后按策略降级、拦截或仅提醒，直到月底。",
        "对照剩余天数确认消耗速度；需要时由管理员增购(blastdoor topup)。",
    ),
    ("month", True): Phrase(
        "{who} 已用到本月 Token 预算的 {share}",
        "本月预算已用尽：后续调用按策略降级、拦截或仅提醒，直到下月或增购之后。",
        "排查是否有异常调用；确属正常用量的，由管理员增购(blastdoor topup)。",
    ),
    ("spend", False): Phrase(
        "当日花费已达限额的 {share}",
        "以上是今日花费的偏高估计；达到限额时，所有在线调用会被熔断。",
        "用指标 blastdoor_spend_money 查看是哪个模型在花钱；不急的任务改日再做。",
    ),
    ("spend", True): Phrase(
        "熔断：当日花费已达限额 ({share})",
        "所有在线调用已关闭，直到次日：不再有调用，也不再产生费用。",
        "先查明原因，再执行 blastdoor resume global；恢复后可再花同样的金额。",
    ),
    ("", False): Phrase(
        "{who} 已用到配额的 {share}",
        "配额尚未用尽；用尽后的调用会按策略降级或拦截。",
        "确认用量是否正常；需要时由管理员调高配额。",
    ),
    ("", True): Phrase(
        "{who} 已用到配额的 {share}",
        "配额已用尽：后续调用按策略降级或拦截，费用不会因此继续增加。",
        "排查是否有异常调用；确属正常用量的，由管理员调高配额。",
    ),
}

KINDS: dict[str, Phrase] = {
    Kind.RULE: Phrase(
        "规则 {rule} 开始对 {who} 生效",
        "后续调用按该规则的动作处理，数字见上。",
        "查看原因；判断有误时修改策略文件，并用 blastdoor check-policy 校验。",
    ),
    Kind.LAG_BOUND_BROKEN: Phrase(
        "{who} 的余额结算滞后超出预期",
        "限额已按更长的滞后重新计算，下界仍然可信，但可用额度会变小。",
        "若经常出现，请调大策略中的 max_lag。",
    ),
    Kind.UNEXPLAINED: Phrase(
        "{who} 的免费额度无故减少",
        "有用量没有经过计量就被扣减；免费额度因此提前见底，之后的调用会计费。",
        "核对资源包是否到期，并查找绕过网关的调用(例如泄露的 API Key)。",
    ),
    Kind.UNSEEN_ARRIVAL: Phrase(
        "{who} 出现未预见的到账",
        "免费额度比已知的多，不产生费用；上下界已从这次读数重新开始。",
        "在控制台核对到账来源；属实则无需处理。",
    ),
    Kind.RETURN_OVERDUE: Phrase(
        "{who} 的返还迟到",
        "限额只计已到账的额度，不会因此计费；但今日可用额度比预期少。",
        "稍后再看；迟迟不到账时到控制台核对，并联系厂商。",
    ),
    Kind.USAGE_WITHOUT_READINGS: Phrase(
        "{who} 有用量但没有余额读数",
        "免费额度未知：期间放行的调用可能计费。",
        "检查余额采集程序及其凭据；策略中的 unknown 决定此时关闭还是保持。",
    ),
    Kind.READINGS_WITHOUT_USAGE: Phrase(
        "{who} 有余额读数但没有用量记录",
        "用量没有被计量，限额不会收紧：超出免费额度的调用会计费。",
        "检查网关日志的采集(blastdoor ship)是否在运行，模型名称是否与 aliases 对得上。",
    ),
    Kind.FOREIGN_WRITE: Phrase(
        "{who} 的 Redis 键被他方改写",
        "网关可能短暂读到别人的限额，期间放行的调用可能计费；现已写回正确数值。",
        "关闭网关自己的余额同步，并查明写入者。",
    ),
    Kind.CALIBRATION_CONFLICT: Phrase(
        "{who} 的人工校准与读数不符",
        "弄清之前采用较低的一方，不会因此计费。",
        "核对控制台口径和日期；确认无误可用 --force 重新校准。",
    ),
    Kind.CALIBRATED: Phrase(
        "{who} 的免费额度已人工校准",
        "限额从此以校准值为依据；校准值偏高时，超出真实额度的调用会计费。",
        "若不是预期中的操作，请查明操作者并重新校准。",
    ),
    Kind.ARRIVAL: Phrase(
        "{who} 有额度到账",
        "可用的免费额度增加，不产生费用；新一轮的用量提醒重新开始。",
        "无需处理。",
    ),
    Kind.POLL_STOPPED: Phrase(
        "已停止查询余额",
        "限额先沿用最近的读数，之后视为未知；此后放行的调用可能按原价扣费。",
        "按原因修复（密钥、权限），用 blastdoor poll --show 核对，再重启轮询进程。",
    ),
    Kind.EXPIRED: Phrase(
        "{who} 的资源包到期，仍有额度未用",
        "这部分额度已经失效，无法追回；其余免费额度足够时不产生费用。",
        "安排调用时优先消耗临近到期的资源包。",
    ),
    Kind.CLOCKS_APART: Phrase(
        "时钟不一致：{who}",
        "结算滞后与时钟偏差之和仍在滞后上界之内时不产生费用；超出之后放行的调用可能计费。",
        "用 NTP 校准网关、日志采集、余额采集和本机的时钟；时间偏早的，检查记录是否在途中被积压。",
    ),
    Kind.USAGE_MISSING: Phrase(
        "{who} 有调用未被计量",
        "缺失的用量要等余额读数更新后才能看到，在此之前放行的调用可能计费。",
        "检查各网关的日志是否完整采集：采集进程停止、日志被轮转、死信。",
    ),
    Kind.EXPIRING: Phrase(
        "{who} 的资源包即将到期，预计用不完",
        "到期前没有用完的额度会失效，启动资金永久减少；不会因此计费。",
        "在到期前安排消耗；每日用量达到上面的数字即可全部用完。",
    ),
    Kind.CHARGED: Phrase(
        "{who} 可能已有用量超出免费额度",
        "超出部分按原价计费，数量与金额(至少 ~ 至多)见上，不会退还。",
        "查明调用为何被放行：网关处于放行状态、有调用绕过网关，或安全余量过小。",
    ),
    Kind.UNPRICED: Phrase(
        "策略中没有 {who} 的价格",
        "其费用只是假设：取 spend.unknown_price，没有则取已知的最高价；熔断按此计入。",
        "在策略的 prices 中补上该模型；若只是另一种写法，请加入 aliases。",
    ),
    Kind.BLOCK_IGNORED: Phrase(
        "{who} 已被拦截，调用却仍在继续",
        "限额已到或未知：此时放行的调用可能按原价计费。",
        "检查网关是否读取决策、是否处于放行状态；必要时先在厂商侧停用密钥。",
    ),
    Kind.GATE_OPEN: Phrase(
        "有网关未经询问即放行调用",
        "网关读不到决策，又设置为放行：那里的限额不起作用，调用可能计费。",
        "检查网关到 Redis 的连接和引擎心跳；网关配置中的 failure 决定哪些层放行。",
    ),
    Kind.ENGINE_BEHIND: Phrase(
        "blastdoor 处理滞后",
        "限额依据的是较早的用量：尚未读到的用量可能使模型超出限额。",
        "检查 worker 和 Kafka；指标 blastdoor_lag_records 显示滞后的环节。",
    ),
    Kind.DEAD_LETTERS: Phrase(
        "无法读取的记录增多",
        "读不出的用量不会被计入：限额不会因此收紧，调用可能计费。",
        "查看死信主题中的原因；修复上游后重新发送这些记录。",
    ),
    Kind.TENANTS_CROWDED: Phrase(
        "租户数量超出上限",
        "超出的租户合并统计，引擎不再单独执行其预算；网关自身的限额仍然有效。",
        "检查租户名是否被随意构造；真实租户请写入策略文件的 tenants，以保留其位置。",
    ),
    Kind.REDIS_UNREACHABLE: Phrase(
        "Redis 无法连接",
        "网关读不到新的决策：期间如何处理取决于网关自己的设置，调用可能计费。",
        "检查 Redis 和网络；恢复后决策会自动写入。",
    ),
    Kind.REDIS_GROWING: Phrase(
        "Redis 内存即将用尽",
        "写满之后无法再写入决策，网关只能沿用旧的决策。",
        "查明增长的键(redis-cli --bigkeys)；常见原因是没有过期时间的 daily_usage 键。",
    ),
    Kind.POLICY_REFUSED: Phrase(
        "新的策略文件有错误，未生效",
        "旧策略继续生效：文件里的改动还没有起作用。",
        "运行 blastdoor check-policy 查看全部错误；改好后会自动生效。",
    ),
    Kind.DIGEST: Phrase(
        "{day} 用量汇总",
        "免费额度以内没有产生费用。",
        "无需处理。",
    ),
    Kind.TEST: Phrase(
        "测试：此渠道可以收到告警",
        "无，这只是测试。",
        "无需处理。",
    ),
    Kind.RECOVERED: Phrase(
        "已恢复：{what}",
        "此前告警所述的情况已经结束，以上是当前的数字。",
        "无需处理。",
    ),
}

RULES: dict[str, Phrase] = {
    "global-killed": Phrase(
        "熔断：管理员已关闭所有调用",
        "恢复之前没有任何调用放行，不产生费用。",
        "操作者与原因见上；执行 blastdoor resume global 恢复。",
    ),
    "global-spend-reached": Phrase(
        "熔断：当日花费已达限额",
        "所有在线调用已关闭，直到次日：不再有调用，也不再产生费用。",
        "先查明原因，再执行 blastdoor resume global；恢复后可再花同样的金额。",
    ),
    **dict.fromkeys(
        ("user-killed", "ip-killed", "tenant-closed"),
        Phrase(
            "{who} 已被管理员关闭",
            "恢复之前它的调用一律不放行，不产生费用。",
            "操作者与原因见上；执行 blastdoor resume 恢复。",
        ),
    ),
    **dict.fromkeys(
        ("user-banned", "ip-banned"),
        Phrase(
            "{who} 已被管理员封禁",
            "封禁期间它的调用一律不放行，不产生费用。",
            "操作者与原因见上；执行 blastdoor unban 解除。",
        ),
    ),
}

BACK = Phrase(
    "{who} 已回到限额以内",
    "限额以内的调用重新免费；新一轮的用量提醒重新开始。",
    "无需处理；推迟的任务可以继续。",
)

FREED = Phrase(
    "{who} 已回到预算以内",
    "预算以内的调用重新放行；新一轮的用量提醒重新开始。",
    "无需处理；推迟的任务可以继续。",
)

ZH = Words(
    language="zh",
    severities={Severity.INFO: "提示", Severity.WARNING: "警告", Severity.CRITICAL: "严重"},
    scopes={"model": "模型", "tenant": "租户", "user": "用户", "ip": "IP", "global": "全局", "engine": "引擎"},
    labels={
        "used": "已用",
        "limit": "限额",
        "left": "距限额",
        "over": "超出限额",
        "pool": "当日免费额度(下界 ~ 上界)",
        "charged": "可能已计费",
        "most": "至多",
        "rule": "规则",
        "reason": "原因",
        "window": "核算日",
        "round": "第 {n} 轮额度",
        "at": "时间",
        "money": "对费用的影响",
        "advice": "建议",
        "id": "告警编号",
        "link": "打开看板",
        "unknown": "未知",
        "digest": "日报",
        "all": "合计",
        "returned": "返还",
        "expired": "到期",
        "unexplained": "不明减少",
        "refused": "拦截",
        "requests": "请求",
        "cache_hits": "缓存命中",
        "saved": "缓存节省",
        "rest": "剩余",
        "more": "其余",
        "never_known": "免费额度未知，是否产生费用也无从判断。",
        "over_now": "已恢复",
        "times": "此前已提醒",
    },
    thresholds=THRESHOLDS,
    kinds=KINDS,
    rules=RULES,
    back=BACK,
    freed=FREED,
    again="仍在持续：{title}",
    hours="{h} 小时 {m} 分",
    many="{n} 条告警：{title} 等",
    more="{names} 等共 {all} 个",
    comma="、",
    charged="估计至多 {n} tokens 已超出免费额度，按原价计费，不会退还。",
    colon="：",
)
