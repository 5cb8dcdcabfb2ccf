"""The vocabulary of a check: verdicts, events, readings, and what a call may know of the moment.

The types mirror `gpud:plugin/types` of the contract. Open sets (health, repair action, event type, metric kind) also
take a plain string: a word of a later version. Times are milliseconds since 1970-01-01T00:00:00Z.

Methods that add to a value change it in place and give it back, so that they can be chained.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Iterable, Mapping


class Health(str, Enum):
    """How healthy something is."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    INITIALIZING = "initializing"


class RepairAction(str, Enum):
    """What an operator should do."""

    IGNORE_NO_ACTION_REQUIRED = "ignore-no-action-required"
    REBOOT_SYSTEM = "reboot-system"
    HARDWARE_INSPECTION = "hardware-inspection"
    CHECK_USER_APP_AND_GPU = "check-user-app-and-gpu"


class EventType(str, Enum):
    """How serious an event is."""

    UNKNOWN = "unknown"
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    FATAL = "fatal"


class MetricKind(str, Enum):
    """How a metric's value is to be understood."""

    GAUGE = "gauge"
    #: An amount, not negative, to add to a count that the host keeps: a plugin starts afresh at every call.
    COUNTER = "counter"
    #: One observation for a histogram that the host keeps; its buckets stand in the descriptor.
    HISTOGRAM = "histogram"


class Trigger(str, Enum):
    """Why a check runs."""

    STARTUP = "startup"
    SCHEDULED = "scheduled"
    MANUAL = "manual"
    #: Its own events were stored.
    EVENT = "event"
    #: An operator set the component healthy.
    SET_HEALTHY = "set-healthy"


@dataclass(frozen=True)
class Subject:
    """What a state or an event is about. Made by the class methods."""

    kind: str
    value: object = None

    @classmethod
    def node(cls) -> Subject:
        """The machine as a whole."""
        return cls("node")

    @classmethod
    def gpu(cls, uuid: str | None = None, serial: str | None = None, pci_id: str | None = None) -> Subject:
        """One GPU, by whatever is known of it; a PCI id is `domain:bus:device.function` in lower case."""
        return cls("gpu", (uuid, serial, pci_id))

    @classmethod
    def port(cls, device: str, port: int) -> Subject:
        """One port of a network or InfiniBand device, counted from 1."""
        return cls("port", (device, port))

    @classmethod
    def mount(cls, path: str) -> Subject:
        """A mount point."""
        return cls("mount", path)

    @classmethod
    def unit(cls, name: str) -> Subject:
        """A service unit."""
        return cls("unit", name)

    @classmethod
    def other(cls, kind: str, which: str) -> Subject:
        """Anything else, for example `dimm` and which one."""
        return cls("other", (kind, which))


@dataclass(frozen=True)
class Evidence:
    """What a verdict was drawn from. Made by the class methods."""

    kind: str
    value: int | str

    @classmethod
    def kmsg(cls, sequence: int) -> Evidence:
        """A kernel log record of this boot, by sequence number."""
        return cls("kmsg", sequence)

    @classmethod
    def file(cls, path: str) -> Evidence:
        """A file that was read."""
        return cls("file", path)

    @classmethod
    def nvml(cls, reading: str) -> Evidence:
        """An NVML reading."""
        return cls("nvml", reading)

    @classmethod
    def other(cls, text: str) -> Evidence:
        """Anything else."""
        return cls("other", text)


@dataclass(frozen=True)
class Recovery:
    """How a verdict that is not healthy clears. Made by the class methods."""

    kind: str
    value: int | str | None = None

    @classmethod
    def next_good_reading(cls) -> Recovery:
        """The next reading that is good."""
        return cls("next-good-reading")

    @classmethod
    def reboot(cls) -> Recovery:
        """A reboot of the machine."""
        return cls("reboot")

    @classmethod
    def at(cls, time: int) -> Recovery:
        """This moment, in Unix milliseconds."""
        return cls("at", time)

    @classmethod
    def set_healthy(cls) -> Recovery:
        """An operator's set-healthy. Always possible for a latched state, listed or not."""
        return cls("set-healthy")


@dataclass
class SuggestedActions:
    """What to do, in words and as actions, the most important first; at most 16."""

    description: str = ""
    repair_actions: list[RepairAction | str] = field(default_factory=list)


