"""What a gate tells of its work, for metrics. The base class listens to nothing."""

from __future__ import annotations

from blastdoor_gateway.admission import Admission, Outage, Settlement


class Observer:
    """Override what you want to hear. It is called in the request's path: be quick and do not raise."""

    def admitted(self, admission: Admission, seconds: float) -> None:
        """An answer was given, allowed or not."""

    def settled(self, settlement: Settlement) -> None:
        """A call was settled."""

    def outage(self, cause: Outage) -> None:
        """Redis could not be asked."""

    def breaker(self, *, is_open: bool) -> None:
        """Whether calls are kept from Redis."""

    def backlog(self, waiting: int) -> None:
        """Settlements that Redis has not taken yet."""

    def unpriced(self, model: str) -> None:
        """A model without a price was reckoned at the assumed one."""

    def engine(self, *, is_silent: bool) -> None:
        """Whether the engine's heartbeat is fresh."""

    def cache(self, outcome: str) -> None:
        """`same` or `near` (a call saved), `miss` or `stored`."""

    def event(self, outcome: str) -> None:
        """A usage event was `sent`, `failed` or `dropped`."""
