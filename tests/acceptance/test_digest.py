"""The digest waits for usage that is late: two judges whose usage is not all there, and one message about the day."""

from __future__ import annotations

from rules.alerts import Alert
from rules.calendar import Calendar
from rules.day_book import DayBook
from rules.facts import Minutes, Partial, Sums, Watermark
from rules.judge import Judge
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.policy import Digest, Policy
from streams.day_shelf import DayShelf
from streams.policy_file import default_rulebook, default_rules

CALENDAR = Calendar()
POLICY = Policy(rules=default_rules())
RULEBOOK = default_rulebook(POLICY)
TODAY = "2026-08-13"
START = CALENDAR.start(TODAY)
NEXT = START + DAY


class Deployment:
    """Two models with a judge each, both of whose usage comes by the same two partitions, and the shelf of `notify`."""

    def __init__(self) -> None:
        self.now: Millis = START
        self.judges = {scope: Judge(POLICY, RULEBOOK, 2) for scope in ("model:a", "model:b")}
        self.shelf = DayShelf(Digest(at="09:05"), CALENDAR, lambda: self.now)
        self.books: list[DayBook] = []
        self.digests: list[Alert] = []
        self._offset = 0

    def use(self, scope: str, partition: int, at: Millis, tokens: int) -> None:
        """What one partition has counted of the day in all, the newest of it at an instant."""
        self._offset += 1
        minutes = [0] * 60
        minutes[at % HOUR // MINUTE] = tokens
        self.judges[scope].apply(Minutes(scope, partition, at // HOUR, 0, self._offset, minutes))
        self.judges[scope].apply(Partial(scope, partition, TODAY, 0, self._offset, Sums(tokens=tokens, requests=1)))

    def tick(self, now: Millis, complete: tuple[Millis, Millis], *scopes: str) -> None:
        """Judges learn how far both partitions have come, and rule; the shelf looks whether it is time."""
        self.now = now
        for scope in scopes or self.judges:
            for partition, until in enumerate(complete):
                self._offset += 1
                self.judges[scope].apply(Watermark("usage", partition, 0, self._offset, until, START))
            for outcome in self.judges[scope].rule(now, every=True):
                if outcome.closed is not None:
                    self.books.append(outcome.closed)
                    self.shelf.hear(outcome.closed)
        self.digests += self.shelf.take()[0]


def test_a_digest_waits_for_the_late_books_of_every_model() -> None:
    """A partition stands still over midnight: at five past nine nothing is told; when it comes, all of the day is."""
    story = Deployment()
    story.tick(START, (START, START))
    story.use("model:a", 0, START + 10 * HOUR, 300_000)
    story.use("model:b", 1, START + 11 * HOUR, 100_000)
    stands = NEXT - 2 * MINUTE
    story.tick(stands, (stands, stands))
    for at in (NEXT + MINUTE, NEXT + 9 * HOUR + 5 * MINUTE, NEXT + 9 * HOUR + 40 * MINUTE):
        story.tick(at, (at, stands))
    assert (story.books, story.digests) == ([], [])
    comes = NEXT + 9 * HOUR + 41 * MINUTE
    story.use("model:b", 1, stands + MINUTE, 150_000)  # of the day, and known only now
    story.tick(comes, (comes, comes), "model:a")
    story.tick(comes + MINUTE - 1, (comes, comes), "model:a")
    story.tick(comes + MINUTE - 1, (comes, comes), "model:b")  # its owner was slower
    assert len(story.books) == 2
    assert story.digests == []
    for at in (comes + 2 * MINUTE, comes + 3 * MINUTE, comes + DAY // 2):
        story.tick(at, (at, at))
    (digest,) = story.digests
    assert digest.window == TODAY
    assert [(book.scope, book.used) for book in digest.books] == [("model:a", 300_000), ("model:b", 150_000)]
