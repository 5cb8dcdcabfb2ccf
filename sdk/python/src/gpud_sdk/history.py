"""What the daemon remembers for this component. Grant: `history: true`."""

from __future__ import annotations

from dataclasses import dataclass

from gpud_sdk import _host
from gpud_sdk.types import Event


@dataclass(frozen=True)
class StoredEvent:
    """One stored event."""

    #: Without its merge rule.
    event: Event
    #: How many times it was seen.
    count: int
    #: When it was last seen.
    last_time: int


def own_events(since: int, limit: int = 1_000) -> list[StoredEvent]:
    """This component's events in seconds later than that of `since`, newest first; at most `limit` (at most 10,000)."""
    return _host.call("history", "own_events", (since, limit), globals())


def reboots(since: int) -> list[int]:
    """When the machine came up, in seconds later than that of `since`, newest first."""
    return [reboot.time for reboot in _host.call("history", "reboots", (since,), globals())]


def set_healthy_marks(since: int) -> list[int]:
    """When an operator set this component healthy, later than `since`, newest first."""
    return _host.call("history", "set_healthy_marks", (since,), globals())


def available() -> bool:
    """Whether there is a store behind this; not in `gpud scan`, where all lists are empty."""
    return _host.call("history", "available", (), globals())


@dataclass(frozen=True)
class Reboot:
    """One boot, as the contract has it."""

    time: int
