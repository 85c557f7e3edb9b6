"""Following a paged list to its end, whatever the server does with its tokens."""

from __future__ import annotations

PAGES = 200
"""No account comes near 4,000 packages; beyond it the server leads in circles."""

_ENDS = (None, "", "0")
_EMPTY_IN_A_ROW = 2  # a filtered list may begin with an empty page


class Paging:
    """The tokens of one list. `token` asks for the next page; None once the list has ended."""

    def __init__(self, pages: int = PAGES) -> None:
        self.token: str | None = ""
        self.pages = 0
        self._most = pages
        self._seen: set[str] = {""}
        self._empty = 0

    @property
    def overrun(self) -> bool:
        """The list was cut off: what was read is not the whole."""
        return self.token is not None and self.pages >= self._most

    def turn(self, rows: int, token: str | None) -> None:
        """A page with so many rows came, and `token` leads on from it."""
        self.pages += 1
        self._empty = 0 if rows else self._empty + 1
        ended = token in _ENDS or token in self._seen or self._empty >= _EMPTY_IN_A_ROW
        self.token = None if ended else token
        self._seen.add(token or "")
