"""The provider's books: packages burned first in first out, settled in batches that lag, returned the next day."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from msgspec.structs import replace

from rules.moment import DAY, Millis
from rules.records import Package
from rules.simulation.kinds import Kind

VALID_FOR: Millis = 30 * DAY


@dataclass
class Parcel:
    """A package as it truly is (`left`) and as it is shown (`shown`)."""

    id: str
    total: int
    effective: Millis
    expires: Millis
    left: int
    shown: int
    listed: bool = True


@dataclass
class Provider:
    """What really happens. Tokens beyond the pool are charged."""

    kind: Kind
    cap: int
    parcels: list[Parcel] = field(default_factory=list)
    charged: int = 0
    overrun: int = 0  # charged since the last package came
    collected: int = 0  # of the day
    _unsettled: deque[tuple[Millis, Parcel, int]] = field(default_factory=deque)
    _count: int = 0

    def grant(self, tokens: int, effective: Millis, expires: Millis | None = None, listed: bool = True) -> None:
        """Add a package."""
        if tokens > 0:
            self._count += 1
            self.overrun = 0
            expires = effective + VALID_FOR if expires is None else expires
            self.parcels.append(Parcel(f"pkg-{self._count}", tokens, effective, expires, tokens, tokens, listed))

    def consume(self, at: Millis, tokens: int) -> None:
        """Take tokens from the oldest packages; what they do not cover is charged."""
        self.collected += tokens
        for parcel in self.parcels:
            if parcel.left and parcel.effective <= at < parcel.expires:
                taken = min(parcel.left, tokens)
                parcel.left -= taken
                tokens -= taken
                self._unsettled.append((at, parcel, taken))
            if not tokens:
                return
        self.charged += tokens
        self.overrun += tokens

    def settle(self, until: Millis) -> None:
        """Show usage up to `until`."""
        while self._unsettled and self._unsettled[0][0] <= until:
            _, parcel, taken = self._unsettled.popleft()
            parcel.shown -= taken

    def turn_day(self) -> int:
        """End the day; what it brings back."""
        due, self.collected = min(self.cap, self.collected), 0
        return due

    def remaining(self, at: Millis, told: Millis | None = None) -> int:
        """Free tokens that are really left; with `told` only of packages that had come by then."""
        came = at if told is None else min(at, told)
        return sum(parcel.left for parcel in self.parcels if parcel.effective <= came and at < parcel.expires)

    def answer(self, at: Millis, residual: int) -> tuple[int, tuple[Package, ...] | None]:
        """The balance as the interface gives it, with a list where it has one."""
        self.parcels = [parcel for parcel in self.parcels if parcel.expires > at or parcel.left or parcel.shown]
        packages = [
            Package(
                id=parcel.id,
                total=parcel.total,
                available=parcel.shown,
                effective=parcel.effective,
                expires=parcel.expires if parcel.listed else parcel.expires + VALID_FOR,
            )
            for parcel in self.parcels
            if parcel.effective <= at < parcel.expires
        ]
        if packages and packages[-1].available:
            packages[-1] = replace(packages[-1], available=max(0, packages[-1].available + residual))
        return sum(package.available for package in packages), tuple(packages) if self.kind.lists else None
