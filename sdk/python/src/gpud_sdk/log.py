"""The plugin's voice in the daemon's log. Needs no grant. `print` in a component is `info`.

Control characters are escaped; a line is cut at 4 KiB; a call may write 64 lines, further ones are counted and dropped.
"""

from __future__ import annotations

from enum import Enum

from gpud_sdk import _host


class Level(Enum):
    """How loud."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3


def write(level: Level, message: str) -> None:
    """Writes one line, tagged with plugin and component."""
    _host.call("log", "write", (level, message), globals())


def debug(message: str) -> None:
    """For the plugin's author."""
    write(Level.DEBUG, message)


def info(message: str) -> None:
    """For the record."""
    write(Level.INFO, message)


def warn(message: str) -> None:
    """Worth a look."""
    write(Level.WARN, message)


def error(message: str) -> None:
    """Something failed."""
    write(Level.ERROR, message)
