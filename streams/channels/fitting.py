"""Bodies that must not exceed a number of bytes: texts are shortened until they fit, numbers never are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MOST_BYTES = 20_000  # "20 KB" of Feishu and of Standard Webhooks, read as the smaller of its two meanings
CLIPS = (4_000, 1_500, 500, 200, 80, 40)  # characters per text; with the fewest any message fits


def fitted(build: Callable[[int], dict[str, Any]], most: int = MOST_BYTES) -> bytes:
    """The JSON of `build(clip)` for the greatest clip with which it has at most `most` bytes of UTF-8."""
    for clip in CLIPS:
        body = json.dumps(build(clip), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if len(body) <= most:
            break
    return body
