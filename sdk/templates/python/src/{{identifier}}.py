"""Fans that turn slower than they should. The class asks; `report` and `speed` decide, and are pure."""

from __future__ import annotations

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
    "properties": {"min_rpm": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


def speed(text: str | None) -> int | None:
    """Revolutions per minute in a file of hwmon; none where it does not say."""
    return int(text) if text and len(text) <= 9 and text.isascii() and text.isdigit() else None


def report(context: CheckContext, min_rpm: int, fans: dict[str, int | None]) -> Report:
    """The verdict over fans by file."""
    if not fans:
        # Report.unsupported would hide the component here.
        return Report.of(HealthState.healthy(context, "this machine shows no fans"))
    known = {path: rpm for path, rpm in fans.items() if rpm is not None}
    slow = [f"{path} at {rpm} rpm" for path, rpm in known.items() if rpm < min_rpm]
    if slow:
        reason = f"{len(slow)} of {len(fans)} fans are too slow: {', '.join(slow[:8])}"
        state = HealthState.degraded(context, reason).action(RepairAction.HARDWARE_INSPECTION, "look at these fans")
    elif not known:
        state = HealthState.degraded(context, "no fan can be read")
    else:
        state = HealthState.healthy(context, f"{len(known)} fans turn")
    found = Report.of(state)
    for path, rpm in known.items():
        found.gauge("fan_rpm", rpm, {"fan": path})
    return found


class FanCheck(Checker):
    """The checker."""

    descriptor = Descriptor.of(
        Component(
            "{{name}}",
            "Fans that turn slower than they should",
            tags=["fans"],
            metrics=[MetricDescription("fan_rpm", "Speed of a fan, revolutions per minute")],
            config_schema=SCHEMA,
        )
    )

    def check(self, context: CheckContext) -> Report:
        """One check. A capability error that passes through becomes a state that says which source did not answer."""
        min_rpm = config.document().get("min_rpm", 300)
        files = sysfs.read_glob("/sys/class/hwmon/hwmon*/fan*_input", max_bytes_each=64, max_files=256)
        return report(context, min_rpm, {file.path: speed(file.text()) for file in files})
