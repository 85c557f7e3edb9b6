"""Each thing that shaped the pool, in a line or a few: what happened, and what it makes of the two ends."""

from __future__ import annotations

from collections.abc import Iterator

from rules.evidence import NOISE
from rules.explain import Step
from rules.grounds import Grounds, LagBound, Moved, Part, Remembered, Said
from rules.moment import Millis
from rules.pool_state import Cause, Expired
from rules.records import Refusal
from streams.explaining.wording import TIED, WIDTH, Times, amount, folded, number, place, short, span

_CAUSES = {
    Cause.RETURN: "package {id} came: {amount} tokens",
    Cause.FOUND: "package {id} was listed that earlier lists should have shown: {amount} tokens",
    Cause.RISE: "the balance rose: {amount} tokens came",
    Cause.UNSEEN: "more is left than any lag explains: {amount} tokens came unseen",
    Cause.LOSS: "less is left than was used: {amount} tokens went unmetered",
}


_GUTTER = " " * 10


class Narrator:
    """Tells steps for one decision. The readings that gave an end bear LOW or HIGH in the margin."""

    def __init__(self, times: Times, grounds: Grounds) -> None:
        self._times = times
        self._grounds = grounds

    def tell(self, step: Step) -> Iterator[str]:
        """The lines of a step, the first with its time."""
        what = step.what
        if isinstance(what, Said):
            yield from self._said(what)
        elif isinstance(what, Remembered):
            yield from self._line(what.at, f"reading {short(what.id)}, long ago", place(what.origin))
            yield from _end("HIGH", "at most", what.high, ["as remembered"])
        elif isinstance(what, Moved):
            size = amount(*sorted((abs(what.low), abs(what.high))))
            yield from self._line(step.at, _CAUSES[what.cause].format(id=short(what.id), amount=size))
        elif isinstance(what, Expired):
            left = amount(what.least, what.most)
            yield from self._line(step.at, f"package {short(what.id)} ended with {left} tokens left")
        elif isinstance(what, LagBound):
            text = f"a reading was further behind: D is {span(what.bound)} since, else {span(what.usual)}"
            yield from self._line(step.at, text)
        elif isinstance(what, Refusal):
            yield from self._refused(what)

    def _line(self, at: Millis, text: str, right: str = "") -> Iterator[str]:
        """What happened, and on the right where it stands, if both fit into a line."""
        left = f"  {self._times.clock(at)}  {text}"
        room = WIDTH - len(left) - 2
        if len(right) <= room:
            yield f"{left}  {right:>{room}}".rstrip()
        else:
            yield from folded(left, _GUTTER)
            yield from folded(f"{_GUTTER}{right}", _GUTTER)

    def _said(self, said: Said) -> Iterator[str]:
        newest = " (newest)" if Part.LATEST in said.parts else ""
        if said.entered is None:
            text = f"reading {short(said.id)} said {said.balance:,}{newest}"
        else:
            text = f"calibration {short(said.id)}: {said.balance:,} when the day began"
        yield from self._line(said.at if said.entered is None else said.entered, text, place(said.origin))
        if Part.SILENT in said.parts:
            yield f"{_GUTTER}bounds nothing: the pool was empty, or an operator's number rules"
        else:
            yield from self._low(said)
            yield from self._high(said)

    def _low(self, said: Said) -> Iterator[str]:
        if said.low is None and said.balance <= NOISE:
            yield f"{_GUTTER}no low end: the pool may have been empty before"
        elif said.low is None:
            yield f"{_GUTTER}no low end: usage was not metered for {span(self._grounds.lag.bound)} before it"
        elif Part.OLD in said.parts:
            yield f"{_GUTTER}no low end: too old, of before {self._times.minute(self._grounds.believed_from)}"
        else:
            yield from _end("LOW" if Part.LOW in said.parts else "", "at least", said.low, self._low_terms(said))

    def _low_terms(self, said: Said) -> list[str]:
        by = self._times.minute(said.by)
        before = f"used from {by} to the day's beginning, perhaps not settled"
        return [
            f"{said.balance:,}",
            _signed(said.settled, before if said.settled < 0 else f"used by {by}, surely settled"),
            *_term(-said.ending, "in packages about to end"),
            *_term(-said.unmetered, "that passed no meter"),
            *_term(-said.doubtful, "perhaps charged, as the pool was empty"),
            *_term(said.came_low, "that came later" if said.came_low > 0 else "lost later"),
        ]

    def _high(self, said: Said) -> Iterator[str]:
        if Part.WAITS in said.parts:
            yield f"{_GUTTER}no high end: usage before it may still be under way"
            return
        if Part.BEFORE in said.parts:
            yield f"{_GUTTER}no high end: of before an arrival whose size is open"
            return
        by = self._times.minute(said.by if said.exact and said.entered is None else said.at)
        terms = [
            f"{said.balance:,}",
            _signed(said.used, f"used by {by}"),
            *_term(-said.lost, "that ended unused"),
            *_term(said.came_high, "that came later" if said.came_high > 0 else "lost later"),
        ]
        yield from _end("HIGH" if Part.HIGH in said.parts else "", "at most", said.high, terms)

    def _refused(self, refusal: Refusal) -> Iterator[str]:
        sign = ">=" if refusal.usage + refusal.reserve >= refusal.limit else "<"
        yield from self._line(refusal.at, "the gate that wrote this recording refused a call:")
        yield f"{_GUTTER}{refusal.usage:,} + {refusal.reserve:,} {sign} {refusal.limit:,}, its own limit"


def _end(gives: str, name: str, value: int | None, terms: list[str]) -> Iterator[str]:
    """`    LOW   at least 1,726,641 = 1,726,526 + 115 used by 10:52, surely settled`."""
    head = f"    {gives:<6}{name:<8} {number(value)} = "
    yield from folded(head + " ".join(terms), " " * len(head))


def _signed(tokens: int, what: str) -> str:
    return f"{'-' if tokens < 0 else '+'}{TIED}{abs(tokens):,} {what}"


def _term(tokens: int, what: str) -> list[str]:
    return [_signed(tokens, what)] if tokens else []
