"""A message's parts, ready to be laid out by a channel."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rules.alerts import Severity
from streams.channels.redaction import plain


@dataclass(frozen=True, slots=True)
class Line:
    """One labelled number or text."""

    label: str
    text: str

    def clipped(self, limit: int) -> Line:
        """The same with no text longer than `limit` characters."""
        return Line(plain(self.label, limit), plain(self.text, limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Words ready to be laid out. All text is plain: a layout must not read markup into it."""

    language: str
    severity: Severity
    tag: str  # the severity in words
    title: str
    subject: str
    lines: tuple[Line, ...]
    sections: tuple[Line, ...]  # heading and paragraph
    foot: str
    link: Line | None = None  # text and URL
    colon: str = ": "
    good: bool = False  # news that something is over

    def clipped(self, limit: int) -> Message:
        """The same with no text longer than `limit` characters."""
        return replace(
            self,
            title=plain(self.title, limit),
            subject=plain(self.subject, limit),
            lines=tuple(line.clipped(limit) for line in self.lines),
            sections=tuple(section.clipped(limit) for section in self.sections),
            foot=plain(self.foot, limit),
        )
