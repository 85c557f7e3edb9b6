"""The fold of one source partition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.counter import Counter
from rules.duplicates import DuplicateWindow
from rules.facts import Minutes, Partial
from rules.meter import MeterClock, PartitionMeter
from rules.moment import DAY, HOUR, MINUTE
from rules.policy import Gateway, Policy
from rules.records import Reason, Rejected, Usage

NOON = 1_786_593_600_000  # 2026-08-13T12:00:00+08:00
POLICY = Policy(aliases={"volcengine/m-260731": "m"}, gateways={"litellm": Gateway(name="litellm", guard=True)})


def usage(event_id: str, tokens: int = 10, at: int = NOON, **more: object) -> Usage:
    return Usage(id=event_id, at=at, model="m", total_tokens=tokens, **more)  # type: ignore[arg-type]


EVENTS = st.builds(
    usage,
    st.sampled_from([f"id-{n}" for n in range(30)]),
    st.integers(0, 1_000),
    st.integers(NOON - 2 * DAY, NOON + 5 * MINUTE),
)


def merged(rows: list[Partial | Minutes]) -> Counter:
    counter = Counter()
    for row in rows:
        if isinstance(row, Partial):
            counter.merge(msgspec.convert(msgspec.to_builtins(row), Partial))
    return counter


def fold(
    meter: PartitionMeter, offsets: Sequence[int], log: Sequence[Usage], times: Sequence[int] = ()
) -> list[tuple[int, Rejected]]:
    return meter.fold_batch(offsets, log, [event.at for event in log], times)


def contents(rows: list[Partial | Minutes]) -> dict[str, object]:
    """Rows by key. A minute's offset may be that of a later call without tokens: it tells the same."""
    return {row.key: row if isinstance(row, Partial) else row.tokens for row in rows}


def distinct(log: list[Usage]) -> int:
    """An independent count: each id once, at its first appearance."""
    first: dict[str, Usage] = {}
    for event in log:
        first.setdefault(event.id, event)
    return sum(event.total_tokens for event in first.values())


@given(st.lists(EVENTS, max_size=60))
def test_every_distinct_event_counts_once(log: list[Usage]) -> None:
    """The total is the sum over distinct ids, and the minutes add up to it."""
    meter = PartitionMeter(0, POLICY)
    for offset, event in enumerate(log):
        assert meter.fold(offset, event) is None
    rows = meter.take_changes()
    assert merged(rows).total() == distinct(log)
    assert sum(sum(row.tokens) for row in rows if isinstance(row, Minutes)) == distinct(log)


@given(st.lists(EVENTS, max_size=60), st.data())
def test_a_restart_anywhere_changes_no_total(log: list[Usage], data: st.DataObject) -> None:
    """Rows saved at one place and the log read again from any earlier one give the same total."""
    saved_at = data.draw(st.integers(0, len(log)))
    resumed_at = data.draw(st.integers(0, saved_at))
    first = PartitionMeter(0, POLICY)
    for offset in range(saved_at):
        first.fold(offset, log[offset])
    rows = msgspec.convert(msgspec.to_builtins(first.take_changes()), list[Partial | Minutes])

    window = DuplicateWindow()
    for offset in range(resumed_at):
        window.fresh([log[offset].id], [offset], [0])
    second = PartitionMeter(0, POLICY, window=window)
    second.restore(rows, MeterClock())
    for offset in range(resumed_at, len(log)):
        second.fold(offset, log[offset])
    assert merged(second.take_changes()).total() == distinct(log)


@given(
    st.lists(st.tuples(EVENTS, st.integers(NOON - 5 * DAY, NOON + DAY)), min_size=1, max_size=60),
    st.lists(st.integers(1, 59), max_size=6),
    st.booleans(),
)
def test_how_the_log_is_cut_into_batches_changes_nothing(
    log: list[tuple[Usage, int]], cuts: list[int], timed: bool
) -> None:
    """One by one or in any batches: the same sums, minutes, refusals and counts, whatever the clock does between."""
    times = [at for _, at in log] if timed else []
    single, batched = PartitionMeter(0, POLICY), PartitionMeter(0, POLICY)
    one_by_one = [
        (offset, refused.reason)
        for offset, (event, _) in enumerate(log)
        for _, refused in fold(single, [offset], [event], times[offset : offset + 1])
    ]
    in_batches = [
        (start + index, refused.reason)
        for start, stop in pairwise(sorted({0, len(log), *(cut for cut in cuts if cut < len(log))}))
        for index, refused in fold(
            batched, range(start, stop), [event for event, _ in log[start:stop]], times[start:stop]
        )
    ]
    assert in_batches == one_by_one
    assert batched.counts == single.counts
    assert batched.clock == single.clock
    assert contents(batched.take_changes()) == contents(single.take_changes())


