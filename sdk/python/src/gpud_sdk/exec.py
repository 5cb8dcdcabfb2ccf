"""Programs of the machine. Grant: `exec: bash` for scripts (all that the daemon's user may do), or a list of program
paths.

What a run starts is killed at the deadline and when the program ends. Environment: PATH, HOME,
LANG=C, and what `environment` adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Sequence

from gpud_sdk import _host
from gpud_sdk.types import pairs


@dataclass(frozen=True)
class Options:
    """How to run, as the contract has it."""

    timeout_ms: int
    max_output_bytes: int
    environment: list[tuple[str, str]]


@dataclass(frozen=True)
class Output:
    """The result of a run."""

    #: None when a signal ended it.
    exit_code: int | None
    #: The signal that ended it.
    signal: int | None
    #: First bytes of standard output.
    stdout: bytes
    #: First bytes of standard error.
    stderr: bytes
    #: Output was longer than the limit.
    truncated: bool
    #: Wall-clock milliseconds.
    duration_ms: int

    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stdout.decode(errors="replace")


def run_program(
    program: str,
    arguments: Sequence[str] = (),
    timeout_ms: int = 10_000,
    max_output_bytes: int = 65_536,
    environment: Mapping[str, str] | None = None,
) -> Output:
    """Runs one program without a shell.

    A name without a slash is looked up in the system's folders; the resolved path must be granted. `NotFound` when there
    is none, `TimedOut` at the deadline. At most 4 MiB are kept of each output.
    """
    options = Options(timeout_ms, max_output_bytes, pairs(environment or {}))
    return _host.call("exec", "run_program", (program, list(arguments), options), globals())


def run_bash(
    script: str,
    timeout_ms: int = 10_000,
    max_output_bytes: int = 65_536,
    environment: Mapping[str, str] | None = None,
) -> Output:
    """Runs a bash script, given on standard input. `TimedOut` when the deadline ended it."""
    options = Options(timeout_ms, max_output_bytes, pairs(environment or {}))
    return _host.call("exec", "run_bash", (script, options), globals())
