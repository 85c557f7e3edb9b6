"""Malformed lines of every sort, for whoever reads what strangers send. Each is different and none can be used."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

LIMIT = 256 * 1024
HUGE = 10 * 1024 * 1024

Sort = Callable[[int, random.Random], bytes]
"""Makes the n-th line."""

EVENT: dict[str, Any] = {
    "type": "usage",
    "ts": "2026-08-13T11:08:00.123+08:00",
    "model": "deepseek-v4-flash",
    "prompt_tokens": 1200,
    "completion_tokens": 300,
    "total_tokens": 1500,
}
BALANCE: dict[str, Any] = {
    "type": "balance",
    "ts": EVENT["ts"],
    "model": EVENT["model"],
    "available": 5,
    "source": "api",
}
CONTROL: dict[str, Any] = {
    "type": "control",
    "ts": EVENT["ts"],
    "by": "op",
    "why": "test",
    "action": "kill",
    "scope": "global",
}
LITELLM: dict[str, Any] = {"litellm_call_id": "", "endTime": 1786590480.1, "model_group": "m", "total_tokens": 5}
CLOUD: dict[str, Any] = {"specversion": "1.0", "type": "prompt", "source": "app", "time": "2026-08-13T00:00:00Z"}


def written(members: dict[str, Any], n: int, **changes: Any) -> bytes:
    """One object with an id of its own; a change to `...` leaves the field out."""
    changed = {"id": f"bad-{n}"} | members | {"note": n} | changes
    return json.dumps({name: value for name, value in changed.items() if value is not ...}).encode()


def changed(members: dict[str, Any], field: str, *values: Any) -> Sort:
    return lambda n, chance: written(members, n, **{field: chance.choice(values)})


def raw(field: str, *literals: str) -> Sort:
    """A field whose value is a literal that `json.dumps` would not write."""
    return lambda n, chance: written(EVENT, n, **{field: "@"}).replace(b'"@"', chance.choice(literals).encode())


def spoiled(*spoil: Callable[[bytes], bytes]) -> Sort:
    return lambda n, chance: chance.choice(spoil)(written(EVENT, n))


def log_line(*lines: str) -> Sort:
    return lambda n, chance: chance.choice(lines).format(n=n).encode()


WHAT_IS_NO_TEXT = (5, None, True, ["m"], {"a": 1})
WHAT_IS_NO_NUMBER = ("1500", True, 1.5, [1], {"a": 1})
WHAT_IS_NO_TOKENS = (-1, -(10**9), 10**12 + 1, 10**18, 10**40)
WHAT_IS_NO_TIME: tuple[Any, ...] = (
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "yesterday", "",
    "2026-08-13", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-08-13T25:00:00Z", 0, -5, 1786590480123, 1e300,
    True, None, [1786590480], {},
)  # fmt: skip
HEAD = "2026-08-13 10:54:30,000 INFO quota "

SORTS: dict[str, Sort] = {
    "words": lambda n, _: f"this is no event {n}".encode(),
    "truncated": lambda n, chance: written(EVENT, n)[: chance.randrange(20, 60)] + b"%d" % n,
    "spoiled": spoiled(
        lambda line: line + b"}",
        lambda line: line[:-1] + b",}",
        lambda line: line.replace(b'"', b"'"),
        lambda line: line + line,
        lambda line: line.replace(b'"id"', b"id"),
        lambda line: b"\xef\xbb\xbf\xef\xbb\xbf" + line,
        lambda line: b"/* */" + line,
        lambda line: line.replace(b"1500", b"01500"),
        lambda line: line.replace(b"1500", b"+1500"),
        lambda line: line.replace(b"deepseek", b"deep\tseek"),
        lambda line: line.replace(b"deepseek", b"deep\x00seek"),
        lambda line: line.replace(b"deepseek", b"\\ud800"),
        lambda line: line.replace(b"deepseek", b"\\u12"),
    ),
    "binary": lambda n, chance: b"\x80%d" % n + chance.randbytes(40).replace(b"\n", b"\x00"),
    "another encoding": lambda n, _: written(EVENT, n).decode().encode("utf-16-le").replace(b"\n", b"\x00"),
    "no UTF-8": spoiled(
        lambda line: line.replace(b"deepseek", b"\xff"),
        lambda line: line.replace(b"deepseek", b"\xed\xa0\x80"),
        lambda line: line.replace(b"deepseek", b"\xc0\xaf"),
        lambda line: line[:-1] + b', "x": "caf\xe9"}',
    ),
    "no object": lambda n, chance: json.dumps(chance.choice([n, [n], str(n), [EVENT | {"id": n}], n / 7])).encode(),
    "deep nesting": lambda n, _: written(EVENT, n, note="@").replace(b'"@"', b"[" * (5000 + n) + b"]" * (5000 + n)),
    "NaN": raw(
        "total_tokens", "NaN", "-NaN", "Infinity", "-Infinity", "nan", "1e", "0x10", "1_500", "None", "undefined"
    ),
    "no type": changed(EVENT, "type", ..., "", "Usage", "invoice", *WHAT_IS_NO_TEXT),
    "no id": lambda n, chance: written(
        EVENT, n, id=chance.choice(["", " ", "\t", "\u3000", "x" * 513, "a\nb", ..., None, 7])
    ),
    "no model": changed(EVENT, "model", "", "  ", "m" * 513, "a\0b", ..., *WHAT_IS_NO_TEXT),
    "no time": changed(EVENT, "ts", ..., *WHAT_IS_NO_TIME),
    "no tokens": lambda n, _: written(EVENT, n, total_tokens=..., prompt_tokens=...),
    "tokens of another type": changed(EVENT, "total_tokens", *WHAT_IS_NO_NUMBER),
    "tokens of another world": changed(EVENT, "total_tokens", *WHAT_IS_NO_TOKENS),
    "a part of another world": changed(EVENT, "completion_tokens", *WHAT_IS_NO_TOKENS, 301),
    "more cached than sent": changed(EVENT, "cached_tokens", 1201, -1, "all"),
    "a long tenant": changed(EVENT, "tenant", "t" * 513, 5, ["acme"]),
    "a flag of another type": changed(EVENT, "cache_hit", "yes", 1, [True]),
    "no balance": changed(BALANCE, "available", ..., *WHAT_IS_NO_NUMBER, *WHAT_IS_NO_TOKENS),
    "a foreign unit": changed(BALANCE, "unit", "张", "CNY", "", 5),
    "no packages": changed(BALANCE, "packages", "none", [{}], [5], {"id": "p"}),
    "no control": changed(CONTROL, "action", ..., "explode", "", 5, "topup"),
    "no scope": changed(CONTROL, "scope", ..., "", "planet:earth", "model:", "user:u", "ip:300.1.1.1"),
    "no LiteLLM call": lambda n, _: written(LITELLM, n),
    "no CloudEvent": changed(CLOUD, "data", ..., {}, {"model": "m"}, {"model": "m", "tokens": "-5"}, "text"),
    "a broken usage line": log_line(
        HEAD + "📊 [Usage] m:h: +{n}",
        HEAD + "[Usage] m:h: +-{n} (Today: {n} | Rem: 1 | Limit: 2)",
        HEAD + "[Usage] m:h: +{n} (Today: 0 | Rem: 1 | Limit: 2)",
        "[Usage] m:h: +{n} (Today: {n} | Rem: 1 | Limit: 2)",
        "9999-08-13 10:54:30 [Usage] m:h: +{n} (Today: {n} | Rem: 1 | Limit: 2)",
    ),
    "a broken check or refusal": log_line(
        HEAD + "Checking m{n} (Bal: None, Rem: 5)", HEAD + "Checking m{n} (Bal: -5)", HEAD + "[PRE-BLOCK] m{n} refused"
    ),
    "as long as allowed": lambda n, _: written(EVENT, n, total_tokens=-1).ljust(LIMIT),
}
TOO_LARGE: dict[str, Sort] = {
    "one byte too long": lambda n, _: written(EVENT, n).ljust(LIMIT + 1),
    "a long event": lambda n, _: written(EVENT, n, note="x" * HUGE),
    "long words": lambda n, _: b"%d" % n + b"x" * HUGE,
    "long and invalid": lambda n, _: b'{"id":"%d' % n + b"\xff" * HUGE,
}


def hostile_lines(count: int = 1000, seed: int = 1) -> list[bytes]:
    """So many distinct lines, at least a few of each sort; four of them are longer than is read, three by far."""
    chance = random.Random(seed)
    sorts = list(SORTS.values())
    lines = [make(n, chance) for n, make in enumerate(TOO_LARGE.values())]
    seen = set(lines)
    for n in range(len(lines), 20 * count):
        if len(lines) >= count:
            break
        line = sorts[n % len(sorts)](n, chance)
        # The long ones are few: what a hundred of them would show, three do.
        if line not in seen and (len(line) < LIMIT or n < 4 * len(sorts)):
            seen.add(line)
            lines.append(line)
    chance.shuffle(lines)
    return lines
