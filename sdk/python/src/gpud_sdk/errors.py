"""Why a source of the machine gave no answer, and why a check gave no report.

Trouble with a source is not trouble with the node. Let an `AccessError` pass through `check`, and the host says which
source did not answer instead of calling the node healthy or broken; catch it where you know what it means.
"""

from __future__ import annotations


class GpudError(Exception):
    """What a checker may raise on purpose."""


class CheckFailed(GpudError):
    """The checker could not do its work; the text says how."""


class AccessError(GpudError):
    """A capability did not answer. Each text begins with what was asked."""

    #: The case of `access-error` in the contract.
    case = "other"

    def __init__(self, what: str) -> None:
        super().__init__(what)
        #: The host's text.
        self.what = what

    def __str__(self) -> str:
        return self.what

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == other.args  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class Denied(AccessError):
    """Not granted by the operator (the text names the line to add) or refused by the kernel."""

    case = "denied"

    def __str__(self) -> str:
        return f"{self.what}: permission denied"


class NotSupported(AccessError):
    """The source exists but cannot do this."""

    case = "not-supported"

    def __str__(self) -> str:
        return f"{self.what}: not supported"


class NotFound(AccessError):
    """The file, program, device or library is not there."""

    case = "not-found"

    def __str__(self) -> str:
        return f"{self.what}: not found"


class TooLarge(AccessError):
    """The answer is larger than allowed; no part of it is given."""

    case = "too-large"

    def __init__(self, what: str, size: int = 0, limit: int = 0) -> None:
        super().__init__(what)
        self.args = (what, size, limit)
        #: Bytes or entries, as far as they were counted.
        self.size = size
        #: The limit that was broken.
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.what}: {self.size} is more than the limit of {self.limit}"


class TimedOut(AccessError):
    """No answer in time."""

    case = "timed-out"

    def __init__(self, what: str, after_ms: int = 0, last_good: int | None = None) -> None:
        super().__init__(what)
        self.args = (what, after_ms, last_good)
        #: How long was waited, in milliseconds.
        self.after_ms = after_ms
        #: When the source last answered, in Unix milliseconds.
        self.last_good = last_good

    def __str__(self) -> str:
        return f"{self.what}: no answer for {self.after_ms} ms"


class SourceLost(AccessError):
    """The device behind the source is gone (GPU lost)."""

    case = "source-lost"

    def __str__(self) -> str:
        return f"{self.what}: lost"


class NeedsReset(AccessError):
    """The device behind the source wants a reset."""

    case = "needs-reset"

    def __str__(self) -> str:
        return f"{self.what}: needs a reset"


class InvalidArgument(AccessError):
    """The argument cannot be used."""

    case = "invalid-argument"


class OverBudget(AccessError):
    """This call's budget of host calls or bytes is spent."""

    case = "over-budget"


class OtherError(AccessError):
    """Anything else."""

    case = "other"
