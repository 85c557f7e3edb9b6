"""Writes every generated file; a test compares them with what is in the tree."""

from __future__ import annotations

import json
from pathlib import Path

from dashboards.make import engine, gate, metrics_page, model_quota, overview, sources, tenants

ROOT = Path(__file__).parents[2]
BOARDS = {
    "overview": overview.BOARD,
    "model-quota": model_quota.BOARD,
    "tenants": tenants.BOARD,
    "gate": gate.BOARD,
    "engine": engine.BOARD,
    "sources": sources.BOARD,
}


def files() -> dict[Path, str]:
    """Every generated file with its content."""
    boards = {
        ROOT / "dashboards" / "grafana" / f"{name}.json": json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        for name, content in BOARDS.items()
    }
    return boards | {ROOT / "docs" / "metrics.md": metrics_page.page()}


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, encoding="utf-8")
