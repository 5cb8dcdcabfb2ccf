"""Memory that runs short. The class asks; `report` and `kibibytes` decide, and are pure."""

from __future__ import annotations

import re

from gpud_sdk import (
    CheckContext,
    Checker,
    Component,
    Descriptor,
    HealthState,
    MetricDescription,
    RepairAction,
    Report,
    config,
    sysfs,
)

# What an operator can configure, as JSON schema. gpud refuses what does not fit.
SCHEMA = {
    "type": "object",
    "properties": {"min_available_percent": {"type": "integer", "minimum": 0, "maximum": 100}},
    "additionalProperties": False,
}


def kibibytes(meminfo: str, name: str) -> int | None:
    """The number in a line of /proc/meminfo; none where there is no such line."""
    found = re.search(rf"^{name}: *([0-9]{{1,15}}) kB$", meminfo, re.MULTILINE)
    return int(found[1]) if found else None


def report(context: CheckContext, min_percent: int, meminfo: str) -> Report:
    """The verdict over the content of /proc/meminfo."""
    total, available = kibibytes(meminfo, "MemTotal"), kibibytes(meminfo, "MemAvailable")
    if not total or available is None or available > total:
        return Report.of(HealthState.degraded(context, "/proc/meminfo does not say how much memory is available"))
    percent = available * 100 // total
    reason = f"{percent} % of memory is available"
    if percent < min_percent:
        state = HealthState.degraded(context, f"{reason}, less than {min_percent} %")
        state = state.action(RepairAction.CHECK_USER_APP_AND_GPU, "end or limit what uses the memory")
    else:
        state = HealthState.healthy(context, reason)
    found = Report.of(state)
    found.gauge("available_memory_bytes", available * 1024)
    return found


class MemoryCheck(Checker):
    """The checker."""

    descriptor = Descriptor.of(
        Component(
            "{{name}}",
            "Memory that runs short",
            tags=["memory"],
            metrics=[MetricDescription("available_memory_bytes", "Memory that programs can still get")],
            config_schema=SCHEMA,
        )
    )

    def check(self, context: CheckContext) -> Report:
        """One check. A capability error that passes through becomes a state that says which source did not answer."""
        min_percent = config.document().get("min_available_percent", 5)
        return report(context, min_percent, sysfs.read_text("/proc/meminfo"))
