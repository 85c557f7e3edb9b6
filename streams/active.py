"""What is in force: the policy with all that is made of it, handed to every step when a new file is taken over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.channels.sender import Sender
from streams.delivery.step import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """A policy, its compiled rules and the senders of its channels."""

    policy: Policy
    rulebook: Rulebook
    senders: Mapping[str, Sender]


class PolicyStep(Step, Protocol):
    """A step that goes by the policy."""

    def adopt(self, active: Active) -> None:
        """Go by this one from now on, with all state kept. Never called within `handle` or `flush`."""
