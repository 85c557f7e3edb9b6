"""Bytes near to what is accepted: every format's own samples, spoiled at random."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from tests.hostile import BALANCE, CLOUD, CONTROL, EVENT, LITELLM
from tests.streams.api.conftest import sink, start

__all__ = ["sink", "start"]  # fixtures of the intake

HEAD = "2026-08-13 11:22:08,900 INFO "
LINES = [
    HEAD + "📊 [Usage] flash:ba0383d3: +2439 (Today: 73,257 | BalAtSync: 2,242,178 | Limit: 2,000,000)",
    HEAD + "📊 [Usage] flash:ba0383d3: +38083 (Today: 1,279,904 | Rem: 1,558,307 | Limit: 2,000,000)",
    HEAD + "DEBUG: Checking flash (Bal: 1,726,526, Rem: 1,676,526) (余额/剩余)",
    HEAD + "🚫 [PRE-BLOCK] flash daily limit reached (1,696,135+16/296,869)",
]
PACKAGE = {"id": "p", "total": 5, "available": 4, "effective": 1786590480, "expires": 1786690480}
CACHED = {"usage_object": {"prompt_tokens_details": {"cached_tokens": 5}}}
RECORDS = [
    EVENT | {"id": "e"},
    BALANCE | {"id": "b", "packages": [PACKAGE]},
    CONTROL | {"id": "c"},
    LITELLM | {"litellm_call_id": "l", "metadata": CACHED},
    CLOUD | {"id": "1", "data": {"tokens": "123", "model": "m", "type": "input"}},
    {"type": "calibration", "id": "k", "ts": 1786590480, "model": "m", "day": "2026-08-13", "pool": 5},
    {"type": "clock", "ts": 1786590480},
    {"type": "refusal", "id": "r", "ts": 1786590480, "model": "m", "usage": 1, "reserve": 2, "limit": 3},
]
SAMPLES = [json.dumps(record, ensure_ascii=False).encode() for record in RECORDS] + [line.encode() for line in LINES]
TOKENS = [b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\\u", b"\\ud800", b"null", b"-", b"1e999", b"0" * 400,
          b"NaN", b"\x00", b"\xff", b"\xed\xa0\x80", b"\n", b"[" * 3000, b'{"a":' * 3000, b"9" * 30,
          "￥（）【】".encode()]  # fmt: skip


@st.composite
def spoiled(draw: st.DrawFn, samples: list[bytes] = SAMPLES) -> bytes:
    """A sample of which some places were cut out, doubled, or replaced by what parsers trip over."""
    content = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        put = draw(st.sampled_from(TOKENS) | st.binary(max_size=4) | st.just(content[start:end] * 2) | st.just(b""))
        content = content[:start] + put + content[end:]
    return content
