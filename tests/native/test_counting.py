"""Two meters over one log, one in Python and one native, tell and keep the same after every step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import rules.duplicates
import rules.sheet_keeping
from rules.moment import DAY, MINUTE, to_rfc3339
from rules.policy import Policy
from tests.native.pair import NOON, POLICIES, InPython, Life, natively

pytestmark = pytest.mark.native

MIDNIGHT = NOON + 4 * 60 * MINUTE  # in the policy's zone
BASES = st.sampled_from([NOON] * 6 + [MIDNIGHT] * 2 + [NOON - DAY, NOON + DAY, NOON - 4 * DAY, NOON + 11 * MINUTE])
SPREADS = st.sampled_from([0, 3, 3 * MINUTE, 3 * MINUTE, 3 * MINUTE, 9 * MINUTE, 6 * DAY, 400 * DAY])
MODELS = st.sampled_from(["m", "m", "m", "n", '模"型', "canonical", "a\\b", "x" * 80])
TENANTS = st.sampled_from(["", "acme", "known", "late", "…other", "租户", 'q"', "t" * 200, *"bcde"])
VALUES = st.sampled_from(["", "研发", "a", "b", "c", 'd"\\', "v" * 64])
ODD = st.sampled_from(["t" * 201, "line\nbreak", "v" * 65])  # not read natively
TOKENS = st.sampled_from([0, 1, 2, 7, 65_536 + 7, 10**12])


@st.composite
def usages(draw: st.DrawFn, base: int, spread: int, odd: bool) -> bytes:
    """Ids are few, so that many are duplicates; of these some differ."""
    event: dict[str, Any] = {
        "type": "usage",
        "id": draw(st.sampled_from(["a", "b", "c", "d", "e", "f" * 65, "g", "h", "i", "研"]))
        + draw(st.sampled_from("12")),
        "ts": to_rfc3339(base + draw(st.integers(-spread, spread))),
        "model": draw(MODELS),
        "total_tokens": draw(TOKENS),
        "tenant": draw(st.one_of(TENANTS, TENANTS, st.none())),
    }
    optional: dict[str, st.SearchStrategy[Any]] = {
        "department": VALUES,
        "user": VALUES | ODD if odd else VALUES,
        "knowledge_base": VALUES,
        "source": st.sampled_from(["guard", "litellm", ""]),
        "status": st.sampled_from(["success", "failure", ""]),
        "cache_hit": st.booleans(),
        "estimated": st.booleans(),
        "today": st.integers(0, 20),
        "key_hash": st.sampled_from(["", "k1", "k2", "k" * 65]),
    }
    for name in draw(st.lists(st.sampled_from(sorted(optional)), max_size=5, unique=True)):
        event[name] = draw(st.one_of(optional[name], optional[name], st.none()))
    if event["total_tokens"] == 7:
        event |= {"prompt_tokens": 4, "completion_tokens": 3, "cached_tokens": 2}
    return json.dumps(event, ensure_ascii=draw(st.booleans())).encode()


OTHERS = st.sampled_from(
    [
        b"{not json",
        b"",
        b'{"type":"balance","id":"b","ts":1786593600,"model":"m","available":1}',
        b'{"type":"refusal","id":"r","ts":1786593600,"model":"m","usage":1,"reserve":1,"limit":1}',
        *(json.dumps({"type": "clock", "ts": (NOON + ahead) / 1000}).encode() for ahead in (0, MINUTE, DAY)),
    ]
)
STAMPS = st.sampled_from([0] * 8 + [1, -1, MINUTE, -MINUTE, DAY, -DAY, -400 * DAY, 400 * DAY, -NOON, -NOON - 1])


@st.composite
def lots(draw: st.DrawFn) -> list[tuple[bytes, int]]:
    """Records with their timestamps. Mostly all are events of about the same time, which is the native way."""
    base, spread = draw(BASES), draw(SPREADS)
    calls, odd = usages(base, spread, odd=False), usages(base, spread, odd=True)
    kind = draw(st.sampled_from([calls] * 6 + [odd, st.one_of(calls, calls, calls, OTHERS)]))
    return draw(st.lists(st.tuples(kind, STAMPS.map(base.__add__)), min_size=1, max_size=12))


class TwoMeters(RuleBasedStateMachine):
    """`tried` is native until it is restarted as the other kind."""

    event_clock = False

    def __init__(self) -> None:
        super().__init__()
        self.reference = Life(InPython, event_clock=self.event_clock)
        self.tried = Life(natively, event_clock=self.event_clock)
        self.lives = (self.reference, self.tried)

    @rule(lot=lots())
    def handle(self, lot: list[tuple[bytes, int]]) -> None:
        """Records come, and all that are there are handled at once."""
        for value, stamp in lot:
            for life in self.lives:
                life.partition.append(value, stamp)
        for life in self.lives:
            life.partition.handle(len(life.partition.log))

    @rule(count=st.integers(1, 5))
    def handle_again(self, count: int) -> None:
        """Some are read again by the same meter."""
        for life in self.lives:
            life.partition.handled = max(0, life.partition.handled - count)
            life.partition.handle(len(life.partition.log))

    @rule(whole=st.booleans(), dies=st.sampled_from([False, False, False, True]))
    def flush(self, whole: bool, dies: bool) -> None:
        """All of it or the sums alone; perhaps the worker dies of it."""
        for life in self.lives:
            life.partition.flush(life.now, whole=whole, dies_after_outputs=dies)

    @rule(native=st.booleans(), flushed=st.booleans())
    def restart(self, native: bool, flushed: bool) -> None:
        """Somebody else takes the partition up, of either kind."""
        if flushed:
            self.flush(whole=True, dies=False)
        self.tried.counter = natively if native else InPython
        for life in self.lives:
            life.partition.start()

    @rule(number=st.integers(0, len(POLICIES) - 1))
    def adopt(self, number: int) -> None:
        """Models, guards and known tenants are others from now on."""
        for life in self.lives:
            life.adopt(POLICIES[number])

    @rule(later=st.sampled_from([1, MINUTE, DAY, 5 * DAY]))
    def pass_time(self, later: int) -> None:
        """Days pass, and are dropped."""
        for life in self.lives:
            life.now += later

    @invariant()
    def alike(self) -> None:
        """What is told, kept and counted."""
        assert self.tried.seen() == self.reference.seen()


class TwoMetersOfRecordings(TwoMeters):
    """Clocks are in the log."""

    event_clock = True


def folded(model: str) -> int:
    """What the library makes of a model: 16 bits, in which two may be alike by chance, differently than elsewhere."""
    found = 0x811C9DC5
    for byte in model.encode():
        found = (found ^ byte) * 0x01000193 % (1 << 32)
    return found ^ (found >> 16)


@pytest.fixture(autouse=True)
def _same_chance_and_many_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sheets are written with a flush, so that calls stand in notes and are counted again after a restart."""
    monkeypatch.setattr(rules.duplicates, "hash", folded, raising=False)
    monkeypatch.setattr(rules.sheet_keeping, "LEAST_CELLS", 1)
    monkeypatch.setattr(rules.sheet_keeping, "NOTED_A_CELL", 1 << 60)


