"""The daily digest in words: a line for each scope, the most used first, and what it means for money."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rules.alerts import Alert, Kind
from rules.day_book import DayBook, Span
from rules.moment import HOUR, MINUTE, Millis
from streams.channels.layout import Line, Message
from streams.channels.phrases import Words
from streams.channels.redaction import plain

MOST = 30  # lines; what comes after is summed up
MOST_TENANTS = 10
TENANT = "tenant:"
DOT = " · "


def report(alert: Alert, words: Words, dashboard: str) -> Message:
    """The words for a digest."""
    phrase, labels = words.kinds[Kind.DIGEST], words.labels
    title = phrase.title.format(day=plain(alert.window, 100), who="", share="", rule="", what="")
    return Message(
        language=words.language,
        severity=alert.severity,
        tag=labels["digest"],
        title=title,
        subject=words.who(alert.scope),
        lines=tuple(_lines(alert.books, words)),
        sections=(
            Line(labels["money"], _money(alert.books, words)),
            Line(labels["advice"], _advice(alert.books, words)),
        ),
        foot=f"blastdoor · {labels['id']} {plain(alert.id, 200)}",
        link=Line(labels["link"], dashboard) if dashboard else None,
        colon=words.colon,
    )


def _lines(books: Sequence[DayBook], words: Words) -> Iterator[Line]:
    """Models with their sum, then tenants: the same calls once more, by whose they were."""
    tenants = [book for book in books if book.scope.startswith(TENANT)]
    models = [book for book in books if not book.scope.startswith(TENANT)]
    if len(models) != 1:
        yield Line(words.labels["all"], _told(_sum(models), words))
    yield from _each(models, MOST, words)
    yield from _each(tenants, MOST_TENANTS, words)


def _each(books: Sequence[DayBook], most: int, words: Words) -> Iterator[Line]:
    for book in books[:most]:
        yield Line(words.who(book.scope), _told(book, words))
    if len(books) > most:
        rest = replace(_sum(books[most:]), scope=books[-1].scope)
        yield Line(f"{words.labels['more']} {len(books) - most}", _told(rest, words))


def _told(book: DayBook, words: Words) -> str:
    """What was used and came back always, the rest where there is any."""
    labels = words.labels
    parts = [f"{labels['used']} {book.used:,}"]
    if not book.scope.startswith(TENANT):
        parts.append(f"{labels['returned']} {_span(book.returned, words)}")
    for name, span in (("expired", book.expired), ("unexplained", book.unexplained), ("charged", book.charged)):
        if span is not None and span[1] > 0:
            parts.append(f"{labels[name]} {_span(span, words)}")
    if book.refused >= MINUTE:
        parts.append(f"{labels['refused']} {_time(book.refused, words)}")
    if book.requests:
        hits = f" ({labels['cache_hits']} {book.cache_hits:,})" if book.cache_hits else ""
        parts.append(f"{labels['requests']} {book.requests:,}{hits}")
    if book.saved:
        parts.append(f"{labels['saved']} {book.saved:,}")
    if book.left is not None:
        parts.append(f"{labels['rest']} {_span(book.left, words)}")
    return DOT.join(parts)


def _span(span: Span | None, words: Words) -> str:
    if span is None:
        return words.labels["unknown"]
    low, high = span
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _time(length: Millis, words: Words) -> str:
    return words.hours.format(h=length // HOUR, m=length % HOUR // MINUTE)


def _money(books: Sequence[DayBook], words: Words) -> str:
    charged = _total(book.charged for book in books)
    if charged is None:
        return words.labels["never_known"]
    return words.charged.format(n=f"{charged[1]:,}") if charged[1] else words.kinds[Kind.DIGEST].money


def _advice(books: Sequence[DayBook], words: Words) -> str:
    """Of what went wrong on the day the worst."""
    for kind, spans in (
        (Kind.UNEXPLAINED, [book.unexplained for book in books]),
        (Kind.EXPIRED, [book.expired for book in books]),
    ):
        lost = _total(spans)
        if lost is not None and lost[0]:
            return words.kinds[kind].advice
    return words.kinds[Kind.DIGEST].advice


def _total(spans: Iterable[Span | None]) -> Span | None:
    """Of what is known; None if nothing is."""
    known = [span for span in spans if span is not None]
    return (sum(low for low, _ in known), sum(high for _, high in known)) if known else None


def _sum(books: Sequence[DayBook]) -> DayBook:
    return DayBook(
        scope="",
        day="",
        used=sum(book.used for book in books),
        requests=sum(book.requests for book in books),
        cache_hits=sum(book.cache_hits for book in books),
        saved=sum(book.saved for book in books),
        returned=_total(book.returned for book in books),
        expired=_total(book.expired for book in books),
        unexplained=_total(book.unexplained for book in books),
        charged=_total(book.charged for book in books),
        left=_total(book.left for book in books),
    )
