"""Walks a parsed document and gathers its mistakes, so that an operator repairs the file once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rules.fault import Fault, Lines, Path, fault, masked, meant, nearest, shown
from rules.policy_check.values import BadValueError, Read


class Inspection:
    """The mistakes found so far in one document. Every method reports what is wrong and returns what is right."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.faults: list[Fault] = []

    def report(self, path: Path, message: str) -> None:
        self.faults.append(fault(path, message, self.lines))

    def value(self, path: Path, raw: object, read: Read) -> Any:
        """The value, or None after reporting why it is none (no reader returns None)."""
        if raw is None:
            self.report(path, "has no value; write one or leave the key out")
            return None
        try:
            return read(raw)
        except BadValueError as mistake:
            self.report(path, str(mistake))
            return None

    def fields(
        self, path: Path, raw: object, readers: Mapping[str, Read], required: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The fields of a mapping that were given and are right. Unknown and missing ones are reported."""
        if not isinstance(raw, Mapping):
            self.report(path, f"must be a mapping with {_some(readers)}, found {_kind(raw)}")
            return {}
        found, misspelt = {}, set()
        for key, value in raw.items():
            if key not in readers:
                word = _word(key)
                self.report((*path, word), f"unknown key{meant(word, readers)}")
                misspelt.add(nearest(word, sorted(readers)))
            elif (checked := self.value((*path, key), value, readers[key])) is not None:
                found[key] = checked
        for key in required:
            if key not in raw and key not in misspelt:
                self.report((*path, key), "is missing")
        return found

    def entries(self, path: Path, raw: object, read_name: Read) -> Iterator[tuple[str, Path, Any]]:
        """The entries of a mapping whose keys are free names."""
        if not isinstance(raw, Mapping):
            self.report(path, f"must be a mapping from names, found {_kind(raw)}")
            return
        for key, value in raw.items():
            here = (*path, _word(key))
            try:
                checked = read_name(key)
            except BadValueError as mistake:
                self.report(here, f"the name {mistake}")
                continue
            yield checked, here, value

    def items(self, path: Path, raw: object) -> Iterator[tuple[Path, Any]]:
        """The items of a list."""
        if not isinstance(raw, list | tuple):
            self.report(path, f"must be a list, found {_kind(raw)}")
            return
        for number, item in enumerate(raw):
            yield (*path, number), item


def _word(key: object) -> str:
    """A key as text, whatever it is."""
    return key if isinstance(key, str) else shown(key)


def anything(value: Any) -> Any:
    """Reads a section that is looked into later."""
    return value


def _some(readers: Mapping[str, Read]) -> str:
    words = list(readers)
    return ", ".join(words[:4]) + (", …" if len(words) > 4 else "")


def _kind(raw: object) -> str:
    """What stands where a mapping or list belongs. Texts are not repeated: somebody may have put a secret there."""
    return "text" if isinstance(raw, str) else masked(shown(raw))
