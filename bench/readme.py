"""`python -m bench.readme`: puts the figures of bench/results/latest.json into the READMEs, between their two marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.rows import LATEST, Circumstances, Row, read, rounded

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- figures -->", "<!-- /figures -->"


class Words(NamedTuple):
    """The headings in one language."""

    throughput: Sequence[str]
    latency: Sequence[str]
    taken: str


READMES = {
    ROOT / "README.md": Words(
        ("", "events/s", "ratio", "CPU s for a million", "peak MB"),
        ("usage event → decision key in Redis", "p50 ms", "p99 ms", "produce → consume alone, p99 ms"),
        "Taken {taken} UTC with {broker} on the same machine: {machine}.",
    ),
    ROOT / "README.zh-CN.md": Words(
        ("", "事件/秒", "比值", "每百万事件 CPU 秒", "内存峰值 MB"),
        ("用量事件 → Redis 决策键", "p50 毫秒", "p99 毫秒", "仅生产 → 消费 p99 毫秒"),
        "测于 {taken} UTC，{broker} 在同一台机器上：{machine}。",
    ),
}


def figures(rows: Iterable[Row], circumstances: Circumstances, words: Words) -> str:
    """What stands between the marks."""
    rows = list(rows)
    throughput = [
        (row.name, rounded(row.rate, 0), rounded(row.ratio, 2), rounded(row.cpu_per_million, 1),
         rounded(row.peak_mb, 0))
        for row in rows if row.harness_p99_ms is None
    ]  # fmt: skip
    latency = [
        (row.name, rounded(row.p50_ms, 0), rounded(row.p99_ms, 0), rounded(row.harness_p99_ms, 0))
        for row in rows if row.harness_p99_ms is not None
    ]  # fmt: skip
    taken = words.taken.format(taken=circumstances.taken, broker=circumstances.broker, machine=circumstances.machine)
    parts = [BEGIN, taken, _table(words.throughput, throughput), _table(words.latency, latency), END]
    return "\n\n".join(parts)


def quoted(page: str) -> str:
    """What stands between the marks of a page now. Raises ValueError if there are none."""
    found = re.search(f"{BEGIN}.*{END}", page, re.DOTALL)
    if found is None:
        msg = f"no {BEGIN} … {END}"
        raise ValueError(msg)
    return found[0]


def main() -> None:
    """Both READMEs anew."""
    rows, circumstances = read(LATEST)
    for path, words in READMES.items():
        page = path.read_text(encoding="utf-8")
        path.write_text(page.replace(quoted(page), figures(rows, circumstances, words)), encoding="utf-8")
        print(path.relative_to(ROOT))


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    ruler = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(
        "|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in (headings, ruler, *lines)
    )


if __name__ == "__main__":
    main()
