"""An explanation for a person: 80 columns, a minute to read. Lines that begin without a space are headings."""

from __future__ import annotations

from collections.abc import Iterator

from rules.explain import Asked, EndSum, Explanation, OtherFormula, WallHeight
from rules.grounds import Grounds, Part, Remembered, Said
from rules.saying import readable
from streams.explaining.books import books
from streams.explaining.steps import Narrator
from streams.explaining.wording import Times, amount, folded, number, short, span

_WALLS = {"cap": "beyond it nothing returns", "pool": "beyond it calls are charged"}

_SHAPING = {Part.LOW, Part.HIGH, Part.LATEST, Part.WAITS, Part.EARLY, Part.SILENT}


def lines(explanation: Explanation, times: Times) -> Iterator[str]:
    """The whole explanation."""
    for section in (_head, _rule, _limit, _pool, _steps, _books, _others, _facts, _places):
        yield from section(explanation, times)


def _head(explanation: Explanation, times: Times) -> Iterator[str]:
    decided = explanation.decided
    yield from folded(f"{readable(decided.facts['model'])} at {times.whole(decided.at)}: {decided.action}")
    yield from folded(f"  {decided.reason}")


def _rule(explanation: Explanation, _: Times) -> Iterator[str]:
    decided = explanation.decided
    yield ""
    yield f"The rule: {decided.rule or 'none applies'}"
    if explanation.when:
        yield from folded(f"  when {explanation.when}", "       ")
    stricter = [rule.name for rule in _before(explanation) if rule.holds is False]
    if stricter:
        yield from folded(f"  Stricter rules did not hold: {', '.join(stricter)}.")
    if not explanation.same_policy:
        yield from folded(f"  Policy {decided.policy} decided; the one at hand is another.")


def _before(explanation: Explanation) -> list[Asked]:
    names = [rule.name for rule in explanation.asked]
    decided = explanation.decided.rule
    return list(explanation.asked[: names.index(decided)]) if decided in names else []


def _limit(explanation: Explanation, _: Times) -> Iterator[str]:
    decided = explanation.decided
    used, limit = decided.number("used") or 0, decided.number("limit")
    yield ""
    if limit is None:
        yield f"The limit: unknown; {used:,} tokens used today"
        if decided.grounds is not None and decided.grounds.why:
            yield from folded(f"  {decided.grounds.why}")
    else:
        left = f"{limit - used:,} left" if used < limit else "nothing left"
        yield f"The limit: {limit:,} tokens a day; {used:,} used, {left}"
    for wall in explanation.walls:
        yield _wall(wall)


def _wall(wall: WallHeight) -> str:
    what = f"  <- {_WALLS['cap' if wall.name == 'cap' else 'pool']}" if wall.bites else ""
    total = f"  = {wall.sum}" if wall.sum else ""
    return f"  {wall.name:<9}{number(wall.tokens):>11}{total}{what}"


def _pool(explanation: Explanation, _: Times) -> Iterator[str]:
    decided, grounds = explanation.decided, explanation.decided.grounds
    low, high = decided.number("pool_low"), decided.number("pool_high")
    yield ""
    yield f"The pool of the day (used + really left): {number(low)} to {number(high)}"
    if explanation.low is not None:
        yield from folded(f"  at least {_sum(explanation.low, 'less')}", "           ")
    if explanation.high is not None:
        yield from folded(f"  at most  {_sum(explanation.high, 'plus')}", "           ")
    if grounds is not None:
        yield from folded(f"  {_lag(explanation, grounds)}")
        if grounds.share:
            yield from folded(f"  {grounds.share:.1%} of usage passes no meter, as {grounds.losses} losses showed.")
    charged = decided.number("charged_low") or 0, decided.number("charged_high") or 0
    if any(charged):
        yield f"  Probably charged already: {amount(*charged)} tokens."


def _sum(end: EndSum, sign: str) -> str:
    giver = f"reading {short(end.giver.id)}"
    if not isinstance(end.giver, Remembered) and end.giver.entered is not None:
        giver = f"calibration {short(end.giver.id)}"
    ruling = f"{end.raw:,} by {giver}"
    if end.crossed:
        ruling += ", more than the high end, which rules,"
    give = f" {sign} {end.allowance:,} for residuals" if end.allowance else ""
    return f"{end.value:,}: {ruling}{give}"


def _lag(explanation: Explanation, grounds: Grounds) -> str:
    decided = explanation.decided
    bound = f"D, how far behind a reading may be, is {span(grounds.lag.bound)}"
    low, high = decided.lag_tokens_low, decided.lag_tokens_high
    if low is None or high is None:
        return f"{bound}."
    seconds = decided.facts.get("lag_seconds")
    about = f" (some {seconds / 60:.0f} min)" if isinstance(seconds, float) and low > 0 else ""
    return f"The newest reading is {amount(low, high)} tokens{about} behind; {bound}."


def _steps(explanation: Explanation, times: Times) -> Iterator[str]:
    grounds = explanation.decided.grounds
    if grounds is None:
        return
    narrator = Narrator(times, grounds)
    yield ""
    yield "What shaped it, in order (at most: as if all that was used was settled)"
    told = [step for step in explanation.steps if not isinstance(step.what, Said) or _SHAPING & set(step.what.parts)]
    for step in told:
        yield from narrator.tell(step)
    others = grounds.others + len(explanation.steps) - len(told)
    if others:
        yield f"  ({others} more {'reading is' if others == 1 else 'readings are'} kept, but not needed for either end)"
    if not explanation.steps:
        yield "  nothing yet"


def _books(explanation: Explanation, times: Times) -> Iterator[str]:
    if explanation.decided.account is not None:
        yield ""
        yield from books(explanation.decided.account, times)


def _others(explanation: Explanation, _: Times) -> Iterator[str]:
    if explanation.others:
        yield ""
        yield "What other formulas would have said"
    for other in explanation.others:
        yield from folded(f"  {_other(other)}", "      ")


def _other(other: OtherFormula) -> str:
    if other.raw is None or other.limit is None:
        return f"{other.name}  unknown: refuses"
    text = f"{other.name}  {other.sum}{' =' if other.raw else ', so'} {other.raw:,}"
    if other.limit < other.raw:
        text += f", capped to {other.limit:,}"
    text += ": refuses" if other.refuses else ": allows"
    if other.refuses and other.left:
        text += f", though {other.left:,} free tokens are left at least ({other.flaw})"
    if other.beyond:
        where = "only the cap keeps it" if other.limit < other.raw else "it lies"
        text += f"; {where} {other.beyond:,} tokens {'out of' if other.limit < other.raw else 'in'} the charged zone"
    return text


def _facts(explanation: Explanation, _: Times) -> Iterator[str]:
    yield ""
    yield "The facts the rules looked at"
    yield from folded(
        "  " + ", ".join(f"{name} {readable(value) or 'none'}" for name, value in explanation.decided.facts.items())
    )


def _places(explanation: Explanation, times: Times) -> Iterator[str]:
    decided, grounds = explanation.decided, explanation.decided.grounds
    yield ""
    yield from folded(f"Where it stands: {decided.origin}")
    if any(decided.version):
        yield f"  version {decided.version[0]}-{decided.version[1]}, policy {decided.policy}"
    if grounds is None:
        yield from folded("  This decision carries no grounds that are understood here: another version wrote it.")
        return
    if grounds.since is not None:
        yield f"  usage is metered without a gap since {times.whole(grounds.since)}"
    if grounds.positions:
        at = ", ".join(f"{partition}: {position:,}" for partition, position in sorted(grounds.positions.items()))
        yield from folded(f"  usage partitions were read up to {at}")
