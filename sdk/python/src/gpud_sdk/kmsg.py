"""The kernel log, looked back at. (For messages as they come, add `KmsgWatcher`.) Grant: `kmsg: true`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from gpud_sdk import _host


@dataclass(frozen=True)
class Message:
    """One record of `/dev/kmsg` (kernel document `Documentation/ABI/testing/dev-kmsg`)."""

    #: Sequence number within this boot.
    sequence: int
    #: Wall-clock time, Unix milliseconds.
    time: int
    #: Severity: 0 emergency to 7 debug.
    level: int
    #: 0 kernel, 1 user, 3 daemon and so on. What user space writes is never 0.
    facility: int
    #: The first line, with the escapes of the kernel decoded. Control characters but the tab appear as `\\xNN`.
    text: str
    #: The dictionary lines (`SUBSYSTEM`, `DEVICE` …); empty for most records.
    dictionary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LookBack:
    """What a look back found."""

    #: Oldest first; if there were more than asked for, the newest.
    messages: list[Message]
    #: How many records were looked at.
    scanned: int
    #: How many records could not be understood.
    unparsable: int


def read_back(patterns: list[str], max_messages: int = 512) -> LookBack:
    """Messages still in the ring buffer that match any of the patterns (RE2 syntax); at most 4,096.

    `Denied` when the daemon may not read the log, `NotFound` when there is none.
    """
    return _host.call("kmsg", "read_back", (patterns, max_messages), globals())
