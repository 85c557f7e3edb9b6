"""Reads the secrets that a policy refers to as `env:NAME` or `file:PATH`. Their values appear in no message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from urllib.parse import urlsplit

from rules.fault import Fault, Lines, fault, shown
from rules.policy_check.delivery import address, reference
from rules.policy_check.values import BadValueError, Read

LONGEST_SECRET = 16 * 1024

LEAST_TOKEN = 16
"""A token that is shorter can be guessed."""

Secrets = dict[tuple[str, str, str], str]
"""(section, name, field) -> the secret."""


class UnreadableError(Exception):
    """A reference that leads nowhere; the message names it, never a value."""


class Vault:
    """Where references are looked up: `environment` for env:, the policy file's folder for relative file: paths."""

    def __init__(self, environment: Mapping[str, str], folder: FilePath) -> None:
        self.environment = environment
        self.folder = folder

    def secrets(self, raw: object, lines: Lines) -> tuple[Secrets, list[Fault]]:
        """The secrets that a worker needs of a parsed policy file; what is no reference is reported by the check."""
        found, faults = {}, []
        for section, owner, field, value, kind in _references(raw):
            try:
                found[section, owner, field] = self.look_up(field, value, any_scheme=kind == "apprise")
            except UnreadableError as unreadable:
                faults.append(fault((section, owner, field), str(unreadable), lines))
        return found, faults

    def look_up(self, field: str, value: str, *, any_scheme: bool = False) -> str:
        """The secret behind a reference; a literal local address stands for itself. Raises UnreadableError.

        `any_scheme`: the address need not be one of the web.
        """
        kind, _, place = value.partition(":")
        secret = self._variable(place) if kind == "env" else self._file(place) if kind == "file" else value
        if not secret:
            raise UnreadableError(f"{value} is empty")
        if field == "token" and len(secret) < LEAST_TOKEN:
            raise UnreadableError(f"{shown(value)} is shorter than {LEAST_TOKEN} characters")
        if field == "url" and not _is_url(secret, any_scheme=any_scheme):
            wanted = "address like scheme://…" if any_scheme else "http:// or https:// address"
            raise UnreadableError(f"{shown(value)} holds no {wanted}")
        return secret

    def _variable(self, name: str) -> str:
        if name not in self.environment:
            raise UnreadableError(f"the environment has no variable {name}")
        return self.environment[name].strip()

    def _file(self, place: str) -> str:
        try:
            with (self.folder / place).open("rb") as file:
                return file.read(LONGEST_SECRET).decode().strip()
        except OSError as error:
            raise UnreadableError(f"cannot read the file {shown(place)}: {error.strerror}") from error
        except ValueError as error:  # no UTF-8, or a path that no file can have
            raise UnreadableError(f"the file {shown(place)} holds no text") from error


_WANTED: dict[str, dict[str, Read]] = {
    "channels": {"url": address, "secret": reference},
    "senders": {"token": reference},
    "viewers": {"token": reference},
}


def _references(raw: object) -> Iterator[tuple[str, str, str, str, object]]:
    """(section, name, field, reference, kind of the entry), skipping what the check of the policy reports."""
    for section, fields in _WANTED.items():
        named = raw.get(section) if isinstance(raw, Mapping) else None
        for owner, entry in named.items() if isinstance(named, Mapping) else ():
            given = entry if isinstance(entry, Mapping) else {}
            for field, read in fields.items():
                try:
                    yield section, str(owner), field, str(read(given.get(field))), given.get("kind")
                except BadValueError:
                    continue


def _is_url(text: str, *, any_scheme: bool) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return (
        bool(parts.scheme) and "://" in text
        if any_scheme
        else parts.scheme in {"http", "https"} and bool(parts.hostname)
    )
