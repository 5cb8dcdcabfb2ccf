"""Asks every capability once, from inside a component, and says what each answered: a test of the bridge, not a
checker."""

from __future__ import annotations

import json
from typing import Callable

from gpud_sdk import (
    AccessError,
    CheckContext,
    Checker,
    Component,
    Descriptor,
    Event,
    EventType,
    Evidence,
    HealthState,
    KmsgWatcher,
    Metric,
    MetricKind,
    Recovery,
    Report,
    Scanner,
    Subject,
    config,
    exec,
    history,
    kmsg,
    log,
    net,
    nvml,
    state,
    sysfs,
)


def answer_of(ask: Callable[[], object]) -> str:
    """The answer, or the error."""
    try:
        return repr(ask())
    except AccessError as error:
        return f"{type(error).__name__}: {error}"


class Probe(Checker, Scanner, KmsgWatcher):
    """All exports."""

    descriptor = Descriptor.of(Component("probe-python", "Asks every capability"))

    def check(self, context: CheckContext) -> Report:
        """One of each; raises what the configuration names under `raise`."""
        document = config.document()
        if "raise" in document:
            raise ValueError(document["raise"])
        state.set("a", "1")
        state.set("b", b"\xff")
        state.delete("a")
        print("printed")
        log.warn("warned")
        answers = {
            "trigger": context.trigger,
            "read": answer_of(lambda: sysfs.read_text("/proc/sys/kernel/ostype")),
            "read_glob": answer_of(lambda: sysfs.read_glob("/proc/sys/kernel/ostyp?")),
            "list": answer_of(lambda: len(sysfs.list_directory("/proc/sys/kernel"))),
            "count": answer_of(lambda: len(sysfs.count_entries("/proc/sys/kernel"))),
            "link": answer_of(lambda: sysfs.read_link("/proc/self")),
            "stat": answer_of(lambda: sysfs.stat("/proc/sys/kernel/ostype").kind),
            "statvfs": answer_of(lambda: sysfs.statvfs("/").total_bytes > 0),
            "statvfs_all": answer_of(
                lambda: [
                    type(usage).__name__ if isinstance(usage, AccessError) else usage.total_bytes > 0
                    for usage in sysfs.statvfs_all(["/", "/no/such/path"])
                ]
            ),
            "denied": answer_of(lambda: sysfs.read("/etc/shadow")),
            "too_large": answer_of(lambda: sysfs.read("/proc/sys/kernel/ostype", 1)),
            "state": answer_of(lambda: (state.keys(), state.get("b"), state.get("c"), state.get_text("b"))),
            "history": answer_of(lambda: (history.available(), history.own_events(0), history.set_healthy_marks(0))),
            "reboots": answer_of(lambda: len(history.reboots(0))),
            "kmsg": answer_of(lambda: len(kmsg.read_back(["."], 3).messages)),
            "program": answer_of(lambda: exec.run_program("uname", ["-s"]).text()),
            "bash": answer_of(lambda: exec.run_bash("exit 3").exit_code),
            "tcp": answer_of(lambda: net.tcp_connect("127.0.0.1", 1)),
            "http": answer_of(lambda: net.http_get(1)),
            "grpc": answer_of(lambda: net.grpc_unary("/run/gpud-probe.sock", "/a.B/C")),
            "library": answer_of(nvml.library_status),
            "devices": answer_of(nvml.devices),
        }
        subject = Subject.gpu(uuid="GPU-1")
        verdict = HealthState.degraded(context, "asked").info("data", json.dumps(answers)).about(subject)
        verdict.clears_by(Recovery.reboot()).clears_by(Recovery.at(context.now)).drawn_from(Evidence.kmsg(1))
        verdict.action("odd-action", "look").because("an error")
        event = Event(context.now, "asked", EventType.INFO, "x", Subject.port("mlx5_0", 1)).merged_by("k", 60)
        report = Report.of(verdict).event(event).gauge("probe_gauge", 1.5, {"a": "b"})
        return report.metric(Metric("probe_total", 2, kind=MetricKind.COUNTER))

    def scan(self, context: CheckContext) -> Report:
        """One look."""
        return Report.of(HealthState.healthy(context, "looked"))

    def patterns(self, component: str) -> list[str]:
        """What a test writes."""
        return ["gpud-probe"]

    def on_messages(self, context: CheckContext, messages: list[kmsg.Message]) -> list[Event]:
        """An event for each."""
        return [
            Event(one.time, "probed", EventType.WARNING, one.text, evidence=[Evidence.kmsg(one.sequence)])
            for one in messages
        ]
