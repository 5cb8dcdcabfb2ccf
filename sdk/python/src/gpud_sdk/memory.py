"""Keeps what `findings` has to remember among the component's values. Grant: `state: true`."""

from __future__ import annotations

from gpud_sdk import findings, state
from gpud_sdk.findings import Finding, Memory
from gpud_sdk.types import CheckContext, Report

KEY = "open"


def load() -> Memory:
    """What was open at the last check."""
    return Memory.restore(state.get_text(KEY))


def keep(after: Memory, before: Memory) -> None:
    """Stores what is open now, if it differs from what is stored."""
    if after == before:
        return
    text = after.save()
    if text is None:
        state.delete(KEY)
    else:
        state.set(KEY, text)


def judge(context: CheckContext, healthy: str, found: list[Finding]) -> Report:
    """`findings.judge` with the memory of the last check."""
    before = load()
    report, after = findings.judge(context, healthy, found, before)
    keep(after, before)
    return report
