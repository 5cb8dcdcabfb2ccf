"""Small files of sysfs and procfs, and the space of filesystems.

Grant `sysfs`: a list of path patterns, `*` within one path segment, `**` across segments. Grant `statvfs`: the same,
for `stat` and `statvfs` alone. Paths are absolute, without `.` or `..`. A read that the kernel does not answer within 5
s is `TimedOut`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpud_sdk import _host
from gpud_sdk.errors import AccessError


class FileKind(Enum):
    """What a directory entry is."""

    FILE = 0
    DIRECTORY = 1
    LINK = 2
    #: Device node, socket, pipe or other.
    SPECIAL = 3


@dataclass(frozen=True)
class Entry:
    """One entry of a directory."""

    name: str
    kind: FileKind


@dataclass(frozen=True)
class FileStat:
    """Facts about one file; links are followed."""

    kind: FileKind
    #: Bytes as stat(2) says; 0 or 4096 for most kernel files.
    size: int
    #: Permission bits.
    mode: int
    #: Last change of the content, Unix milliseconds.
    modified: int
    device_major: int
    device_minor: int
    uid: int


@dataclass(frozen=True)
class FsUsage:
    """Space of a mounted filesystem, from statvfs(3)."""

    total_bytes: int
    #: Root's reserve included (`f_bfree`).
    free_bytes: int
    #: For ordinary users (`f_bavail`).
    available_bytes: int
    total_inodes: int
    free_inodes: int
    read_only: bool


@dataclass(frozen=True)
class FileContent:
    """One file of a `read_glob` answer."""

    path: str
    #: The content, or why there is none.
    content: bytes | AccessError

    def text(self) -> str | None:
        """The content as text without white space around it; none when it could not be read."""
        return None if isinstance(self.content, AccessError) else self.content.decode(errors="replace").strip()


@dataclass(frozen=True)
class EntryCount:
    """One directory of a `count_entries` answer."""

    path: str
    #: Number of entries, or why it is not known.
    count: int | AccessError


def read(path: str, max_bytes: int = 65_536) -> bytes:
    """Whole content of one file; larger than `max_bytes` (at most 4 MiB) is `TooLarge`."""
    return _host.call("sysfs", "read", (path, max_bytes), globals())


def read_text(path: str, max_bytes: int = 65_536) -> str:
    """Like `read`, as text; bytes that are not UTF-8 become U+FFFD."""
    return read(path, max_bytes).decode(errors="replace")


def read_glob(pattern: str, max_bytes_each: int = 4_096, max_files: int = 4_096) -> list[FileContent]:
    """All files that match a pattern (`*`, `?`, `[a-z]` within a segment), sorted by path, in one call.

    Files that vanish in the meantime are left out. More than `max_files` (at most 65,536) is `TooLarge`.
    """
    return _host.call("sysfs", "read_glob", (pattern, max_bytes_each, max_files), globals())


def list_directory(path: str, max_entries: int = 4_096) -> list[Entry]:
    """Entries of a directory, sorted by name; more than `max_entries` (at most 65,536) is `TooLarge`."""
    return _host.call("sysfs", "list_directory", (path, max_entries), globals())


def count_entries(pattern: str, max_directories: int = 4_096) -> list[EntryCount]:
    """Number of entries of every directory that matches a pattern, sorted by path."""
    return _host.call("sysfs", "count_entries", (pattern, max_directories), globals())


def read_link(path: str) -> str:
    """Target of a symbolic link, as written."""
    return _host.call("sysfs", "read_link", (path,), globals())


def stat(path: str) -> FileStat:
    """Facts about a file."""
    return _host.call("sysfs", "stat", (path,), globals())


def statvfs(path: str) -> FsUsage:
    """Space of the filesystem that holds a path."""
    return _host.call("sysfs", "statvfs", (path,), globals())


def statvfs_all(paths: list[str]) -> list[FsUsage | AccessError]:
    """The same for many paths (at most 1,024) in one call: an answer for each, in the same order.

    A path that does not answer is `TimedOut` by itself and holds up the others for a moment only. Those that were not
    asked, since three others did not answer, are `OverBudget`.
    """
    return _host.call("sysfs", "statvfs_all", (paths,), globals())