@dataclass
class HealthState:
    """One verdict. `HealthState.healthy(context, reason)` and its like fill in name and time."""

    #: Usually the component's name.
    name: str | None
    #: When it was judged; none for states drawn from stored events.
    time: int | None
    health: Health | str
    #: One line for a person; at most 4 KiB.
    reason: str
    #: Technical error behind the verdict.
    error: str | None = None
    suggested_actions: SuggestedActions | None = None
    #: What it is about, when it is not the whole component.
    subject: Subject | None = None
    #: How it clears; any way is enough. Empty means: the next good reading.
    recovery: list[Recovery] = field(default_factory=list)
    #: The host goes on showing it after later checks stop reporting it, until a way of `recovery` clears it.
    latch: bool = False
    #: At most 64.
    evidence: list[Evidence] = field(default_factory=list)
    #: Facts shown with it; at most 64 KiB a value.
    extra_info: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, context: CheckContext, health: Health | str, reason: str) -> HealthState:
        """A state under the component's name, judged now."""
        return cls(context.component, context.now, health, reason)

    @classmethod
    def healthy(cls, context: CheckContext, reason: str) -> HealthState:
        """All well."""
        return cls.of(context, Health.HEALTHY, reason)

    @classmethod
    def degraded(cls, context: CheckContext, reason: str) -> HealthState:
        """Working, but needs attention."""
        return cls.of(context, Health.DEGRADED, reason)

    @classmethod
    def unhealthy(cls, context: CheckContext, reason: str) -> HealthState:
        """Not to be trusted with work."""
        return cls.of(context, Health.UNHEALTHY, reason)

    def because(self, error: object) -> HealthState:
        """With the technical error behind it."""
        self.error = str(error)
        return self

    def action(self, action: RepairAction | str, description: str = "") -> HealthState:
        """With an action to take, and why; the first description counts."""
        if self.suggested_actions is None:
            self.suggested_actions = SuggestedActions(description)
        self.suggested_actions.repair_actions.append(action)
        return self

    def about(self, subject: Subject) -> HealthState:
        """With what it is about."""
        self.subject = subject
        return self

    def clears_by(self, way: Recovery) -> HealthState:
        """With a way in which it clears."""
        self.recovery.append(way)
        return self

    def drawn_from(self, evidence: Evidence) -> HealthState:
        """With what it was drawn from."""
        self.evidence.append(evidence)
        return self

    def info(self, key: str, value: str) -> HealthState:
        """With a fact shown beside it. Built-in checkers keep one JSON document under `data`."""
        self.extra_info[key] = value
        return self


@dataclass(frozen=True)
class MergeRule:
    """Events of one component with the same name and key whose times fall into one window are one row with a count."""

    #: At most 16 KiB.
    key: str
    #: At least 1.
    window_seconds: int


@dataclass
class Event:
    """Something that happened: a transition, not a condition."""

    time: int
    #: For example `error_xid`; at most 128 bytes, not empty.
    name: str
    event_type: EventType | str
    #: For a person; at most 4 KiB.
    message: str
    subject: Subject | None = None
    evidence: list[Evidence] = field(default_factory=list)
    #: Facts kept with it, given back by `history`.
    extra_info: dict[str, str] = field(default_factory=dict)
    merge: MergeRule | None = None

    def merged_by(self, key: str, window_seconds: int) -> Event:
        """Counts repeats with the same key within a window instead of storing them."""
        self.merge = MergeRule(key, window_seconds)
        return self


@dataclass(frozen=True)
class Metric:
    """One sample. The host adds the label `gpud_component`."""

    #: Full Prometheus name with its unit, for example `cpu_used_percent`.
    name: str
    #: Finite.
    value: float
    #: At most 16.
    labels: Mapping[str, str] = field(default_factory=dict)
    kind: MetricKind | str = MetricKind.GAUGE


@dataclass
class Report:
    """What one check found."""

    states: list[HealthState] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    #: False: this machine has nothing for this checker to watch; the component is then hidden.
    supported: bool = True

    @classmethod
    def of(cls, *states: HealthState) -> Report:
        """A report of these states."""
        return cls(list(states))

    @classmethod
    def unsupported(cls, context: CheckContext, reason: str) -> Report:
        """Nothing on this machine for this checker to watch, and why."""
        return cls([HealthState.healthy(context, reason)], supported=False)

    def event(self, *events: Event) -> Report:
        """Adds events."""
        self.events.extend(events)
        return self

    def gauge(self, name: str, value: float, labels: Mapping[str, str] | None = None) -> Report:
        """Adds a gauge."""
        self.metrics.append(Metric(name, value, labels or {}))
        return self

    def metric(self, *metrics: Metric) -> Report:
        """Adds metrics of any kind."""
        self.metrics.extend(metrics)
        return self


@dataclass(frozen=True)
class CheckContext:
    """What a call may know of the moment. Together with the answers of the capabilities it determines the report."""

    #: The component of the descriptor that is meant.
    component: str
    #: Now. There is no other clock.
    now: int
    trigger: Trigger | str = Trigger.MANUAL
    #: Kernel's boot id; empty if unknown.
    boot_id: str = ""
    #: When the machine booted; 0 if unknown.
    boot_time: int = 0
    #: When this component was last checked in this daemon's life.
    previous_check: int | None = None
    #: For later versions.
    extra: Mapping[str, str] = field(default_factory=dict)


def word(member: Enum | str) -> str:
    """The contract's word of a member of an open set, or the word itself."""
    return member.value if isinstance(member, Enum) else member


def pairs(of: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Key-value pairs as the contract has them."""
    return [(str(key), str(value)) for key, value in (of if type(of) is dict else dict(of)).items()]
