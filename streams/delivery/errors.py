"""Why a worker stops by itself. Each says in one sentence what an operator has to know."""

from __future__ import annotations


class DeliveryError(Exception):
    """The process cannot go on; a fresh start may."""


class MalformedRowError(DeliveryError):
    """A changelog holds something this program has not written or no longer understands."""


class LogChangedError(DeliveryError):
    """The log under a running worker was replaced, truncated or overtaken by retention."""


class StalledError(DeliveryError):
    """A partition does not move although there is work."""
