"""What became of the lines, for the summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """`sent` counts acknowledged records by kind, `skipped` the lines that are none of ours."""

    sent: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    skipped: int = 0
    complaint: str = ""  # of the first dead letter: file:line and why

    def summary(self) -> str:
        """One line a kind, dead letters always."""
        counts = {kind: count for kind, count in self.sent.items() if count} | {
            "dead letters": self.sent["dead letters"]
        }
        if self.skipped:
            counts["skipped lines"] = self.skipped
        return "\n".join(f"  {kind:<14} {count:>12,}" for kind, count in counts.items())
