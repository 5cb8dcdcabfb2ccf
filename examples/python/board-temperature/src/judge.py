"""The verdict, from plain values. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpud_sdk import (
    CheckContext,
    CheckFailed,
    Event,
    EventType,
    Evidence,
    Health,
    RepairAction,
    Report,
    Subject,
    findings,
)
from sensors import Sensor

METRIC = "board_temperature_celsius"
COOLING = "Check fans, air flow and the temperature of the room."
LIMITS = {
    "warn": {"type": "number", "description": "Degraded from here on, degrees Celsius; 95 by default"},
    "critical": {"type": "number", "description": "Unhealthy from here on; 105 by default"},
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **LIMITS,
        "sensors": {
            "type": "object",
            "description": 'Limits of single sensors: {"nvme/Composite": {"warn": 70}}',
            "maxProperties": 256,
            "additionalProperties": {"type": "object", "additionalProperties": False, "properties": LIMITS},
        },
    },
}
# What is reported when a sensor reaches a level.
EVENTS = {
    Health.HEALTHY: ("temperature_normal", EventType.INFO),
    Health.DEGRADED: ("temperature_warning", EventType.WARNING),
    Health.UNHEALTHY: ("temperature_critical", EventType.CRITICAL),
}


@dataclass(frozen=True)
class Limits:
    """Degrees Celsius. Processors run at up to 100 by design."""

    warn: float = 95
    critical: float = 105

    @classmethod
    def parse(cls, where: str, document: Any, otherwise: Limits) -> Limits:
        """Of a JSON object."""
        if not isinstance(document, dict):
            raise CheckFailed(f"config: {where} is not an object")
        limits = cls(document.get("warn", otherwise.warn), document.get("critical", otherwise.critical))
        if not all(
            isinstance(one, (int, float)) and not isinstance(one, bool) for one in (limits.warn, limits.critical)
        ):
            raise CheckFailed(f"config: {where}: warn and critical are numbers")
        if not limits.warn < limits.critical:
            raise CheckFailed(f"config: {where}: warn has to be less than critical")
        return limits

    def level(self, value: float) -> Health:
        """Of a temperature."""
        return Health.UNHEALTHY if value >= self.critical else Health.DEGRADED if value >= self.warn else Health.HEALTHY


@dataclass(frozen=True)
class Config:
    """What the operator configured."""

    all: Limits = Limits()
    #: Limits of single sensors, by key.
    sensors: dict[str, Limits] = field(default_factory=dict)

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Config:
        """Of the whole document."""
        everywhere = Limits.parse("the document", document, Limits())
        own = document.get("sensors", {})
        if not isinstance(own, dict):
            raise CheckFailed("config: sensors is not an object")
        return cls(everywhere, {key: Limits.parse(key[:100], one, everywhere) for key, one in own.items()})


def worded(level: Health, limits: Limits) -> str:
    """A level in words."""
    if level == Health.HEALTHY:
        return f"below {limits.warn:.1f} °C again"
    return f"warning is {limits.warn:.1f} °C" if level == Health.DEGRADED else f"critical is {limits.critical:.1f} °C"


def judge(
    context: CheckContext, config: Config, sensors: list[Sensor], before: dict[str, Health]
) -> tuple[Report, dict[str, Health]]:
    """Judges readings. `before` is what the last check gave back: sensors that were too hot then."""
    if not sensors and not config.sensors:
        return Report.unsupported(context, "no temperature sensor on this machine"), {}
    found: list[findings.Finding] = []
    events: list[Event] = []
    after: dict[str, Health] = {}
    for sensor in sensors:
        was = before.get(sensor.key, Health.HEALTHY)
        limits = config.sensors.get(sensor.key, config.all)
        # A sensor that cannot be read this time stays what it was: no second event when it can be again.
        level = was if sensor.value is None else limits.level(sensor.value)
        if level != Health.HEALTHY:
            after[sensor.key] = level
        if sensor.value is None:
            continue
        if level == was == Health.HEALTHY:
            continue
        text = f"{sensor.key}: {sensor.value:.1f} °C, {worded(level, limits)}"
        name, event_type = EVENTS[level]
        subject = Subject.other("sensor", findings.clip(sensor.key, findings.MAX_KEY))
        if level != was:
            events.append(Event(context.now, name, event_type, text, subject, [Evidence.file(sensor.path)]))
        if level != Health.HEALTHY:
            action = RepairAction.HARDWARE_INSPECTION
            found.append(
                findings.Finding(sensor.key, name, text, level, event_type, action, COOLING, subject, sensor.path)
            )
    readable = [(sensor, sensor.value) for sensor in sensors if sensor.value is not None]
    known = {sensor.key for sensor, _ in readable}
    there = {sensor.key for sensor in sensors}
    for key in config.sensors:
        if key in known:
            continue
        why = "cannot be read" if key in there else "no such sensor"
        found.append(findings.degraded(key, "sensor_missing", f"{key}: {why}"))
    if not readable and not found:
        found.append(findings.degraded("all", "unreadable", f"none of {len(sensors)} temperature sensors can be read"))
    hottest = max(readable, key=lambda pair: pair[1], default=None)
    healthy = f"{len(readable)} sensors, hottest is {hottest[0].key} with {hottest[1]:.1f} °C" if hottest else ""
    report = Report.of(findings.state(context, healthy, found)).event(*events)
    if len(readable) < len(sensors):
        report.states[0].info("unreadable", f"{len(sensors) - len(readable)} of {len(sensors)}")
    for sensor, value in readable:
        report.gauge(METRIC, value, {"chip": sensor.chip, "sensor": sensor.name})
    return report, after
