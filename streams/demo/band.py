"""The pool as a band: what is used, what is certainly free, what may be, and marks where a limit or a belief stands."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

USED, FREE, PERHAPS, BEYOND = "cyan", "green", "yellow", "bright_black"
LIMIT, BELIEF = "bold bright_white", "bold bright_red"
GLYPHS, ASCII_GLYPHS = "█▓▒·┃", "#=?.|"
MARK = GLYPHS[-1]


@dataclass(frozen=True, kw_only=True)
class Band:
    """All in tokens of the day; `scale` is the right edge. `marks`: where, and in which style. None: not known."""

    used: int
    low: int | None
    high: int | None
    scale: int
    marks: tuple[tuple[int, str], ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = ASCII_GLYPHS if options.ascii_only else GLYPHS
        for place, style in self.places(options.max_width):
            yield Segment(glyphs[place], Style.parse(style))
        yield Segment.line()

    def places(self, width: int) -> list[tuple[int, str]]:
        """The glyph and the style of each column."""
        ends = ((self.used, USED), (self.low or 0, FREE), (self.high or 0, PERHAPS), (self.scale, BEYOND))
        found: list[tuple[int, str]] = []
        for place, (end, style) in enumerate(ends):
            found += [(place, style)] * (min(width, round(end * width / self.scale)) - len(found))
        for at, style in self.marks:
            found[min(width - 1, at * width // self.scale)] = (len(GLYPHS) - 1, style)
        return found


def legend(band: Band) -> Text:
    """What the colours of a band mean, with the numbers."""
    text = Text.assemble(("█ ", USED), f"used {band.used:,}", no_wrap=True, overflow="ellipsis")
    if band.low is not None:
        text.append_text(Text.assemble(("   ▓ ", FREE), f"free up to {band.low:,}"))
    if band.high is not None:
        text.append_text(Text.assemble(("   ▒ ", PERHAPS), f"at most {band.high:,}"))
    if band.low is None:
        text.append("   the pool is not known yet", style="dim")
    return text