@given(st.lists(EVENTS, min_size=1, max_size=40), st.data())
def test_a_batch_that_reaches_back_into_the_rows_counts_only_what_is_new(log: list[Usage], data: st.DataObject) -> None:
    """After a restart the log may be read again from before the rows, in batches of any size."""
    saved_at = data.draw(st.integers(1, len(log)))
    first = PartitionMeter(0, POLICY)
    fold(first, range(saved_at), log[:saved_at])
    second = PartitionMeter(0, POLICY)
    second.restore(first.take_changes(), MeterClock())
    resumed_at = data.draw(st.integers(0, saved_at - 1))
    for offset in range(resumed_at):
        second.duplicates.of_calls([log[offset]], [offset])
    fold(second, range(resumed_at, len(log)), log[resumed_at:])
    assert merged(second.take_changes()).total() == distinct(log)


TOLD = st.builds(
    lambda number, minute, tokens, today, key: usage(
        f"id-{number}", tokens, NOON + minute * MINUTE, today=today, key_hash=key
    ),
    st.integers(0, 60),
    st.integers(0, 3),
    st.integers(0, 50),
    st.none() | st.integers(0, 200),
    st.sampled_from(["k", "l"]),
)


@given(st.lists(TOLD, min_size=1, max_size=30), st.lists(st.integers(1, 29), max_size=5))
def test_totals_that_gateways_tell_are_compared_in_the_order_of_the_log(log: list[Usage], cuts: list[int]) -> None:
    """In a batch calls are summed by minute and model; what a gateway has counted is still compared call by call."""
    single, batched = PartitionMeter(0, POLICY), PartitionMeter(0, POLICY)
    for offset, event in enumerate(log):
        single.fold(offset, event)
    for start, stop in pairwise(sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})):
        fold(batched, range(start, stop), log[start:stop])
    assert contents(batched.take_changes()) == contents(single.take_changes())


def test_minutes_of_one_day_in_one_batch_all_count() -> None:
    """A batch that spans minutes adds each of them to the same sums."""
    meter = PartitionMeter(0, POLICY)
    fold(meter, [0, 1, 2], [usage("a"), usage("b", at=NOON - MINUTE), usage("c", at=NOON + MINUTE)])
    assert merged(meter.take_changes()).total() == 30


def test_sums_told_in_between_say_that_their_minutes_follow() -> None:
    """Taken alone, sums name the tokens whose minutes are not told; taken with the minutes, none."""
    meter = PartitionMeter(0, POLICY)
    meter.fold(0, usage("a", 10))
    assert [(row.sums.tokens, row.unplaced) for row in meter.take_partials()] == [(10, 10)]
    assert meter.take_partials() == []
    meter.fold(1, usage("b", 5))
    assert [(row.sums.tokens, row.unplaced) for row in meter.take_rows() if isinstance(row, Partial)] == [(15, 0)]
    meter.fold(2, usage("c", 1))
    assert [(row.sums.tokens, row.unplaced) for row in meter.take_partials()] == [(16, 1)]


def test_a_new_incarnation_of_the_log_adds_to_what_was() -> None:
    """When the log was replaced, offsets start anew and the earlier sums stay."""
    meter = PartitionMeter(0, POLICY)
    meter.fold(100, usage("a", 10))
    rows = meter.take_changes()
    second = PartitionMeter(0, POLICY, incarnation=1)
    second.restore(rows, MeterClock())
    second.fold(0, usage("b", 5))
    assert merged(second.take_changes()).total() == 15


