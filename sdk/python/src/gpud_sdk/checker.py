"""What an author implements, and how a plugin describes itself."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from gpud_sdk.types import CheckContext, Event, Report

if TYPE_CHECKING:
    from gpud_sdk.kmsg import Message


@dataclass(frozen=True)
class MetricDescription:
    """One metric that a component gives."""

    #: Full Prometheus name.
    name: str
    #: Help text with the unit.
    help: str
    #: Upper bounds of a histogram's buckets, ascending; empty otherwise.
    buckets: Sequence[float] = ()


@dataclass(frozen=True)
class Component:
    """One component. Each is scheduled, limited and shown by itself."""

    #: Unique on a machine: lower-case letters, digits, `-`, `.`, `_`, `/`; 1 to 128 bytes.
    name: str
    #: One line.
    description: str
    #: For trigger-by-tag; at most 32. None stands for the name alone.
    tags: Sequence[str] | None = None
    #: Between two scheduled checks; at least 1.
    interval_seconds: int = 60
    #: Runs only when triggered.
    manual: bool = False
    #: What an operator's set-healthy does: `unsupported`, `clears-events` or `marks` (see `history`).
    set_healthy: str = "unsupported"
    metrics: Sequence[MetricDescription] = ()
    #: JSON Schema of its configuration, if it takes one.
    config_schema: Mapping[str, Any] | None = None

    def schema_text(self) -> str | None:
        """The schema as JSON."""
        return None if self.config_schema is None else json.dumps(self.config_schema)


@dataclass(frozen=True)
class Descriptor:
    """What a plugin is: its version, for people, and at least one component, at most 64."""

    version: str
    components: Sequence[Component] = field(default_factory=list)

    @classmethod
    def of(cls, *components: Component, version: str = "0.1.0") -> Descriptor:
        """A plugin of these components."""
        return cls(version, list(components))


class Checker(ABC):
    """Judges its components. An instance lives for one call: attributes set on `self` are lost afterwards."""

    #: What the plugin is.
    descriptor: Descriptor

    @abstractmethod
    def check(self, context: CheckContext) -> Report:
        """Judges the component `context.component`.

        An `AccessError` that passes through becomes a state that says which source did not answer; any other
        exception is a failure of the checker, and the daemon's log has its traceback.
        """


class Scanner(ABC):
    """To be added to a checker that can judge the moment without history, for `gpud scan` and manual triggers."""

    @abstractmethod
    def scan(self, context: CheckContext) -> Report:
        """Like `check`; the report goes to the caller and is not stored."""


class KmsgWatcher(ABC):
    """To be added to a checker that wants kernel log messages as they come."""

    @abstractmethod
    def patterns(self, component: str) -> list[str]:
        """Regular expressions (RE2 syntax, unanchored) that pick messages by their first line; at most 64 of 1 KiB."""

    @abstractmethod
    def on_messages(self, context: CheckContext, messages: list[Message]) -> list[Event]:
        """Turns messages, oldest first and at most 512, into events. A batch that fails is tried three times."""
