"""Write a gpud checker in Python.

    from gpud_sdk import CheckContext, Checker, Component, Descriptor, HealthState, Report, sysfs

    class Uptime(Checker):
        descriptor = Descriptor.of(Component("uptime", "How long the machine has been up"))

        def check(self, context: CheckContext) -> Report:
            text = sysfs.read_text("/proc/uptime")  # a capability error becomes an honest state
            return Report.of(HealthState.healthy(context, f"up for {text.split()[0]} s"))

`python -m gpud_sdk build` makes a WebAssembly component of it. The capabilities (`config`, `exec`, `history`, `kmsg`,
`log`, `net`, `nvml`, `state`, `sysfs`) are modules of this package; those that the plugin imports are what it asks the
operator for. Import them, like everything else, at the top of a module: the component has no files to import from.

Every call runs in a fresh instance: keep what must survive in `state`, look back with `history`.
"""

from gpud_sdk.checker import Checker, Component, Descriptor, KmsgWatcher, MetricDescription, Scanner
from gpud_sdk.errors import (
    AccessError,
    CheckFailed,
    Denied,
    GpudError,
    InvalidArgument,
    NeedsReset,
    NotFound,
    NotSupported,
    OtherError,
    OverBudget,
    SourceLost,
    TimedOut,
    TooLarge,
)
from gpud_sdk.types import (
    CheckContext,
    Event,
    EventType,
    Evidence,
    Health,
    HealthState,
    MergeRule,
    Metric,
    MetricKind,
    Recovery,
    RepairAction,
    Report,
    Subject,
    SuggestedActions,
    Trigger,
)

__all__ = [
    "AccessError",
    "CheckContext",
    "CheckFailed",
    "Checker",
    "Component",
    "Denied",
    "Descriptor",
    "Event",
    "EventType",
    "Evidence",
    "GpudError",
    "Health",
    "HealthState",
    "InvalidArgument",
    "KmsgWatcher",
    "MergeRule",
    "Metric",
    "MetricDescription",
    "MetricKind",
    "NeedsReset",
    "NotFound",
    "NotSupported",
    "OtherError",
    "OverBudget",
    "Recovery",
    "RepairAction",
    "Report",
    "Scanner",
    "SourceLost",
    "Subject",
    "SuggestedActions",
    "TimedOut",
    "TooLarge",
    "Trigger",
]
