"""A judge hears sums of meters in its own worker before they come by Kafka: sooner, and never otherwise."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rules.policy import Policy
from streams.delivery.step import Moment
from streams.facts_topic import FactsTopic
from streams.judge import JudgeStep
from streams.meter import Meter
from streams.metrics import Metrics
from streams.policy_file import default_rulebook, load_policy
from streams.trails import TRACE
from tests.streams.partition import Partition
from tests.streams.test_way import NOON, TOPICS, TRACEPARENT, Desk, usage

TOKENS = 5  # of each call


class Worker:
    """A meter and the judge of its model in one process."""

    def __init__(self, *, event_clock: bool = False, read_up: bool = True) -> None:
        self.policy: Policy = load_policy(None)
        self.desk = Desk()
        self.event_clock = event_clock
        self.calls = self.told = 0
        self.judged = Partition(self._judge)
        self.metered = Partition(self._meter)
        if read_up:
            self.judged.flush(NOON)

    def use(self, sent: int = NOON) -> None:
        """One more call is metered."""
        self.calls += 1
        self.metered.append(usage(self.calls, NOON), sent, headers=((TRACE, TRACEPARENT),))
        self.metered.handle(1)

    def tell(self, *, whole: bool) -> None:
        """The meter flushes; Kafka has what it tells, the judge not yet."""
        self.metered.flush(NOON, whole=whole)

    def die_before_telling(self) -> None:
        """What the judge has heard never comes by Kafka from this life of the meter."""
        self.metered.step.flush(0, Moment(self.metered.handled, True, NOON, whole=True))
        self.metered.start()
        self.metered.handle(len(self.metered.log))

    def bring(self, most: int = 1_000) -> int:
        """Facts come by Kafka; how many."""
        news = [output for output in self.metered.sent[self.told :] if output.topic == TOPICS.facts][:most]
        for output in news:
            self.told = self.metered.sent.index(output, self.told) + 1
            self.judged.append(output.value or b"", NOON, output.key, output.headers)
        self.judged.handle(len(self.judged.log))
        return len(news)

    def _hear(self, *told: Any) -> None:
        """Whichever judge lives now."""
        self.judge.hear(*told)

    def _judge(self) -> JudgeStep:
        desk: Any = self.desk
        rules = default_rulebook(self.policy)
        self.judge = JudgeStep(
            TOPICS, 1, self.policy, rules, desk, Metrics(), event_clock=self.event_clock, clock=lambda: NOON
        )
        return self.judge

    def _meter(self) -> Meter:
        facts = FactsTopic(TOPICS.facts, 1)
        return Meter(
            TOPICS, facts, self.policy, Metrics(), event_clock=self.event_clock, clock=lambda: NOON, traces=True,
            ahead=self._hear,
        )  # fmt: skip


def test_what_is_heard_ahead_is_ruled_on_once() -> None:
    """The decision knows its oldest record and its trace; when the sums come by Kafka they are old news."""
    worker = Worker()
    worker.use(NOON - 40)
    worker.use(NOON - 10)
    worker.tell(whole=False)
    worker.judged.flush(NOON)
    ((decision, sent),) = worker.desk.offered
    assert (decision.scope, decision.used, sent) == ("model:m", 2 * TOKENS, NOON - 40)
    traced = [output.headers for output in worker.judged.sent if output.topic == TOPICS.decisions]
    assert traced == [((TRACE, TRACEPARENT),)]
    assert worker.bring() == 1
    worker.judged.flush(NOON, whole=False)
    assert len(worker.desk.offered) == 1


def test_minutes_are_heard_with_their_sums() -> None:
    """A sum that names its tokens as placed comes with the minutes they are in: what a judge keeps has both."""
    worker = Worker()
    for whole in (False, True):
        worker.use()
        worker.tell(whole=whole)
        worker.judged.flush(NOON)
        rows = {key: row for key, row in worker.judged.rows.items() if row and "model:m|0|" in key}
        unplaced = sum(row["unplaced"] for row in rows.values() if "unplaced" in row)
        placed = sum(sum(row["tokens"]) for row in rows.values() if "tokens" in row)
        assert (unplaced, placed) == ((0, 2 * TOKENS) if whole else (TOKENS, 0))


def test_who_has_yet_to_read_hears_nothing() -> None:
    """Minutes that were told before may be among what a judge that has just taken over has not read."""
    worker = Worker(read_up=False)
    worker.use()
    worker.tell(whole=False)
    worker.judged.flush(NOON)
    assert worker.desk.offered == []


def test_a_recording_is_ruled_on_in_its_own_order() -> None:
    """In event time nothing is heard ahead: facts take effect at their tick."""
    worker = Worker(event_clock=True)
    worker.use()
    worker.tell(whole=True)
    worker.judged.flush(NOON)
    assert worker.desk.offered == []


ACTS = st.lists(st.sampled_from(["use", "part", "whole", "bring", "rule", "meter dies", "judge dies"]), max_size=40)


@given(ACTS)
def test_decisions_are_the_sum_of_the_log(acts: list[str]) -> None:
    """Whoever dies and whatever comes first: no decision is of more than was metered, and the last one is of all."""
    worker = Worker()
    for act in acts:
        if act == "use":
            worker.use()
        elif act in {"part", "whole"}:
            worker.tell(whole=act == "whole")
        elif act == "bring":
            worker.bring(2)
        elif act == "rule":
            worker.judged.flush(NOON)
        elif act == "meter dies":
            worker.die_before_telling()
        else:
            worker.judged.start()
            worker.judged.handle(len(worker.judged.log))
        used = [decision.used for decision, _ in worker.desk.offered if decision.scope == "model:m"]
        assert max(used, default=0) <= worker.calls * TOKENS
    worker.use()
    worker.tell(whole=True)
    while worker.bring():
        pass
    worker.judged.flush(NOON)
    used = [decision.used for decision, _ in worker.desk.offered if decision.scope == "model:m"]
    assert used[-1] == worker.calls * TOKENS
