"""A rule's condition in CEL: checked against the documented facts when it is loaded, then a yes, a no, or a failure.

CEL carries an error through `&&` and `||` unless the other side decides, and it has no ordering with null. Together
that is the logic of unknown values: a condition that cannot be decided because a number is unknown does not hold.
`limit == null` asks for the unknown itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import cel
from msgspec import Struct

from rules.fault import meant, shown
from rules.scope_facts import Facts, FactSpec, samples

FUNCTIONS = ("contains", "double", "endsWith", "int", "matches", "size", "startsWith", "string")

# Nested, these take as long as the product of the lists' lengths, which no limit on a rule's length bounds.
LOOPS = ("all", "exists", "exists_one", "existsOne", "filter", "map")
_LOOP = re.compile(rf"\.\s*({'|'.join(LOOPS)})\s*\(")
_RAW, _ESCAPED = r"(?s:.)*?", r"(?:\\(?s:.)|[^\\])*?"
_TEXTS = "|".join(
    f"{prefix}{quote}{inner}{quote}"
    for prefix, inner in ((r"(?:[bB]?[rR]|[rR][bB])", _RAW), ("[bB]?", _ESCAPED))
    for quote in ('"""', "'''", '"', "'")
)
_SILENT = re.compile(rf"({_TEXTS})|//[^\n]*")

_SYNTAX = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?(.*?)(?: expecting .*)?$", re.MULTILINE)
_UNDEFINED = re.compile(r"Undefined variable or function: '(\w+)'")
_ADVICE = re.compile(r"\. |\n")
_TYPES = (
    "the types do not fit: numbers compare with numbers and texts with texts, "
    "and arithmetic mixes no whole numbers with decimals (write double(limit) * 0.8, or use share)"
)


class Failed(Struct, frozen=True):
    """A condition that could not be evaluated, with the cause."""

    why: str


class Condition(Struct, frozen=True):
    """A compiled expression and the facts it names."""

    program: cel.Program
    names: tuple[str, ...]

    @classmethod
    def compile(cls, source: str) -> Condition | str:
        """The condition, or what is wrong with the source."""
        if (loop := _LOOP.search(_SILENT.sub(" ", source))) is not None:
            return f"`{loop[1]}(…)` goes through a list, which may take for ever: use ||, && and `in`"
        try:
            program = cel.compile(source)
        except ValueError as error:
            return _syntax(str(error))
        return cls(program, tuple(program.variables()))

    def holds(self, facts: Facts) -> bool | Failed:
        """False also where a number it needs is unknown; Failed for anything else that cannot be evaluated."""
        try:
            found = self.program.execute({name: facts[name] for name in self.names})
        except (TypeError, RuntimeError) as error:
            return False if any(facts[name] is None for name in self.names) else Failed(_cause(error))
        except (ArithmeticError, LookupError, ValueError) as error:
            return Failed(_cause(error))
        return found if isinstance(found, bool) else Failed(f"must be true or false, is {shown(found)}")


def check_condition(condition: Condition, specs: Sequence[FactSpec]) -> str | None:
    """What is wrong with a condition over these facts, found by its names and by trying it."""
    known = {spec.name: spec for spec in specs}
    for name in condition.names:
        if name not in known:
            return f"there is no fact {shown(name)}{meant(name, known)}"
    for function in condition.program.functions():
        if function[0].isalpha() and function not in FUNCTIONS:
            return f"there is no function {shown(function)}{meant(function, FUNCTIONS)}"
    return _try(condition, known)


def _try(condition: Condition, known: Mapping[str, FactSpec]) -> str | None:
    for facts in samples(known, condition.names):
        found = condition.holds(facts)
        if isinstance(found, Failed):
            where = ", ".join(f"{name} = {shown(value)}" for name, value in facts.items())
            return f"{found.why} (tried with {where})" if where else found.why
    return None


def _cause(error: Exception) -> str:
    """What went wrong, without CEL's advice. Names were checked: an undefined one is a function given wrong types."""
    if isinstance(error, TypeError):
        return _TYPES
    if isinstance(error, LookupError):
        return f"nothing is found under {shown(str(error).strip(chr(39)))}"
    found = _UNDEFINED.search(str(error))
    return f"{found[1]} does not take these types" if found else _ADVICE.split(str(error), maxsplit=1)[0].rstrip(":.")


def _syntax(message: str) -> str:
    found = _SYNTAX.search(message)
    return f"is no valid CEL: line {found[1]}, column {found[2]}: {found[3]}" if found else "is no valid CEL"
