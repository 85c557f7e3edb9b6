"""A replay as a picture: used, both ends of the pool, the readings, the limit of every formula. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from importlib import import_module
from pathlib import Path
from typing import Any

from rules.hindsight import Seen
from rules.moment import Millis, to_datetime

FORMATS = (".svg", ".png")

# Okabe and Ito's colours, which people tell apart whatever colours they see; dashes differ as well. v5 is v2 again.
STYLES: dict[str, tuple[str, Any]] = {
    "interval": ("#0072B2", "solid"),
    "v2": ("#E69F00", (0, (6, 2))),
    "v3": ("#777777", (0, (1, 2))),
    "v4": ("#CC79A7", (0, (6, 2, 1, 2))),
    "v5": ("#E69F00", (0, (6, 2))),
    "v6": ("#D55E00", (0, (3, 2))),
}
USED, POOL, READING = "#000000", "#56B4E9", "#009E73"
POINTS = 3_000  # more are not to be seen


class MissingLibrary(Exception):  # noqa: N818 - the operator's to install
    """matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__("--plot needs matplotlib: pip install 'blastdoor[plot]'")


def require() -> None:
    """Raises MissingLibrary before anything has been replayed in vain."""
    try:
        import_module("matplotlib")
    except ImportError as error:
        raise MissingLibrary from error


def draw(
    path: Path, models: dict[str, list[Seen]], readings: dict[str, list[tuple[Millis, int]]], zone: tzinfo
) -> None:
    """Write the picture: one panel for each model. `readings`: (time, balance + used then) by model."""
    matplotlib, figures = import_module("matplotlib"), import_module("matplotlib.figure")
    # Text stays text, and the same recording gives the same bytes.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "blastdoor", "font.size": 9}):
        figure = figures.Figure(figsize=(11, 4.6 * len(models)), layout="constrained")
        for number, (model, seen) in enumerate(models.items(), start=1):
            _panel(figure.add_subplot(len(models), 1, number), model, seen, readings.get(model, []), zone)
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)


def _panel(axes: Any, model: str, seen: list[Seen], readings: Sequence[tuple[Millis, int]], zone: tzinfo) -> None:
    points = _thinned(seen)
    times = [to_datetime(point.at, zone) for point in points]
    _pool(axes, times, points)
    for names, limits in _limits(points).items():
        _limit(axes, names, times, limits)
    _used(axes, times, points)
    taken = [to_datetime(at, zone) for at, _ in readings]
    values = [value / 1e6 for _, value in readings]
    axes.plot(taken, values, "o", color=READING, markersize=3, label="reading: balance + used", zorder=5)
    _dress(axes, model, times, zone)


def _pool(axes: Any, times: list[datetime], points: list[Seen]) -> None:
    """The band in which the pool lies, as it was known then; where an end is unknown there is none."""
    low = [_of_day(point.low, point) for point in points]
    high = [_of_day(point.high, point) for point in points]
    known = [point.low is not None and point.high is not None for point in points]
    axes.fill_between(times, low, high, where=known, step="post", color=POOL, alpha=0.35, label="pool", linewidth=0)
    for end in (low, high):  # seen as well where they almost meet
        axes.step(times, end, where="post", color=POOL, linewidth=1)


def _used(axes: Any, times: list[datetime], points: list[Seen]) -> None:
    """A line for each day, to the end of the day."""
    begin, label = 0, "used"
    for number in range(1, len(points) + 1):
        if number == len(points) or points[number].day != points[begin].day:
            values = [_of_day(point.total, point) for point in points[begin:number]]
            until = times[number] if number < len(points) else times[-1]
            axes.plot([*times[begin:number], until], [*values, values[-1]], color=USED, linewidth=1.8, label=label)
            begin, label = number, "_used"


def _limits(points: list[Seen]) -> dict[tuple[str, ...], list[float]]:
    """Formulas that say the same share a line."""
    lines: dict[tuple[int | None, ...], list[str]] = {}
    for name in points[0].limits:
        lines.setdefault(tuple(point.limits[name] for point in points), []).append(name)
    return {
        tuple(names): [float("nan") if limit is None else limit / 1e6 for limit in limits]
        for limits, names in lines.items()
    }


def _limit(axes: Any, names: tuple[str, ...], times: list[datetime], limits: list[float]) -> None:
    colour, dashes = STYLES.get(names[0], ("#444444", "solid"))
    width = 2.4 if names[0] == "interval" else 1.5
    label = f"limit {', '.join(names)}"
    axes.step(times, limits, where="post", color=colour, linestyle=dashes, linewidth=width, label=label)


def _dress(axes: Any, model: str, times: list[datetime], zone: tzinfo) -> None:
    dates = import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(tz=zone)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=zone))
    if times[-1] > times[0]:
        axes.set_xlim(times[0], times[-1] + (times[-1] - times[0]) / 100)
    axes.set_ylim(bottom=0)
    axes.set_title(model, loc="left", fontweight="bold")
    axes.set_ylabel("million tokens of the day")
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _of_day(value: int | None, point: Seen) -> float:
    return float("nan") if value is None else (value - point.base) / 1e6


def _thinned(seen: list[Seen]) -> list[Seen]:
    """Few enough points; those at which a limit or the day changed stay."""
    if len(seen) <= POINTS:
        return seen
    every = len(seen) // POINTS + 1
    kept = [0, *(n for n in range(1, len(seen)) if n % every == 0 or _turns(seen[n - 1], seen[n])), len(seen) - 1]
    return [seen[number] for number in dict.fromkeys(kept)]


def _turns(before: Seen, after: Seen) -> bool:
    return before.limits != after.limits or before.day != after.day
