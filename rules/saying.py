"""The sentence a rule says: a template over facts such as `{model} used {used}`, checked when it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from msgspec import Struct

from rules.scope_facts import Facts, FactValue

LANGUAGES = ("en", "zh")
# Before the sentence where the policy only observes.
OBSERVED = {"en": "observed only, would be {action}: ", "zh": "仅观察，否则为 {action}："}
TIME = "time"  # the one form that a fact may be asked for: `{reading_age_seconds:time}`

_WORDS = {"en": ("unknown", "yes", "no"), "zh": ("未知", "是", "否")}
_UNITS = ((86_400, "day", "天"), (3_600, "hour", "小时"), (60, "minute", "分钟"), (1, "second", "秒"))


class Piece(Struct, frozen=True):
    """Text, and behind it the value of a fact (an empty name: none), `timed` where it is a length of time."""

    text: str
    name: str = ""
    timed: bool = False


class Saying(Struct, frozen=True):
    """A template in one language."""

    pieces: tuple[Piece, ...]
    language: str = "en"

    @classmethod
    def parse(cls, template: str, language: str = "en") -> Saying:
        """Raises ValueError where braces do not pair or hold more than a name. A brace itself is written twice."""
        pieces = []
        for text, name, form, conversion in Formatter().parse(template):
            if name is not None and (form not in ("", TIME) or conversion or not name.isidentifier()):
                msg = (
                    "braces hold the name of one fact and nothing else, like {used}, or {lag_seconds:time} for a length"
                    " of time in words; a brace itself is written twice"
                )
                raise ValueError(msg)
            pieces.append(Piece(text, name or "", form == TIME))
        return cls(tuple(pieces), language)

    def names(self) -> Iterable[str]:
        return (piece.name for piece in self.pieces if piece.name)

    def about(self, facts: Facts) -> str:
        """The sentence. It must come out whatever happens, so a fact that is not there reads `unknown`."""
        return "".join(piece.text + self._value(piece, facts) for piece in self.pieces)

    def _value(self, piece: Piece, facts: Facts) -> str:
        if not piece.name:
            return ""
        value = facts.get(piece.name)
        if piece.timed and isinstance(value, int | float) and not isinstance(value, bool):
            return duration(value, self.language)
        return readable(value, self.language)


def readable(value: FactValue, language: str = "en") -> str:
    """A fact for people: thousands separators, at most two decimals, `unknown` for null."""
    unknown, yes, no = _WORDS[language]
    if value is None:
        return unknown
    if isinstance(value, bool):
        return yes if value else no
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return value


def duration(seconds: float, language: str = "en") -> str:
    """A length of time by its two greatest units: `2 hours 36 minutes`."""
    left = int(max(0, seconds))
    parts: list[str] = []
    for size, name, zh in _UNITS:
        count, left = divmod(left, size)
        if count or (size == 1 and not parts):
            parts.append(f"{count:,} {zh}" if language == "zh" else f"{count:,} {name}{'' if count == 1 else 's'}")
        elif parts:
            break
    return " ".join(parts[:2])
