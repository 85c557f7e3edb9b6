"""The explanations kept as golden texts, one of each kind. After a wanted change they are written anew by

PYTHONPATH=.:gateway python -m tests.streams.explaining.golden
"""

from __future__ import annotations

import json
import tempfile
from datetime import datetime
from functools import cache
from pathlib import Path

from rules.explain import Explanation, explain
from rules.moment import Millis
from streams.explaining.decided import to_decided
from streams.explaining.recorded import recall
from streams.explaining.text import lines
from streams.explaining.wording import Times
from streams.instant import instant_in
from streams.policy_file import default_rulebook, load_policy
from streams.recording import Recording

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "explain"
SAMPLES = ROOT / "streams" / "samples"
SCENARIOS = ROOT / "tests" / "data" / "scenarios"
FIRST, SECOND = SAMPLES / "incident-2026-08-12.log", SAMPLES / "incident-2026-08-13.log"
INCIDENT, MODEL = "deepseek-v4-flash-ga-260731", "deepseek-v4-flash"
POLICY = load_policy(None)
RULEBOOK = default_rulebook(POLICY)
ZONE = POLICY.calendar().zone


def scenario(name: str) -> tuple[Path, ...]:
    return (SCENARIOS / f"{name}.jsonl.gz",)


# kind -> (model, recordings, instant)
KINDS: dict[str, tuple[str, tuple[Path, ...], str | None]] = {
    "cap": (INCIDENT, (FIRST, SECOND), "2026-08-13 11:22"),
    "false-block": (INCIDENT, (FIRST,), "2026-08-12 15:09:51"),
    "stale": (INCIDENT, (FIRST, SECOND), "2026-08-13 10:50"),
    "spent": (MODEL, scenario("exhausted"), None),
    "cold-start": (MODEL, scenario("cold-start"), "2026-08-10 13:20"),
    "lag-learned": (MODEL, scenario("stall-3h"), "2026-08-11 13:05"),
    "loss": (MODEL, scenario("leak-5"), "2026-08-11 13:05"),
    "expiry": (MODEL, scenario("expiring-live"), "2026-08-11 10:05"),
}

CALIBRATED = [
    {"type": "usage", "id": "u1", "ts": "2026-08-13T00:00:05+08:00", "model": "m", "total_tokens": 5},
    {"type": "usage", "id": "u2", "ts": "2026-08-13T09:10:00+08:00", "model": "m", "total_tokens": 40_000},
    {"type": "balance", "id": "b1", "ts": "2026-08-13T09:20:00+08:00", "model": "m", "available": 500_000},
    {"type": "usage", "id": "u3", "ts": "2026-08-13T09:25:00+08:00", "model": "m", "total_tokens": 100},
    {"type": "calibration", "id": "c1", "ts": "2026-08-13T09:30:00+08:00", "model": "m", "day": "2026-08-13",
     "pool": 510_000, "by": "li"},
    {"type": "usage", "id": "u4", "ts": "2026-08-13T09:31:00+08:00", "model": "m", "total_tokens": 100},
]  # fmt: skip


def text(kind: str) -> str:
    """What a person reads."""
    found = explanation(kind)
    return "".join(f"{line}\n" for line in lines(found, Times(ZONE, str(found.decided.facts["day"]))))


@cache
def explanation(kind: str) -> Explanation:
    """The explanation of a kind, which is made once."""
    if kind == "calibration":
        return _calibrated()
    model, files, at = KINDS[kind]
    return _explain(model, files, None if at is None else instant_in(datetime.fromisoformat(at), ZONE))


def _calibrated() -> Explanation:
    """Readings and an operator's number beside each other."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "calibrated.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in CALIBRATED), encoding="utf-8")
        return _explain("m", (path,), None)


def _explain(model: str, files: tuple[Path, ...], at: Millis | None) -> Explanation:
    recalled = recall(Recording(files, ZONE), POLICY, RULEBOOK, model, at)
    origin = ", ".join(file.name for file in files)
    return explain(to_decided(recalled.decision, origin, recalled.refusal), RULEBOOK, POLICY.hash)


def main() -> None:
    for kind in (*KINDS, "calibration"):
        (GOLDEN / f"{kind}.txt").write_text(text(kind), encoding="utf-8")


if __name__ == "__main__":
    main()
