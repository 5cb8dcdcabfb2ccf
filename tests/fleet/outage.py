"""Every engine is away at once, and comes back: outage.py GPUD FOLDER [--seconds 20] [--every 2] [--json FILE].

Called by run.sh. While nothing answers, faults and repairs go on. A webhook that never was away, `witness`, says which records
there were: each of them must be at each engine afterwards. The receiver of the webhook `hook` is half open: it accepts, reads
and never answers. The other engines refuse connections.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from machine import XID, Machine, seconds
from cluster import eventually
from engines import NODE, Engines, wait_until_checked
from servers import NotHere, SqlError
from signed import SignedReceiver

FAULT = "GpudXidError"
# A pause between two tries (`longest_pause`) and one try that hangs (`timeout`), as docs/exports.md has them.
LONGEST_PAUSE, TIMEOUT = 60, 10
# How much longer than those a delivery may take on a machine that is busy.
PATIENCE = 60
# Records wait on the disk, and some in memory: 4 MiB for each export that has a queue.
MEMORY_MIB = 4 * 4


class Outage:
    def __init__(self, engines, machine):
        self.engines, self.machine = engines, machine
        key = "a key of this test"
        self.secret = engines.secret("hmac", key)
        self.hook, self.witness = (SignedReceiver(key.encode()) for _ in range(2))
        engines.started += [self.hook, self.witness]

    def exports(self):
        """Writes the file of all engines, with signed webhooks."""
        path = self.engines.exports()
        lines = [line for line in path.read_text().splitlines() if "name: hook," not in line]
        for name in ("hook", "witness"):
            url = getattr(self, name).address
            lines.append(f"  - {{name: {name}, kind: webhook, url: '{url}', secret: '{self.secret}'}}")
        path.write_text("\n".join(lines) + "\n")
        return path

    def begin(self):
        self.hook.speaks.clear()
        self.engines.collector.stop()
        self.engines.postgres.stop()
        self.engines.s3.close()
        self.engines.alertmanager.stop()
        # At once: when it is asked to end it waits a minute for those that watch.
        self.engines.cluster.apiserver.kill()
        self.engines.cluster.apiserver.wait()

    def end(self):
        """Lets everything come back. Returns when each engine did."""
        back = {}
        for name, start in {
            "hook": self.hook.speaks.set, "telemetry": self.engines.collector.start, "database": self.engines.postgres.start,
            "lake": self.engines.s3.open, "alerts": self.engines.alertmanager.start,
            "cluster": self.engines.cluster.start_apiserver,
        }.items():
            start()
            back[name] = time.monotonic()
        return back

    def ids(self, export):
        """Returns how often each record is at an engine, by id."""
        if export == "hook":
            return self.hook.ids()
        if export == "telemetry":
            found = [of.get("log.record.uid") for _, _, of in self.engines.collector.log_records()]
        elif export == "database":
            try:
                found = self.engines.postgres.sql(
                    "SELECT id FROM gpud_events UNION ALL SELECT id FROM gpud_health_changes").split()
            except SqlError:
                # The first record makes the tables.
                found = []
        else:
            found = [json.loads(line)["id"] for name, body in self.engines.s3.objects().items()
                     if name.startswith("gpud/") for line in body.splitlines()]
        return {one: found.count(one) for one in set(found)}

    def promised(self, export):
        """Returns the ids that an engine must have: no export is sent its own state."""
        return {one["id"] for _, one in list(self.witness.records) if one["component"] != f"export-{export}"}

    def missing(self, export):
        return self.promised(export) - self.ids(export).keys()

    def shows_the_present(self, export):
        """Returns whether an engine that gets no records shows that the machine is healthy."""
        if export == "alerts":
            firing = self.engines.alertmanager.alerts()
            return firing is not None and XID not in firing
        shown = {kind: one["status"] for kind, one in self.engines.cluster.conditions(NODE).items()}
        return shown.get(FAULT) == "False" and shown.get("GpudHealthy") == "True"

    def exports_that_fail(self):
        """Returns the reason of each export that is not healthy."""
        return {name.removeprefix("export-"): reason for name, reason in self.machine.reasons().items()
                if name.startswith("export-")}


RECORDS = ("hook", "telemetry", "database", "lake")
PICTURES = ("alerts", "cluster")


def faults(outage, duration, every):
    """Lets faults and repairs happen until the time is over. Returns how many of each, and the most memory."""
    machine, end, count, most = outage.machine, time.monotonic() + duration, 0, 0.0
    while time.monotonic() < end:
        machine.xid(79) if count % 2 == 0 else machine.set_healthy()
        count += 1
        until = min(end, time.monotonic() + every)
        while time.monotonic() < until:
            most = max(most, machine.memory())
            time.sleep(min(1, max(0, until - time.monotonic())))
    if count % 2:
        machine.set_healthy()
        count += 1
    return count, most


def run(outage, options):
    machine = outage.machine
    machine.xid(79)
    eventually("an Xid is at the witness", lambda: outage.witness.ids(), 60)
    machine.set_healthy()
    for export in RECORDS:
        eventually(f"all records of before are at {export}", lambda: not outage.missing(export), 60, 1)
    time.sleep(options.settle)
    figures = {"seconds": options.seconds, "memory_before": machine.memory(), "records_before": len(outage.witness.ids())}

    print(f"  everything is away for {options.seconds:g} s", flush=True)
    outage.begin()
    began = time.time()
    figures["faults_and_repairs"], figures["memory_during"] = faults(outage, options.seconds, options.every)
    def all_fail():
        figures["reasons"] = outage.exports_that_fail()
        return {*RECORDS, *PICTURES} <= figures["reasons"].keys()

    eventually("each export says that its engine is away", all_fail, 60, 1)
    assert "witness" not in figures["reasons"], "one export was disturbed by the others"
    late = [now - seconds(one["time"]) for now, one in outage.witness.records if seconds(one["time"]) > began]
    figures["witness_latest_ms"] = round(1000 * max(late))
    figures["records_during"] = len(late)

    print("  everything is back", flush=True)
    returned = time.monotonic()
    back, arrived = outage.end(), {}
    figures["engines_started_in"] = round(time.monotonic() - returned, 1)

    def look():
        for export in {*RECORDS, *PICTURES} - arrived.keys():
            if not outage.missing(export) if export in RECORDS else outage.shows_the_present(export):
                arrived[export] = round(max(0, time.monotonic() - back[export]), 1)
        return len(arrived) == len(back)
    eventually("all records are everywhere", look, LONGEST_PAUSE + TIMEOUT + PATIENCE, 0.5)
    figures["arrived_after"] = arrived
    eventually("each export is well again", lambda: not outage.exports_that_fail(), LONGEST_PAUSE + TIMEOUT + PATIENCE, 1)
    # Also what the exports said about each other's recovery.
    for export in RECORDS:
        eventually(f"all records are at {export}", lambda: not outage.missing(export), 60, 1)
    time.sleep(options.settle)
    figures["memory_after"] = machine.memory()
    figures["repeats"] = {export: sum(outage.ids(export).values()) - len(outage.ids(export)) for export in RECORDS}
    figures["sent_without_answer"] = len(outage.hook.unanswered)
    figures["lost"] = {export: len(outage.missing(export)) for export in RECORDS}
    figures["records"] = len(outage.witness.ids())

    assert set(outage.hook.unanswered) <= outage.hook.ids().keys(), "what was not answered came again with its id"
    assert outage.hook.unanswered, "the webhook was half open"
    assert outage.hook.refused == outage.witness.refused == 0, "each signature is right"
    # An event has one row, one object and one id, however often it was sent.
    assert figures["repeats"]["database"] == 0, figures["repeats"]
    waits = max(arrived.values())
    assert waits <= LONGEST_PAUSE + TIMEOUT + PATIENCE, arrived
    grown = figures["memory_during"] - figures["memory_before"]
    print(f"  memory grew by {grown:.1f} MiB", flush=True)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpud")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=20, help="how long everything is away")
    parser.add_argument("--every", type=float, default=2, help="seconds between a fault and a repair")
    parser.add_argument("--settle", type=float, default=2, help="seconds before memory is read")
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    engines, machine = Engines(options.folder), Machine(options.gpud, options.folder, NODE)
    try:
        engines.start()
        outage = Outage(engines, machine)
        machine.start(outage.exports(), **engines.variables())
        wait_until_checked(machine)
        figures = run(outage, options)
    except NotHere as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        sys.exit(77)
    except BaseException:
        if machine.log.exists():
            print(*machine.log.read_text(errors="replace").splitlines()[-25:], sep="\n", file=sys.stderr)
        raise
    finally:
        status = machine.stop()
        engines.stop()
    assert status == 0, f"gpud ended with {status}"
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        Path(options.json).write_text(text + "\n")
    print("An outage of everything: passed")


if __name__ == "__main__":
    main()