@pytest.mark.parametrize("machine", [TwoMeters, TwoMetersOfRecordings])
def test_both_count_alike(machine: type[TwoMeters]) -> None:
    """Whatever comes, dies, restarts or changes."""
    run_state_machine_as_test(machine, settings=settings(max_examples=30, stateful_step_count=20))


def event(number: int, minute: int, **members: Any) -> bytes:
    at = to_rfc3339(NOON + minute * MINUTE)
    return json.dumps(
        {"type": "usage", "id": f"id-{number}", "ts": at, "model": "m", "total_tokens": 1} | members
    ).encode()


MINUTES = [event(number, minute, model="abcabc"[number]) for number, minute in enumerate((3, 1, 3, 2, 0, 1))]
CROWD = ("a", "b", "c", "d", "known", "e", "…other", "", "late", "a", "d")
TENANTS_OF_MINUTES = [event(number, -number, tenant=name, model="ab"[number % 2]) for number, name in enumerate(CROWD)]
VALUES_OF_MINUTES = [
    event(number, -number, tenant="t", user=f"u{number}", department=f"d{number % 3}") for number in range(8)
]
TOTALS = [event(number, number % 3, today=20 - number, key_hash="k", total_tokens=number) for number in range(8)]
TWINS = [event(number % 3, 0, total_tokens=1 + number // 6) for number in range(12)]
GUARDED = [
    event(number, number % 3, source=("guard", "x")[number % 2], cache_hit=number > 5, tenant="abc"[number % 3])
    for number in range(9)
]


@pytest.mark.parametrize("lot", [MINUTES, TENANTS_OF_MINUTES, VALUES_OF_MINUTES, TOTALS, TWINS, GUARDED])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_lot_is_counted_in_the_order_of_its_minutes(lot: list[bytes], policy: Policy) -> None:
    """Who comes first has the place, and rows are told as they began: natively as in Python."""
    reference, tried = (list(stages(Life(counter), lot, policy)) for counter in (InPython, natively))
    assert tried == reference
    assert natively().read(lot, range(len(lot))) is not None


def stages(life: Life, lot: list[bytes], policy: Policy) -> Iterator[Any]:
    """Half of a lot, the rest under another policy, and a restart; then all of it again with other ids."""
    for value in [*lot, *(value.replace(b"id-", b"other-") for value in lot)]:
        life.partition.append(value, NOON)
    for under in (policy, POLICIES[1], policy):
        life.adopt(under)
        life.partition.handle(len(lot) // 2)
        life.partition.flush(NOON)
        yield life.seen()
    life.partition.start()
    yield life.seen()
    life.partition.handle(len(lot))
    life.partition.flush(NOON)
    yield life.seen()
