"""The window of duplicates, held in the library."""

from __future__ import annotations

from collections.abc import Sequence

from native.library import Handle, Numbers, Texts, encoded
from rules.calls import Call
from rules.duplicates import Window

DIFFERS = 2


class NativeWindow(Window):
    """The same answers."""

    def __init__(self, handle: Handle) -> None:
        self.differing = 0
        self._handle = handle
        self._held = 0

    def __len__(self) -> int:
        return self._held

    def of_calls(self, calls: Sequence[Call], offsets: Sequence[int]) -> list[bool]:
        texts = Texts.of([text for call in calls for text in (encoded(call.id), encoded(call.model))])
        tokens = Numbers.of(call.total_tokens or 0 for call in calls)
        self._handle.call("tell_apart", texts, tokens, Numbers.of(offsets))
        found = self._handle.numbers()
        self.differing += found.count(DIFFERS)
        return [not verdict for verdict in found]

    def trim(self, position: int) -> None:
        self._handle.call("trim", position)
        (self._held,) = self._handle.numbers()