def test_a_million_events_of_one_model() -> None:
    """One row takes them all, told after every batch, and every two thousandth event comes twice: not one is lost."""
    meter, size, told = PartitionMeter(0, POLICY), 2_000, 0
    for first in range(0, 1_000_000, size):
        log = [usage(str(number), 3) for number in range(first, first + size - 1)]
        fold(meter, range(first, first + size), [*log, log[-1]])
        meter.duplicates.trim(first + size)
        told = sum(row.sums.tokens for row in meter.take_partials())
    assert (told, meter.counts.counted, meter.counts.duplicates) == (3 * 999_500, 999_500, 500)


def test_aliases_share_one_model() -> None:
    """All spellings of a model count for its one canonical name."""
    meter = PartitionMeter(0, POLICY)
    meter.fold(0, msgspec.structs.replace(usage("a"), model="volcengine/m-260731"))
    assert {row.scope for row in meter.take_changes()} == {"model:m"}


def test_a_cache_hit_is_a_request_and_no_tokens() -> None:
    """What a cache answered costs the provider nothing."""
    meter = PartitionMeter(0, POLICY)
    meter.fold(0, usage("a", 100, cache_hit=True))
    (row,) = meter.take_changes()
    assert isinstance(row, Partial)
    assert (row.sums.requests, row.sums.cache_hits, row.sums.tokens) == (1, 1, 0)


def test_usage_of_guarding_gateways_is_told_apart() -> None:
    """Only tokens of gateways declared `guard: true` count as guarded."""
    meter = PartitionMeter(0, POLICY)
    meter.fold(0, usage("a", 100, source="litellm"))
    meter.fold(1, usage("b", 7, source="cron"))
    row = next(row for row in meter.take_changes() if isinstance(row, Partial))
    assert (row.sums.tokens, row.sums.guarded) == (107, 100)


@pytest.mark.parametrize(
    ("ago", "reason"),
    [
        pytest.param(-11 * MINUTE, Reason.IN_FUTURE, id="more than ten minutes ahead of the clock is a mistake"),
        pytest.param(5 * DAY, Reason.TOO_LATE, id="a day closed three days ago takes nothing more"),
    ],
)
def test_events_out_of_time_are_refused(ago: int, reason: Reason) -> None:
    """What is refused comes back with its reason and changes nothing, not even the memory of ids."""
    meter = PartitionMeter(0, POLICY)
    meter.tick(NOON)
    refused = meter.fold(0, usage("a", at=NOON - ago))
    assert isinstance(refused, Rejected)
    assert refused.reason is reason
    assert meter.take_changes() == []
    assert meter.fold(1, usage("a")) is None
    assert meter.counts.duplicates == 0


def test_late_events_of_open_days_count_for_their_own_day() -> None:
    """An event of yesterday that arrives today belongs to yesterday."""
    meter = PartitionMeter(0, POLICY)
    meter.tick(NOON)
    meter.fold(0, usage("a", 10, NOON - DAY))
    assert merged(meter.take_changes()).tokens("2026-08-12") == 10


def test_rows_nobody_can_reach_are_forgotten() -> None:
    """Rows of days and hours closed for good go, so memory is bounded."""
    meter = PartitionMeter(0, POLICY)
    meter.tick(NOON)
    meter.fold(0, usage("a"))
    meter.take_changes()
    meter.tick(NOON + 10 * DAY)
    assert sorted(meter.forget()) == ["minutes|model:m|0|" + str(NOON // HOUR), "model:m|0|2026-08-13"]
    assert meter.forget() == []


def test_made_up_keys_do_not_outgrow_a_message() -> None:
    """However many keys name a running total, and however long, a partial stays far below what a broker takes."""
    meter = PartitionMeter(0, POLICY)
    for number in range(3_000):
        assert (
            meter.fold(number, usage(f"id-{number}", today=50, key_hash=f"{number}" + "h" * 50 * (number % 3))) is None
        )
    (partial,) = [row for row in meter.take_changes() if isinstance(row, Partial)]
    assert partial.sums.requests == 3_000
    assert partial.seeds["0"] == 40
    assert len(msgspec.json.encode(partial)) < 200_000
