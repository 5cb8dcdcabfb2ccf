"""The bounds that the host holds a plugin to, so that a test finds what would be refused. Pure."""

from __future__ import annotations

import math
import re
from typing import Iterable, Mapping

from gpud_sdk.checker import Descriptor
from gpud_sdk.types import Event, Evidence, HealthState, Metric, Report, Subject, word

MAX_TEXT, MAX_INFO, MAX_NAME, MAX_PAIRS = 4_096, 65_536, 128, 64
MAX_STATES, MAX_EVENTS, MAX_METRICS = 256, 1_024, 4_096
# How far into the future a time may be, milliseconds.
MAX_AHEAD = 5 * 60 * 1000


def of_report(report: Report, now: int) -> list[str]:
    """What the host would refuse in a report; empty when it is fine."""
    problems = [
        *_count("states", report.states, MAX_STATES),
        *_count("metrics", report.metrics, MAX_METRICS),
    ]
    if report.supported and not report.states:
        problems.append("a report without a state")
    for index, state in enumerate(report.states):
        problems += [f"state {index}: {problem}" for problem in _state(state, now)]
    for index, metric in enumerate(report.metrics):
        problems += [f"metric {index}: {problem}" for problem in _metric(metric)]
    return problems + of_events(report.events, now)


def of_events(events: list[Event], now: int) -> list[str]:
    """What the host would refuse in a list of events."""
    problems = list(_count("events", events, MAX_EVENTS))
    for index, event in enumerate(events):
        problems += [f"event {index}: {problem}" for problem in _event(event, now)]
    return problems


def of_descriptor(descriptor: Descriptor) -> list[str]:
    """What the host would refuse in a descriptor."""
    components = list(descriptor.components)
    problems = [] if components else ["no components"]
    problems += _count("components", components, 64)
    seen: set[str] = set()
    for component in components:
        name = component.name
        if not re.fullmatch(r"[a-z0-9._/-]{1,128}", name):
            problems.append(f"name {name!r} is not 1 to 128 of a-z 0-9 - . _ /")
        if name in seen:
            problems.append(f"component `{name}` appears twice")
        seen.add(name)
        problems += _text("description", component.description, MAX_TEXT)
        problems += _count("tags", component.tags or [], 32)
        problems += _count("metric descriptions", component.metrics, 1_024)
        problems += _text("config schema", component.schema_text() or "", MAX_INFO)
        if component.interval_seconds < 1:
            problems.append(f"component `{name}`: interval below 1 s")
        if component.set_healthy not in ("unsupported", "clears-events", "marks"):
            problems.append(f"component `{name}`: set_healthy is unsupported, clears-events or marks")
    return problems


def _state(state: HealthState, now: int) -> Iterable[str]:
    yield from _text("name", state.name or "", MAX_NAME)
    yield from _text("health", word(state.health), MAX_NAME)
    yield from _text("reason", state.reason, MAX_TEXT)
    yield from _text("error", state.error or "", MAX_TEXT)
    if state.suggested_actions:
        yield from _text("description", state.suggested_actions.description, MAX_TEXT)
        yield from _count("repair actions", state.suggested_actions.repair_actions, 16)
    yield from _count("recovery ways", state.recovery, 16)
    yield from _subject(state.subject)
    yield from _evidence(state.evidence)
    yield from _time(state.time or 0, now)
    yield from _pairs("extra-info", state.extra_info, MAX_INFO)


def _event(event: Event, now: int) -> Iterable[str]:
    if not event.name:
        yield "no name"
    yield from _text("name", event.name, MAX_NAME)
    yield from _text("message", event.message, MAX_TEXT)
    yield from _subject(event.subject)
    yield from _evidence(event.evidence)
    yield from _pairs("extra-info", event.extra_info, MAX_INFO)
    yield from _time(event.time, now)
    if event.merge:
        yield from _text("merge key", event.merge.key, MAX_INFO // 4)
        if event.merge.window_seconds < 1:
            yield "merge window of 0 s"


def _metric(metric: Metric) -> Iterable[str]:
    if not re.fullmatch(r"[A-Za-z0-9_:]{1,256}", metric.name):
        yield f"name {metric.name[:40]!r} is not a Prometheus name"
    yield from _count("labels", metric.labels, 16)
    yield from _pairs("labels", metric.labels, 1_024)
    if not math.isfinite(metric.value):
        yield f"{metric.name}: value {metric.value} is not finite"


def _subject(subject: Subject | None) -> Iterable[str]:
    if subject is None:
        return
    parts = subject.value if isinstance(subject.value, tuple) else (subject.value,)
    limit = MAX_TEXT if subject.kind == "mount" else MAX_NAME
    for part in parts:
        if isinstance(part, str):
            yield from _text("subject", part, limit)


def _evidence(evidence: list[Evidence]) -> Iterable[str]:
    yield from _count("evidence", evidence, MAX_PAIRS)
    for one in evidence:
        if isinstance(one.value, str):
            yield from _text("evidence", one.value, MAX_TEXT)


def _time(time: int, now: int) -> Iterable[str]:
    if time > now + MAX_AHEAD:
        yield f"time {time} is in the future (now is {now})"


def _pairs(what: str, pairs: Mapping[str, str], limit: int) -> Iterable[str]:
    yield from _count(what, pairs, MAX_PAIRS)
    for key, value in pairs.items():
        yield from _text(what, key, MAX_NAME)
        yield from _text(what, value, limit)


def _text(what: str, text: str, limit: int) -> Iterable[str]:
    size = len(text.encode(errors="replace"))
    if size > limit:
        yield f"{what}: {size} bytes, more than {limit}"


def _count(what: str, items: object, limit: int) -> Iterable[str]:
    count = len(items)  # type: ignore[arg-type]
    if count > limit:
        yield f"{count} {what}, more than {limit}"
