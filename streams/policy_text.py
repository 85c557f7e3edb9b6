"""From the bytes of a YAML file to plain values with their lines.

Only what a policy needs: no tags, no dates, no base-60 numbers (17:00 is text). Numbers with a point become exact
decimals. A key written twice is a mistake, since YAML would silently keep the second.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import yaml

from rules.fault import Fault, Path, fault, masked

LARGEST = 256 * 1024
MOST_VALUES = 20_000  # an alias may stand for much text: counted as if written out
DEEPEST = 32

_TAG = "tag:yaml.org,2002:"


class Document(NamedTuple):
    """What the file holds, where each value begins, and the mistakes that YAML would pass over."""

    raw: object
    lines: dict[Path, int]
    faults: list[Fault]


class _Loader(yaml.SafeLoader):
    """Tells only the kinds of scalars in `_SCALARS` apart; everything else is text."""


_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_POWER = r"[eE][-+]?[0-9]+"
_SCALARS = {  # kind: (pattern, letters it may begin with)
    "bool": (r"true|false|True|False|TRUE|FALSE", "tfTF"),
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "int": (r"[-+]?(?:0|[1-9][0-9]*(?:_[0-9]+)*)", "-+0123456789"),
    "float": (
        rf"[-+]?(?:{_DIGITS}\.[0-9]*(?:{_POWER})?|\.[0-9]+(?:{_POWER})?|{_DIGITS}{_POWER}|\.inf)|\.nan",
        "-+.0123456789",
    ),
}
_Loader.yaml_implicit_resolvers = {}
for _kind, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(rf"^(?:{_pattern})$"), list(_first))


class _RefusedError(Exception):
    """The document is no plain tree of bounded size."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(line, "", message)


def read_document(content: bytes) -> Document | Fault:
    """The document, or the one reason why there is none."""
    if len(content) > LARGEST:
        return Fault(0, "", f"is larger than {LARGEST:,} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Fault(content.count(b"\n", 0, error.start) + 1, "", f"is not UTF-8: byte 0x{content[error.start]:02x}")
    try:
        root = yaml.compose(text, Loader=_Loader)
        builder = _Builder()
        return Document({} if root is None else builder.build(root, ()), builder.lines, builder.faults)
    except yaml.YAMLError as error:
        return _syntax_fault(error, text)
    except _RefusedError as refused:
        return refused.fault
    except RecursionError:
        return Fault(0, "", "is nested too deeply")


def _syntax_fault(error: yaml.YAMLError, text: str) -> Fault:
    """Only YAML's words and the place: a snippet of the file might show a secret."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark, begun = error.problem_mark, error.context_mark
        context = f", {error.context} begun on line {begun.line + 1}" if error.context and begun else ""
        return Fault(mark.line + 1, "", f"is no valid YAML at column {mark.column + 1}: {error.problem}{context}")
    if isinstance(error, yaml.reader.ReaderError):
        return Fault(text.count("\n", 0, error.position) + 1, "", "holds a control character")
    return Fault(0, "", "is no valid YAML")


class _Builder:
    """Turns YAML nodes into values, noting the line of each."""

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.faults: list[Fault] = []
        self.count = 0

    def build(self, node: yaml.Node, path: Path) -> object:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.count += 1
        if self.count > MOST_VALUES:
            raise _RefusedError(line, f"holds more than {MOST_VALUES:,} values")
        if len(path) > DEEPEST:
            raise _RefusedError(line, "is nested too deeply")
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.build(item, (*path, number)) for number, item in enumerate(node.value)]
        return self.scalar(node, path)

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            key, line = key_node.value, key_node.start_mark.line + 1
            if not isinstance(key, str):
                self.faults.append(fault(path, "a key must be plain text", {path: line}))
                continue
            here = (*path, key)
            if key in found:
                self.faults.append(fault(here, f"is written twice, first on line {self.lines[here]}", {here: line}))
                continue
            self.lines[here] = line
            found[key] = self.build(value_node, here)
        return found

    def scalar(self, node: yaml.Node, path: Path) -> object:
        text = str(node.value)
        kind = node.tag.removeprefix(_TAG)
        if kind in {"str", "int", "float", "bool", "null"} and isinstance(node, yaml.ScalarNode):
            return _scalar(kind, text)
        self.faults.append(fault(path, f"YAML tags such as {masked(node.tag)} are not supported", self.lines))
        return None


def _scalar(kind: str, text: str) -> object:
    """A text that only looks like a number stays text, and is reported as such by whoever wanted a number."""
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return Decimal(text.replace("_", "").replace(".inf", "Infinity").replace(".nan", "NaN"))
    except (ValueError, InvalidOperation):
        return text
    return text
