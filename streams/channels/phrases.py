"""What an alert means, as data: per language the labels, and per kind a title, the meaning for money and what to do.

`{who}` is the scope in words, `{share}` a threshold such as 80%, `{rule}` a rule's name,
`{what}` the title of what is over, `{day}` the accounting day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rules.alerts import Severity
from streams.channels.redaction import plain


class Phrase(NamedTuple):
    """The words for one kind of alert."""

    title: str
    money: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language. `thresholds` is keyed by (wall, whether the limit is reached); the wall "" stands for any other."""

    language: str
    severities: Mapping[Severity, str]
    scopes: Mapping[str, str]
    labels: Mapping[str, str]
    thresholds: Mapping[tuple[str, bool], Phrase]
    kinds: Mapping[str, Phrase]
    rules: Mapping[str, Phrase]  # built-in rules that say more than that they decide
    back: Phrase  # under the limit again
    freed: Phrase  # the same of a budget
    many: str  # the title of several alerts in one message: `{n}`, and the `{title}` of the most severe
    more: str  # `{names}`, and that there are `{n}` more, `{all}` in all
    comma: str
    again: str  # the title of a repeat; `{title}` is that of the first telling
    hours: str  # a length of time: `{h}` hours and `{m}` minutes
    charged: str  # replaces the meaning for money once tokens were probably charged
    colon: str

    def who(self, scope: str) -> str:
        """A scope for people."""
        kind, _, name = scope.partition(":")
        return plain(f"{self.scopes.get(kind, kind)} {name}".rstrip(), 200)
