"""An alert in words: what happened, the numbers, the reason, what it means for money, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from decimal import Decimal

from msgspec.structs import replace as replace_alert

from rules.alerts import Alert, Kind
from rules.moment import EARLIEST, LATEST, Millis, to_datetime
from rules.prices import in_words
from streams.channels.digests import report
from streams.channels.layout import Line, Message
from streams.channels.phrases import Phrase, Words
from streams.channels.phrases_en import EN
from streams.channels.phrases_zh import ZH
from streams.channels.reasons_zh import in_chinese
from streams.channels.redaction import plain

LANGUAGES = {"zh": ZH, "en": EN}
MOST_DETAILS = 12
LONGEST_TEXT = 4_000  # characters; a channel may shorten further


def message(alert: Alert, language: str, zone: tzinfo, dashboard: str = "") -> Message:
    """The words for `alert`; an unknown language is English. `dashboard` is a URL to offer, if any."""
    words = LANGUAGES.get(language, EN)
    if alert.kind is Kind.DIGEST:
        return report(alert, words, dashboard)
    who = words.who(alert.scope)
    phrase = _phrase(alert, words)
    title = _title(alert, words)
    good = alert.kind is Kind.RECOVERED
    return Message(
        language=words.language,
        severity=alert.severity,
        tag=words.labels["over_now"] if good else words.severities[alert.severity],
        title=title[:1].upper() + title[1:],
        subject=who,
        lines=tuple(_numbers(alert, words)) + tuple(_texts(alert, words, zone)),
        sections=(
            Line(words.labels["money"], _money(alert, phrase, words)),
            Line(words.labels["advice"], phrase.advice),
        ),
        foot=f"blastdoor · {words.labels['id']} {plain(alert.id, 200)}",
        link=Line(words.labels["link"], dashboard) if dashboard else None,
        colon=words.colon,
        good=good,
    )


def _title(alert: Alert, words: Words) -> str:
    named = {"who": words.who(alert.scope), "share": _share(alert.threshold), "rule": plain(alert.rule, 100)}
    over = {"what": _what_is_over(alert, words), "day": plain(alert.window, 100)}
    title = _phrase(alert, words).title.format(**named, **over)
    return words.again.format(title=title) if alert.again else title


def _what_is_over(alert: Alert, words: Words) -> str:
    if alert.kind is not Kind.RECOVERED or not alert.ends or alert.ends[0].kind is Kind.RECOVERED:
        return ""
    over = alert.ends[0]
    return _title(replace_alert(alert, kind=over.kind, threshold=over.threshold, rule=over.rule, again=0), words)


def _phrase(alert: Alert, words: Words) -> Phrase:
    if alert.kind is Kind.RECOVERED and alert.ends and alert.ends[0].kind is Kind.THRESHOLD:
        return words.freed if alert.scope.startswith("tenant:") else words.back
    if alert.kind is Kind.RULE and alert.rule in words.rules:
        return words.rules[alert.rule]
    if alert.kind is not Kind.THRESHOLD:
        return words.kinds[alert.kind]
    full = alert.threshold is not None and alert.threshold >= 1
    wall = alert.details.get("wall", "pool" if alert.scope.startswith("model:") else "")
    return words.thresholds.get((wall, full)) or words.thresholds["", full]


def _money(alert: Alert, phrase: Phrase, words: Words) -> str:
    return words.charged.format(n=f"{alert.charged_high:,}") if alert.charged_high else phrase.money


def _share(threshold: float | None) -> str:
    if threshold is None:
        return "?"
    percent = (Decimal(str(threshold)) * 100).normalize()
    return f"{percent:f}%" if abs(percent) < 10**9 else f"{percent}%"


def _numbers(alert: Alert, words: Words) -> Iterator[Line]:
    labels = words.labels
    if alert.used is not None:
        yield Line(labels["used"], _amount(alert.used, alert.unit))
    if alert.limit is not None:
        yield Line(labels["limit"], f"{_amount(alert.limit, alert.unit)}{_part(alert.used, alert.limit)}")
    if alert.used is not None and alert.limit is not None:
        left = alert.limit - alert.used
        yield Line(labels["left" if left >= 0 else "over"], _amount(abs(left), alert.unit))
    if alert.pool_low is not None or alert.pool_high is not None:
        yield Line(labels["pool"], f"{_known(alert.pool_low, words)} ~ {_known(alert.pool_high, words)} tokens")
    if alert.charged_high:
        yield Line(labels["charged"], f"{labels['most']} {alert.charged_high:,} tokens")


def _texts(alert: Alert, words: Words, zone: tzinfo) -> Iterator[Line]:
    labels = words.labels
    if alert.rule:
        yield Line(labels["rule"], plain(alert.rule, LONGEST_TEXT))
    if alert.reason:
        yield Line(labels["reason"], said(alert, words.language))
    shown = [(name, value) for name, value in alert.details.items() if name != "wall"]  # the wall chose the phrase
    for name, value in shown[:MOST_DETAILS]:
        yield Line(plain(name, 100), _grouped(plain(value, LONGEST_TEXT)))
    if alert.again:
        yield Line(labels["times"], f"{alert.again:,}")
    again = f" ({labels['round'].format(n=alert.grant + 1)})" if alert.grant else ""
    yield Line(labels["window"], plain(alert.window, 100) + again)
    yield Line(labels["at"], _local(alert.at, zone))


def _amount(number: int, unit: str) -> str:
    """Tokens, or money in nano-units of a currency."""
    return f"{in_words(number)} {plain(unit, 20)}" if unit else f"{number:,} tokens"


def said(alert: Alert, language: str) -> str:
    """The reason in the language of the message."""
    reason = plain(alert.reason, LONGEST_TEXT)
    return in_chinese(reason) if language == "zh" else reason


def _part(used: int | None, limit: int) -> str:
    """How much of the limit is used, rounded down so that 100 % never stands for a little less."""
    if used is None or limit <= 0:
        return ""
    tenths = used * 1000 // limit
    return f" ({tenths // 10:,}.{tenths % 10}%)"


def _grouped(text: str) -> str:
    """A whole number with separators, other text as it is."""
    return f"{int(text):,}" if re.fullmatch(r"-?[0-9]{4,18}", text) else text


def _known(number: int | None, words: Words) -> str:
    return words.labels["unknown"] if number is None else f"{number:,}"


def _local(at: Millis, zone: tzinfo) -> str:
    if not EARLIEST <= at <= LATEST:
        return str(at)
    return to_datetime(at, zone).isoformat(sep=" ", timespec="seconds")
