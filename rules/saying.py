"""The sentence a rule says: a template over facts such as `{model} used {used}`, checked when it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from msgspec import Struct

from rules.scope_facts import Facts, FactValue


class Saying(Struct, frozen=True):
    """Pieces of text, each followed by the value of a fact (an empty name: by none)."""

    pieces: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, template: str) -> Saying:
        """Raises ValueError where braces do not pair or hold more than a name. A brace itself is written twice."""
        pieces = []
        for text, name, form, conversion in Formatter().parse(template):
            if name is not None and (form or conversion or not name.isidentifier()):
                msg = "braces hold the name of one fact and nothing else, like {used}; a brace itself is written twice"
                raise ValueError(msg)
            pieces.append((text, name or ""))
        return cls(tuple(pieces))

    def names(self) -> Iterable[str]:
        return (name for _, name in self.pieces if name)

    def about(self, facts: Facts) -> str:
        """The sentence. It must come out whatever happens, so a fact that is not there reads `unknown`."""
        return "".join(text + readable(facts.get(name)) if name else text for text, name in self.pieces)


def readable(value: FactValue) -> str:
    """A fact for people: thousands separators, at most two decimals, `unknown` for null."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return value
