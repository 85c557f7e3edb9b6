// What the page says, in both languages. Numbers and shares are written as the language writes them.

const WORDS = {
  en: {
    title: "Usage", language: "Language", token: "Token", open: "Open",
    tokenHint: "The token your operator gave you. It stays in this tab and goes with it.",
    tenant: "Tenant", by: "By", department: "Department", user: "User", knowledge_base: "Knowledge base",
    model: "Model", day: "Day", from: "From", to: "To", show: "Show", leave: "Forget the token",
    budget: "Remaining budget", csv: "Download CSV", bom: "for Excel (with a byte order mark)",
    heading: "Tokens by {0}, {1} to {2}", nobody: "(no tenant)", unassigned: "(unassigned)", other: "(other)",
    rest: "all others", table: "Table of usage", caption: "{0} rows; the sums below are those of the chart.",
    share: "Share", tokens: "Tokens", requests: "Requests", prompt: "Prompt", completion: "Completion",
    cached: "Cached", cache_hits: "Cache hits", saved: "Saved", cost: "Cost ({0})", total: "Total",
    unknown: "not known", piece: "{0}: {1} tokens ({2})", chart: "Tokens by {0}: {1} in total",
    day_window: "Day {0}", month_window: "Month {0}", used: "{0} of {1} tokens used", left: "{0} left",
    over: "{0} over", noLimit: "{0} tokens used; no limit", until: "until {0}",
    noBudget: "No budget: nothing has been decided about this tenant.",
    resting: "As of {0}: nothing was used since.", observing: "The limits are only observed: no call is refused for them.",
    allow: "Calls are let through.", warn: "Calls are let through; most of the budget is used.",
    degrade: "The budget is used up: calls are answered without a model.", block: "The budget is used up: calls are refused.",
    kill: "An operator has closed this tenant: every call is refused.", unknown_action: "It is not known what holds.",
    complete: "Complete until {0}.", behind: "Counting is behind. Complete until {0}: later calls may be missing here.",
    incomplete: "This worker does not know how far counting has come: calls may be missing here.",
    loading: "Loading…", ready: "{0} tokens, {1} requests.", nothing: "No usage in these days.",
    noTenants: "No usage yet.", noToken: "Type in the token you were given.", wrongToken: "This token is not known.",
    forbidden: "This is not to be seen with this token: {0}", wrong: "The worker refused the question: {0}",
    unready: "Not known yet: {0} Asking again in {1} s.", unreachable: "The worker does not answer. Asking again in {0} s.",
    downloaded: "{0} was downloaded.",
  },
  zh: {
    title: "用量", language: "语言", token: "令牌", open: "打开",
    tokenHint: "运维人员给您的令牌。它只留在此标签页中，关闭即失。",
    tenant: "租户", by: "维度", department: "部门", user: "用户", knowledge_base: "知识库",
    model: "模型", day: "日期", from: "从", to: "到", show: "查看", leave: "清除令牌",
    budget: "剩余额度", csv: "下载 CSV", bom: "供 Excel 使用（带 BOM）",
    heading: "按{0}统计的 Token 用量，{1} 至 {2}", nobody: "（无租户）", unassigned: "（未归属）", other: "（其他）",
    rest: "其余各项", table: "用量表", caption: "共 {0} 行；合计与图中一致。",
    share: "占比", tokens: "Token", requests: "请求数", prompt: "输入", completion: "输出",
    cached: "缓存输入", cache_hits: "缓存命中", saved: "节省", cost: "费用（{0}）", total: "合计",
    unknown: "未知", piece: "{0}：{1} Token（{2}）", chart: "按{0}统计的 Token 用量：共 {1}",
    day_window: "当日 {0}", month_window: "当月 {0}", used: "已用 {0} / {1} Token", left: "剩余 {0}",
    over: "超出 {0}", noLimit: "已用 {0} Token；不限量", until: "有效至 {0}",
    noBudget: "没有额度：尚无针对该租户的决策。",
    resting: "截至 {0}：此后没有用量。", observing: "额度仅供观察：不会因此拒绝调用。",
    allow: "调用正常放行。", warn: "调用仍放行；额度已用去大半。",
    degrade: "额度已用尽：调用改由不经模型的方式回答。", block: "额度已用尽：调用被拒绝。",
    kill: "运维人员已关闭该租户：所有调用被拒绝。", unknown_action: "当前状态未知。",
    complete: "数据完整至 {0}。", behind: "统计滞后。数据完整至 {0}：之后的调用可能未计入。",
    incomplete: "此节点不知道统计进度：部分调用可能未计入。",
    loading: "加载中…", ready: "{0} Token，{1} 次请求。", nothing: "所选日期内没有用量。",
    noTenants: "还没有用量。", noToken: "请输入您的令牌。", wrongToken: "令牌无效。",
    forbidden: "此令牌无权查看：{0}", wrong: "查询被拒绝：{0}",
    unready: "数据尚未就绪：{0} {1} 秒后重试。", unreachable: "服务没有应答，{0} 秒后重试。",
    downloaded: "已下载 {0}。",
  },
};
const TAGS = { en: "en", zh: "zh-CN" };
let language = "en";

/** The language to begin with: the browser's first that we have. */
export function preferred(languages) {
  return languages.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in WORDS) ?? "en";
}

/** Speak this language from now on, wherever the document has a word of ours. */
export function speak(chosen) {
  language = chosen in WORDS ? chosen : "en";
  document.documentElement.lang = TAGS[language];
  document.title = say("title");
  for (const place of document.querySelectorAll("[data-word]")) place.textContent = say(place.dataset.word);
  for (const place of document.querySelectorAll("[data-label]")) place.setAttribute("aria-label", say(place.dataset.label));
  return language;
}

export function say(word, ...values) {
  return WORDS[language][word].replace(/\{(\d)\}/g, (_, place) => String(values[place]));
}

export function whole(number) {
  return new Intl.NumberFormat(TAGS[language]).format(number);
}

export function percent(part, total) {
  const style = { style: "percent", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(TAGS[language], style).format(total > 0 ? part / total : 0);
}

/** An instant as the worker writes it, in the policy's zone. */
export function instant(text) {
  return `${text.slice(0, 10)} ${text.slice(11, 19)} (UTC${text.slice(text.search(/([+-]\d\d:\d\d|Z)$/))})`.replace("UTCZ", "UTC");
}

/** A name, never longer than is read. */
export function cut(name) {
  const letters = [...name];
  return letters.length > 120 ? `${letters.slice(0, 119).join("")}…` : name;
}

/** A row's name. */
export function nameOf(row) {
  return row.value ? cut(row.value) : say("unassigned");
}
