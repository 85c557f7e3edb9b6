"""Draws Feishu cards (format 2.0) as SVG, near enough to what people see: `python docs/screens/draw.py` from the root.

The cards are the golden ones that tests compare the code with, so a picture cannot show what is never sent.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
SCREENS = ("feishu-card", "feishu-group", "feishu-digest")
LANGUAGES = ("zh", "en")

WIDTH, MARGIN, LINE = 520, 18, 21
SIZE, SMALL = 14, 12
COLOURS = {  # of a card's head: band, text; as in Feishu's palette
    "red": ("#fde2e2", "#d83931"),
    "orange": ("#feead2", "#c66a00"),
    "blue": ("#e1eaff", "#245bdb"),
    "green": ("#d9f5d6", "#2ea121"),
}
FONT = "'PingFang SC','Microsoft YaHei','Noto Sans CJK SC','Noto Sans SC',ui-sans-serif,system-ui,sans-serif"
STYLE = f"text{{font:{SIZE}px {FONT};fill:#1f2329}}.b{{font-weight:600}}.s{{font-size:{SMALL}px;fill:#8f959e}}"


def width(text: str, size: int = SIZE) -> float:
    """About how wide a text is in pixels: Chinese fills its square, Latin some two thirds of it."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (wide + 0.62 * (len(text) - wide))


def wrapped(text: str, size: int = SIZE) -> Iterator[str]:
    """Lines that fit into the card."""
    for paragraph in text.split("\n"):
        line = ""
        for piece in _pieces(paragraph):
            if line and width(line + piece.rstrip(), size) > WIDTH - 2 * MARGIN:
                yield line.rstrip()
                line = ""
            line += piece
        yield line.rstrip()


def _pieces(text: str) -> Iterator[str]:
    """What a line may be broken after: a Chinese character, or a word with the blank behind it."""
    word = ""
    for letter in text:
        word += letter
        if letter == " " or unicodedata.east_asian_width(letter) in "WF" or len(word) > 40:
            yield word
            word = ""
    if word:
        yield word


class Sheet:
    """Elements from top to bottom."""

    def __init__(self) -> None:
        self.y = 0.0
        self.parts: list[str] = []

    def text(self, content: str, kind: str = "", colour: str = "", size: int = SIZE) -> None:
        for line in wrapped(content, size):
            self.y += LINE
            style = f' style="fill:{colour}"' if colour else ""
            self.parts.append(f'<text class="{kind}" x="{MARGIN}" y="{self.y:g}"{style}>{escape(line)}</text>')

    def gap(self, pixels: float) -> None:
        self.y += pixels


def draw(card: dict[str, Any]) -> str:
    """The picture of a card."""
    sheet = Sheet()
    _head(sheet, card["header"])
    for element in card["body"]["elements"]:
        _element(sheet, element)
    sheet.gap(MARGIN)
    title = escape(card["header"]["title"]["content"])
    size = f'viewBox="0 0 {WIDTH} {sheet.y:g}" width="{WIDTH}" height="{sheet.y:g}"'
    frame = f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{sheet.y - 1:g}" rx="8" fill="none" stroke="#dee0e3"/>'
    sheet_of_paper = f'<rect width="{WIDTH}" height="{sheet.y:g}" rx="8" fill="#fff"/>'
    body = "\n".join([sheet_of_paper, *sheet.parts, frame])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


def _head(sheet: Sheet, header: dict[str, Any]) -> None:
    band, ink = COLOURS[header["template"]]
    sheet.gap(8)
    place = len(sheet.parts)
    sheet.text(header["title"]["content"], "b", ink)
    end = MARGIN + width(list(wrapped(header["title"]["content"]))[-1]) + 10
    for tag in header.get("text_tag_list", []):
        content = tag["text"]["content"]
        wide = width(content, SMALL) + 12
        end = min(end, WIDTH - MARGIN - wide)  # a title that fills the line gives way
        sheet.parts.append(
            f'<rect x="{end:g}" y="{sheet.y - 14:g}" width="{wide:g}" height="18" rx="4" fill="{ink}"/>'
            f'<text class="s" x="{end + 6:g}" y="{sheet.y - 1:g}" style="fill:#fff">{escape(content)}</text>'
        )
    sheet.text(header["subtitle"]["content"], "s", ink, SMALL)
    sheet.gap(12)
    sheet.parts.insert(
        place, f'<path d="M0 {sheet.y:g}V8a8 8 0 0 1 8-8H{WIDTH - 8}a8 8 0 0 1 8 8V{sheet.y:g}z" fill="{band}"/>'
    )
    sheet.gap(6)


def _element(sheet: Sheet, element: dict[str, Any]) -> None:
    if element["tag"] == "hr":
        sheet.gap(12)
        sheet.parts.append(f'<path d="M{MARGIN} {sheet.y:g}H{WIDTH - MARGIN}" stroke="#dee0e3"/>')
    elif element["tag"] == "markdown":
        sheet.gap(6)
        sheet.text(element["content"].strip("*"), "b")
    elif element["tag"] == "button":
        content = element["text"]["content"]
        sheet.gap(14)
        wide = width(content) + 32
        sheet.parts.append(
            f'<rect x="{MARGIN}" y="{sheet.y:g}" width="{wide:g}" height="32" rx="6" fill="#3370ff"/>'
            f'<text x="{MARGIN + 16}" y="{sheet.y + 21:g}" style="fill:#fff">{escape(content)}</text>'
        )
        sheet.gap(36)
    else:
        small = element["text"].get("text_size") == "notation"
        sheet.text(element["text"]["content"], "s" if small else "", size=SMALL if small else SIZE)


def pictures() -> Iterator[tuple[Path, str]]:
    """Every picture with its place."""
    for screen in SCREENS:
        for language in LANGUAGES:
            card = json.loads((GOLDEN / f"{screen}-{language}.json").read_text())
            yield Path(__file__).with_name(f"{screen}-{language}.svg"), draw(card)


if __name__ == "__main__":
    for path, picture in pictures():
        path.write_text(picture)
