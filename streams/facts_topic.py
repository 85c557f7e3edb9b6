"""Where a fact goes on the internal `facts` topic: to the partition of its scope, which only our own code computes."""

from __future__ import annotations

import msgspec

from rules.facts import Fact, Scope
from streams.delivery.step import Output
from streams.topics import facts_partition


class FactsTopic:
    """The facts topic with its number of partitions."""

    def __init__(self, name: str, partitions: int) -> None:
        self.name = name
        self.partitions = partitions

    def to_scope(self, scope: Scope, fact: Fact) -> Output:
        """A fact about one scope, for the judge of that scope."""
        return self.encoded(scope, fact.key, msgspec.json.encode(fact))

    def encoded(self, scope: Scope, key: str, value: bytes) -> Output:
        """The same for a fact whose JSON is at hand."""
        return Output(self.name, facts_partition(scope, self.partitions), key.encode(), value)

    def to_all(self, fact: Fact) -> list[Output]:
        """A fact that every judge needs."""
        key, value = fact.key.encode(), msgspec.json.encode(fact)
        return [Output(self.name, partition, key, value) for partition in range(self.partitions)]
