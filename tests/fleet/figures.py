"""Measures how late verdicts arrive, and what exports cost a daemon.

    figures.py GPUD FOLDER [--changes 100] [--idle 600] [--only PART] [--json FILE]

Called by run.sh and by `cargo xtask bench`. It prints a table with targets.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import XID, Machine, quantile
from cluster import eventually, free_port
from engines import NODE, Engines, wait_until_checked
from servers import NotHere

FAULT = "GpudXidError"
# By change of health: the condition's status, and how the daemon's log calls it.
CHANGES = {"Unhealthy": ("True", "Healthy to Unhealthy"), "Healthy": ("False", "Unhealthy to Healthy")}
# A record waits in memory while there is no spool: so many bytes, whatever it holds (docs/exports.md).
QUEUE_MIB = 4
SETTLING = 60
RECORDS = 10_000
RUNS = 3


class Table:
    """Rows of figures with targets."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, unit, most=None):
        self.rows.append({"what": what, "value": round(value, 4), "unit": unit, "most": most,
                          "met": None if most is None else value <= most})
        print(f"  {what}: {value:.3f} {unit}", flush=True)

    def __str__(self):
        lines = [f"| {'what':<66} | {'result':>20} | {'target':>12} |     |", f"|{'-' * 68}|{'-' * 21}:|{'-' * 13}:|-----|"]
        for row in self.rows:
            target = "" if row["most"] is None else f"≤ {row['most']:g}"
            met = {None: "", True: "yes", False: "NO"}[row["met"]]
            result = f"{row['value']:.3f} {row['unit']}"
            lines.append(f"| {row['what']:<66} | {result:>20} | {target:>12} | {met:<3} |")
        return "\n".join(lines)


def idle(table, with_exports, without, span):
    """What a daemon with all exports costs more than one without, side by side."""
    before = [machine.processor_seconds() for machine in (with_exports, without)]
    time.sleep(span)
    used = [machine.processor_seconds() - then for machine, then in zip((with_exports, without), before)]
    memory = [machine.memory() for machine in (with_exports, without)]
    table.add("  idle with all exports", 100 * used[0] / span, "% of a core")
    table.add("  idle without exports", 100 * used[1] / span, "% of a core")
    table.add("all exports idle together, processor", 100 * (used[0] - used[1]) / span, "% of a core", 0.05)
    table.add("  anonymous memory with all exports", memory[0], "MiB")
    table.add("all exports idle together, memory", memory[0] - memory[1], "MiB", 6)


def latencies(table, engines, machine, changes):
    """From a change of health to the condition and to the webhook."""
    to_condition = []
    for change in range(changes):
        health = "Unhealthy" if change % 2 == 0 else "Healthy"
        status, logged = CHANGES[health]
        machine.xid() if health == "Unhealthy" else machine.set_healthy()
        eventually(f"the condition is {status}", lambda: engines.watch.since(NODE, FAULT, status), 30, 0.02)
        to_condition.append(1000 * (engines.watch.since(NODE, FAULT, status) - machine.changed_at(logged)))
    eventually("all changes arrive", lambda: len(engines.receiver.changes(XID)) >= changes, 30)
    to_webhook = [1000 * (arrived - changed) for _, changed, arrived in engines.receiver.changes(XID)[-changes:]]
    table.add(f"health change to condition in Kubernetes (p99 of {changes})", quantile(to_condition, 0.99), "ms", 1000)
    table.add("  median", quantile(to_condition, 0.5), "ms")
    table.add(f"  longest (change {to_condition.index(max(to_condition)) + 1})", max(to_condition), "ms")
    table.add(f"health change to webhook (p99 of {changes})", quantile(to_webhook, 0.99), "ms", 100)
    table.add("  median", quantile(to_webhook, 0.5), "ms")
    table.add(f"  longest (change {to_webhook.index(max(to_webhook)) + 1})", max(to_webhook), "ms")


def counter(machine, name, export):
    for line in machine.get("/metrics").splitlines():
        if line.startswith(f"{name}{{") and f'export="{export}"' in line:
            return float(line.split()[-1])
    return 0.0


def flooded(table, work, gpud, queue, number):
    """Returns the MiB by which 10,000 events let a daemon grow, with an export whose endpoint is dead, or without one."""
    machine = Machine(gpud, work, f"gpu-node-{queue}-{number}")
    exports = ""
    if queue != "none":
        spool = "spool: 0, " if queue == "memory" else ""
        exports = machine.folder / "exports.yaml"
        exports.write_text(f"exports:\n  - {{name: dead, kind: webhook, {spool}queue_records: 20000, "
                           f"url: 'http://127.0.0.1:{free_port()}'}}\n")
    machine.start(exports, "--components", XID)
    try:
        wait_until_checked(machine)
        before = machine.memory()
        machine.flood(RECORDS)
        if queue != "none":
            def waiting():
                return counter(machine, "gpud_export_queue_records", "dead")
            eventually("all records wait or were given up", lambda: waiting() + counter(
                machine, "gpud_export_dropped_total", "dead") >= RECORDS, 180, 1)
            table.add(f"  records that wait, queue: {queue}", waiting(), "")
        # What the events themselves took is given back after a while.
        time.sleep(SETTLING)
        return machine.memory() - before
    finally:
        machine.stop()


def dead_endpoint(table, work, gpud):
    """What 10,000 records for an endpoint that is dead cost, without a spool and with one.

    The events themselves move far more memory through the daemon than wait, and how much of that the allocator retains
    differs from run to run. So the least of several is compared.
    """
    grown = {}
    for queue in ("none", "memory", "disk"):
        # Memory does not depend on how long it takes.
        with ThreadPoolExecutor(RUNS) as side_by_side:
            grown[queue] = min(side_by_side.map(lambda number: flooded(table, work, gpud, queue, number), range(RUNS)))
    for queue, grew in grown.items():
        table.add(f"  memory grown by {RECORDS:,} events, queue: {queue}", grew, "MiB")
    for queue in ("memory", "disk"):
        table.add(f"{RECORDS:,} records for a dead endpoint, queue in {queue}, memory", grown[queue] - grown["none"], "MiB",
                  QUEUE_MIB)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpud")
    parser.add_argument("folder")
    parser.add_argument("--changes", type=int, default=100, help="changes of health to measure")
    parser.add_argument("--idle", type=float, default=600, help="seconds that idle daemons are watched")
    parser.add_argument("--only", choices=("idle", "latencies", "dead"), help="measure one part")
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    table, engines = Table(), Engines(options.folder)
    machines = [Machine(options.gpud, options.folder, name) for name in (NODE, "gpu-node-2")]
    try:
        engines.start()
        machines[0].start(engines.exports(), **engines.variables())
        machines[1].start("")
        for machine in machines:
            wait_until_checked(machine)
        if options.only in (None, "idle"):
            # Past the work of the first minutes.
            time.sleep(min(150, options.idle))
            idle(table, *machines, options.idle)
        if options.only in (None, "latencies"):
            latencies(table, engines, machines[0], options.changes)
        if options.only in (None, "dead"):
            dead_endpoint(table, options.folder, options.gpud)
    except NotHere as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        sys.exit(77)
    except BaseException:
        print(*machines[0].log.read_text(errors="replace").splitlines()[-25:], sep="\n", file=sys.stderr)
        raise
    finally:
        for machine in machines:
            machine.stop()
        engines.stop()
    print(table)
    if options.json:
        Path(options.json).write_text(json.dumps(table.rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
