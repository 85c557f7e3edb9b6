"""The gate's configuration as a TOML file. Every mistake is told at once, each with its place.

timezone = "Asia/Shanghai"
per_ip = "10/min"
per_user = "10/min"              # false: no limit
proxies = ["10.0.0.0/8"]
[default]
daily_tokens = 500_000
over = "degrade"                 # or block, warn
[tenants.acme]
monthly_tokens = 10_000_000
[spend]
daily = "500"
prices.deepseek-v4-flash = {input = "1", cached_input = "0.2", output = "2"}
[failure]
rate = "open"
model = "closed"
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from blastdoor_gateway.address import networks
from blastdoor_gateway.calendar import Calendar
from blastdoor_gateway.config import Budget, ConfigError, Engine, Failure, Falls, Gate, Mode, Over, Rate, Spend
from blastdoor_gateway.money import Price, to_nano

Read = Callable[[Any], Any]


class Mistakes(list[str]):
    """Collected while reading."""

    def read(self, place: str, value: Any, read: Read) -> Any:
        """The value read, or None and a mistake."""
        try:
            return read(value)
        except (ValueError, TypeError, LookupError) as error:
            self.append(f"{place}: {error}")
            return None


def load_gate(path: Path) -> Gate:
    """Raises ConfigError with every mistake, OSError if the file cannot be read."""
    try:
        return read_gate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: {error}"
        raise ConfigError(msg) from error


def read_gate(table: Mapping[str, Any]) -> Gate:
    """The configuration in a table. Raises ConfigError with every mistake."""
    mistakes = Mistakes()
    found = _fields(mistakes, "", table, READ_GATE)
    for name, read in {"default": _budget, "spend": _spend, "engine": _engine, "failure": _failure}.items():
        if name in table:
            found[name] = _section(mistakes, name, table[name], read)
    if "tenants" in table:
        found["tenants"] = {
            tenant: _section(mistakes, f"tenants.{tenant}", budget, _budget)
            for tenant, budget in _table(mistakes, "tenants", table["tenants"]).items()
        }
    if not mistakes:
        gate = mistakes.read("gate", found, lambda given: Gate(**given))
        if gate is not None:
            return gate  # type: ignore[no-any-return]
    raise ConfigError("\n".join(mistakes))


def _section(mistakes: Mistakes, place: str, value: Any, read: Callable[[Mistakes, str, Any], Any]) -> Any:
    """`false` takes a section away."""
    if value is False and place in {"spend", "engine"}:
        return None
    return read(mistakes, place, _table(mistakes, place, value))


def _table(mistakes: Mistakes, place: str, value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    mistakes.append(f"{place}: is a table")
    return {}


def _fields(mistakes: Mistakes, place: str, table: Mapping[str, Any], known: Mapping[str, Read]) -> dict[str, Any]:
    sections = {"default", "spend", "engine", "failure", "tenants"} if not place else {"prices"}
    for name in table.keys() - known.keys() - sections:
        mistakes.append(f"{place}{name}: is not known; known are {', '.join(sorted(known))}")
    return {name: mistakes.read(f"{place}{name}", table[name], read) for name, read in known.items() if name in table}


def _build(mistakes: Mistakes, place: str, kind: Callable[..., Any], found: dict[str, Any]) -> Any:
    return mistakes.read(place, found, lambda given: kind(**given))


def _budget(mistakes: Mistakes, place: str, table: Mapping[str, Any]) -> Any:
    known: dict[str, Read] = {"daily_tokens": _whole, "monthly_tokens": _whole, "over": _one_of(Over)}
    return _build(mistakes, place, Budget, _fields(mistakes, f"{place}.", table, known))


def _spend(mistakes: Mistakes, place: str, table: Mapping[str, Any]) -> Any:
    found = _fields(mistakes, f"{place}.", table, {"daily": to_nano, "basis": str, "assumed": _price})
    prices = _table(mistakes, f"{place}.prices", table.get("prices", {}))
    found["prices"] = {
        model: mistakes.read(f"{place}.prices.{model}", price, _price) for model, price in prices.items()
    }
    return _build(mistakes, place, Spend, found)


def _engine(mistakes: Mistakes, place: str, table: Mapping[str, Any]) -> Any:
    falls = _one_of(Falls)
    known: dict[str, Read] = {"unknown": falls, "silent": falls, "stale_after": _whole, "grace": _whole}
    return _build(mistakes, place, Engine, _fields(mistakes, f"{place}.", table, known))


def _failure(mistakes: Mistakes, place: str, table: Mapping[str, Any]) -> Any:
    known: dict[str, Read] = {each.name: _one_of(Falls) for each in fields(Failure)}
    known |= {"grace_seconds": _length, "grace_share": _length}
    return _build(mistakes, place, Failure, _fields(mistakes, f"{place}.", table, known))


def _one_of(kind: type[StrEnum]) -> Read:
    def read(value: Any) -> StrEnum:
        if value not in list(kind):
            msg = f"is one of {', '.join(kind)}, not {value!r}"
            raise ValueError(msg)
        return kind(value)

    return read


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"is a whole number, not {value!r}"
        raise ValueError(msg)
    return value


def _length(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        msg = f"is a number from 0, not {value!r}"
        raise ValueError(msg)
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        msg = f"is text, not {value!r}"
        raise ValueError(msg)
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        msg = f"is true or false, not {value!r}"
        raise ValueError(msg)
    return value


def _rate(value: Any) -> Rate | None:
    return None if value is False else Rate.of(_text(value))


def _price(value: Any) -> Price:
    if not isinstance(value, Mapping) or not {"input", "output"} <= value.keys() <= {"input", "output", "cached_input"}:
        msg = "is a table with input, output and perhaps cached_input, per million tokens"
        raise ValueError(msg)
    return Price.of(value["input"], value["output"], value.get("cached_input"))


def _zone(value: Any) -> str:
    Calendar(_text(value))
    return str(value)


def _starts(value: Any) -> str:
    Calendar("UTC", _text(value))
    return str(value)


def _proxies(value: Any) -> tuple[str, ...]:
    networks(value)
    return tuple(value)


def _names(value: Any) -> dict[str, str]:
    return {_text(name): _text(meant) for name, meant in dict(value).items()}


READ_GATE: dict[str, Read] = {
    "prefix": _text,
    "timezone": _zone,
    "day_starts": _starts,
    "mode": _one_of(Mode),
    "per_ip": _rate,
    "per_user": _rate,
    "aliases": _names,
    "proxies": _proxies,
    "most_estimate": _whole,
    "lease": _whole,
    "recognise": _whole,
    "answers_live": _whole,
    "longest_answer": _whole,
    "wait_seconds": _length,
    "legacy": _bool,
}
