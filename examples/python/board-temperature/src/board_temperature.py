"""board-temperature: temperatures of boards and devices against limits of the operator. This file asks; `judge`
decides."""

from __future__ import annotations

import json

from gpud_sdk import (
    CheckContext,
    Checker,
    Component,
    Descriptor,
    Health,
    MetricDescription,
    Report,
    config,
    state,
    sysfs,
)

import judge
import sensors

HWMON = "/sys/class/hwmon/hwmon*"
# Longest content of a sensor's file, bytes.
MAX_FILE = 256
# Key of the sensors that were too hot at the last check.
HOT = "hot"


def restore(saved: str | None) -> dict[str, Health]:
    """What `save` gave; anything else is nothing."""
    if saved is None:
        return {}
    try:
        document = json.loads(saved)
        return {key: Health(level) for key, level in document.items()}
    except (ValueError, AttributeError):
        return {}


def save(hot: dict[str, Health]) -> str:
    """As text."""
    return json.dumps({key: level.value for key, level in hot.items()})


class BoardTemperature(Checker):
    """The checker."""

    descriptor = Descriptor.of(
        Component(
            "board-temperature",
            "Temperatures of boards and devices against limits",
            metrics=[MetricDescription(judge.METRIC, "Temperature by chip and sensor (degrees Celsius)")],
            config_schema=judge.SCHEMA,
        )
    )

    def check(self, context: CheckContext) -> Report:
        """One check."""
        settings = judge.Config.parse(config.document())
        found = sensors.find(
            sysfs.read_glob(f"{HWMON}/temp*_input", MAX_FILE),
            sysfs.read_glob(f"{HWMON}/temp*_label", MAX_FILE),
            sysfs.read_glob(f"{HWMON}/name", MAX_FILE),
        )
        before = restore(state.get_text(HOT))
        report, after = judge.judge(context, settings, found, before)
        if after != before:
            state.set(HOT, save(after))
        return report
