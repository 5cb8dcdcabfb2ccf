"""From plain results to a report, for checkers that look at the machine afresh each time.

What is wrong now is the state; what began or ended since the last check are the events. A checker gives its `Finding`s;
`judge` words them and compares them by key with what was open at the last check (`Memory`, kept in `state`). All of it
is pure but `gpud_sdk.memory`, which asks for the grant `state: true`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from gpud_sdk.types import (
    CheckContext,
    Event,
    EventType,
    Evidence,
    Health,
    HealthState,
    Recovery,
    RepairAction,
    Report,
    Subject,
)

# Findings that a reason names.
MAX_NAMED = 5
# Evidence of a state; the host takes 64.
MAX_EVIDENCE = 16
# Most findings of one check that become events and are remembered: what the host takes, with room.
MAX_FINDINGS = 500
# A finding that comes and goes is one event with a count within this time.
MERGE_SECONDS = 300
# Bytes of one text in a reason; the host takes 4 KiB in all.
MAX_TEXT = 512
# Bytes of a key and of what a finding is about; the host takes 128 of a subject.
MAX_KEY = 120
# Bytes of the memory; the host takes 64 KiB of a value.
MAX_MEMORY = 60 * 1024


@dataclass(frozen=True)
class Finding:
    """A fact to report."""

    #: What makes it the same at the next check; numbers that change have no place in it. A key appears once in a check.
    key: str
    #: Name of the event when it begins; its end is the event `‹name›_cleared`.
    event: str
    #: In words.
    text: str
    #: How healthy the component is in the meantime. A healthy finding gives events, and no word in the state.
    health: Health = Health.DEGRADED
    event_type: EventType = EventType.WARNING
    #: What to do, and the same in words.
    action: RepairAction | str | None = None
    advice: str = ""
    subject: Subject | None = None
    #: The file it was read from.
    file: str | None = None


def degraded(key: str, event: str, text: str, **more: object) -> Finding:
    """Something that needs attention; its event is a warning."""
    return Finding(key, event, text, **more)  # type: ignore[arg-type]


def unhealthy(key: str, event: str, text: str, **more: object) -> Finding:
    """Something that does not work; its event is critical."""
    return Finding(key, event, text, Health.UNHEALTHY, EventType.CRITICAL, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Memory:
    """What was open at the last check: key to the name of its event."""

    open: dict[str, str] = field(default_factory=dict)

    @classmethod
    def restore(cls, saved: str | None) -> Memory:
        """From what `save` gave; anything else is nothing."""
        try:
            document = json.loads(saved or "{}")
        except ValueError:
            return cls()
        if not isinstance(document, dict):
            return cls()
        return cls({key: name for key, name in document.items() if isinstance(name, str)})

    def save(self) -> str | None:
        """As text; none where there is nothing to remember, or too much."""
        if not self.open:
            return None
        text = json.dumps(self.open)
        return text if len(text) <= MAX_MEMORY else None


def judge(context: CheckContext, healthy: str, findings: list[Finding], before: Memory) -> tuple[Report, Memory]:
    """The report of one check, and what to remember. `healthy` is the reason when nothing is wrong."""
    report = Report.of(state(context, healthy, findings))
    after: dict[str, str] = {}
    for finding in findings[:MAX_FINDINGS]:
        key = clip(finding.key, MAX_KEY)
        # Another name of the same key is something that got worse or better.
        if before.open.get(key) != finding.event and key not in after:
            report.event(_began(context, finding, key))
        after[key] = finding.event
    # What a full list left out is not over.
    if len(findings) <= MAX_FINDINGS:
        ended = [(key, name) for key, name in before.open.items() if key not in after]
        report.event(*(_ended(context, key, name) for key, name in ended[:MAX_FINDINGS]))
    return report, Memory(after)


def state(context: CheckContext, healthy: str, findings: list[Finding]) -> HealthState:
    """The state alone: the worst finding decides, the first few are named."""
    wrong = [finding for finding in findings if finding.health != Health.HEALTHY]
    wrong.sort(key=lambda finding: finding.health != Health.UNHEALTHY)
    if not wrong:
        return HealthState.healthy(context, healthy)
    reason = "; ".join(clip(finding.text, MAX_TEXT) for finding in wrong[:MAX_NAMED])
    if len(wrong) > MAX_NAMED:
        reason += f"; and {len(wrong) - MAX_NAMED} more"
    verdict = HealthState.of(context, wrong[0].health, reason).clears_by(Recovery.next_good_reading())
    advised = next((finding for finding in wrong if finding.action), None)
    if advised and advised.action:
        verdict.action(advised.action, clip(advised.advice, MAX_TEXT))
    if all(finding.subject == wrong[0].subject for finding in wrong):
        verdict.subject = wrong[0].subject
    files = dict.fromkeys(finding.file for finding in wrong if finding.file)
    verdict.evidence.extend(Evidence.file(file) for file in list(files)[:MAX_EVIDENCE])
    return verdict


def clip(text: str, limit: int) -> str:
    """Text of at most this many bytes, cut between characters."""
    if len(text) * 4 <= limit:
        return text
    data = text.encode(errors="replace")
    return data.decode() if len(data) <= limit else data[:limit].decode(errors="ignore")


def _began(context: CheckContext, finding: Finding, key: str) -> Event:
    evidence = [Evidence.file(finding.file)] if finding.file else []
    message = clip(finding.text, MAX_TEXT)
    event = Event(context.now, finding.event, finding.event_type, message, finding.subject, evidence)
    return event.merged_by(key, MERGE_SECONDS)


def _ended(context: CheckContext, key: str, name: str) -> Event:
    event = Event(context.now, f"{clip(name, MAX_KEY)}_cleared", EventType.INFO, f"{key}: over")
    return event.merged_by(key, MERGE_SECONDS)
