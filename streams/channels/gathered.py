"""Several alerts as one message: a line for each, then what they mean and what to do, each said once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rules.alerts import Alert, Kind, Severity
from streams.channels.layout import Line, Message
from streams.channels.messages import LANGUAGES, said
from streams.channels.phrases import Words
from streams.channels.phrases_en import EN
from streams.channels.sender import Note

SHORT_ID = 12  # as in our logs
MOST_SAID = 3  # meanings and pieces of advice in one message
NAMES = 3  # in the line below the title
WEIGHT = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


def gathered(notes: Sequence[Note]) -> Note:
    """One note that tells them all; a single one as it is."""
    if len(notes) == 1:
        return notes[0]
    return Note(notes[0].alert, _message(notes), tuple(notes))


def _message(notes: Sequence[Note]) -> Message:
    first = max(notes, key=_weight)  # of equals the one that came first
    words = LANGUAGES.get(first.message.language, EN)
    colon = first.message.colon
    return Message(
        language=first.message.language,
        severity=first.message.severity,
        tag=first.message.tag,
        title=words.many.format(n=len(notes), title=first.message.title),
        subject=_subject([note.message.subject for note in notes], words),
        lines=tuple(Line(_head(note), _facts(note, words)) for note in notes),
        sections=tuple(_sections(notes, first, words)),
        foot=f"blastdoor · {words.labels['id']} {', '.join(note.alert.id[:SHORT_ID] for note in notes)}",
        link=first.message.link,
        colon=colon,
        good=all(note.message.good for note in notes),
    )


def _weight(note: Note) -> tuple[bool, int]:
    """Bad news before good, the severe before the light."""
    return not note.message.good, WEIGHT[note.message.severity]


def _subject(names: Iterable[str], words: Words) -> str:
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - NAMES
    shown = words.comma.join(distinct[:NAMES])
    return words.more.format(names=shown, n=more, all=len(distinct)) if more > 0 else shown


def _head(note: Note) -> str:
    return f"[{note.message.tag}] {note.message.title}"


def _facts(note: Note, words: Words) -> str:
    """The numbers of a threshold, of all else the reason."""
    alert = note.alert
    if alert.kind not in (Kind.THRESHOLD, Kind.RECOVERED) and alert.reason:
        return said(alert, words.language)
    return _numbers(alert) or said(alert, words.language) or words.labels["unknown"]


def _numbers(alert: Alert) -> str:
    if alert.used is None or alert.limit is None:
        return ""
    share = f" ({alert.used * 100 // alert.limit:,}%)" if alert.limit > 0 else ""
    return f"{alert.used:,} / {alert.limit:,} tokens{share}"


def _sections(notes: Sequence[Note], first: Note, words: Words) -> Iterator[Line]:
    """Under each heading what the most severe say, without repetition."""
    ordered = sorted(notes, key=_weight, reverse=True)
    money, *rest = first.message.sections
    charged, unharmed = _charged(notes), [note for note in ordered if not note.alert.charged_high]
    said = [words.charged.format(n=f"{charged:,}")] if charged else []
    yield Line(money.label, _joined([*said, *(note.message.sections[0].text for note in unharmed)]))
    for number, section in enumerate(rest, start=1):
        yield Line(section.label, _joined(note.message.sections[number].text for note in ordered))


def _joined(texts: Iterable[str]) -> str:
    return " ".join(list(dict.fromkeys(texts))[:MOST_SAID])


def _charged(notes: Iterable[Note]) -> int:
    """Tokens of all scopes told of, each once."""
    most: dict[str, int] = {}
    for note in notes:
        most[note.alert.scope] = max(most.get(note.alert.scope, 0), note.alert.charged_high or 0)
    return sum(most.values())
