"""The whole way of a fault, with all real parts at once: story.py GPUD FOLDER. Called by run.sh.

An Xid 79 in the kernel log of a made-up machine sets the condition of its node and the taint, drains the node in Slurm, fires
the alert in Prometheus, and becomes rows, objects, log records and requests. After set-healthy all of it clears.
"""

import json
import re
import sys
import time

from machine import XID, Machine
from cluster import eventually
from engines import NODE, Engines, Prometheus, wait_until_checked
from servers import NotHere, SqlError
from slurm import Slurm

FAULT = "GpudXidError"
ALERT = ("GpudComponentUnhealthy", XID)


def conditions(engines):
    return {kind: one["status"] for kind, one in engines.cluster.conditions(NODE).items()}


def is_tainted(engines):
    return any(taint["key"] == "gpud.dev/unhealthy" for taint in engines.cluster.node(NODE)["spec"].get("taints", []))


def rows(engines, health):
    try:
        return engines.postgres.sql(
            f"SELECT count(*) FROM gpud_health_changes WHERE component = '{XID}' AND health_to = '{health}'") != "0"
    except SqlError:
        # The first record makes the table.
        return False


def objects(engines, health):
    found = [json.loads(line) for name, body in engines.s3.objects().items() if name.startswith("gpud/")
             for line in body.splitlines()]
    return any(row["component"] == XID and row.get("health_to") == health for row in found)


def log_records(engines, health):
    return any(of.get("gpud.component") == XID and of.get("gpud.health") == health
               for _, _, of in engines.collector.log_records())


def webhook(engines, health):
    return any(to == health for to, _, _ in engines.receiver.changes(XID))


def alertmanager(engines, is_firing):
    alerts = engines.alertmanager.alerts()
    return alerts is not None and (XID in alerts) == is_firing


def follow(what, looks):
    """Waits for each of these, and says how long it took."""
    print(f"  {what}:", flush=True)
    began, waiting = time.monotonic(), dict(looks)
    while waiting:
        for name in [name for name, look in waiting.items() if look()]:
            print(f"    {name}: {time.monotonic() - began:.1f} s", flush=True)
            del waiting[name]
        assert time.monotonic() - began < 180, f"not within 180 s: {', '.join(waiting)}"
        time.sleep(0.2)


def story(engines, machine, slurm, prometheus):
    follow("a healthy node", {
        "condition GpudHealthy": lambda: conditions(engines).get("GpudHealthy") == "True",
        "Slurm's node is idle": lambda: "State=IDLE " in slurm.node(),
        "serial numbers are rows": lambda: engines.postgres.sql("SELECT count(*) FROM serials") == "8",
        "metrics by OTLP": lambda: any(metric["name"] == "hw.temperature" for _, metric in engines.collector.metrics()),
    })
    assert not is_tainted(engines)
    slurm.enable_health_checks()

    machine.xid(79)
    follow("an Xid 79", {
        "condition": lambda: conditions(engines).get(FAULT) == "True" and conditions(engines)["GpudHealthy"] == "False",
        "taint": lambda: is_tainted(engines),
        "Event in Kubernetes": lambda: any(one["reason"] == FAULT for one in engines.cluster.events(NODE)),
        "Slurm's node is drained": lambda: re.search(r"State=IDLE\+DRAIN .*Reason=gpud: ", slurm.node(), re.S),
        "row": lambda: rows(engines, "Unhealthy"),
        "object": lambda: objects(engines, "Unhealthy"),
        "log record by OTLP": lambda: log_records(engines, "Unhealthy"),
        "webhook": lambda: webhook(engines, "Unhealthy"),
        "alert in Alertmanager": lambda: alertmanager(engines, True),
        "alert fires in Prometheus": lambda: prometheus.alerts().get(ALERT) == "firing",
    })

    machine.set_healthy()
    follow("set-healthy", {
        "condition": lambda: conditions(engines).get(FAULT) == "False" and conditions(engines)["GpudHealthy"] == "True",
        "taint is gone": lambda: not is_tainted(engines),
        "Slurm's node is idle": lambda: "State=IDLE " in slurm.node() and "Reason=" not in slurm.node(),
        "row": lambda: rows(engines, "Healthy"),
        "object": lambda: objects(engines, "Healthy"),
        "log record by OTLP": lambda: log_records(engines, "Healthy"),
        "webhook": lambda: webhook(engines, "Healthy"),
        "alert is over in Alertmanager": lambda: alertmanager(engines, False),
        "alert is over in Prometheus": lambda: ALERT not in prometheus.alerts(),
    })


def main():
    gpud, work = sys.argv[1:]
    engines, machine = Engines(work), Machine(gpud, work, NODE)
    try:
        engines.start()
        machine.start(engines.exports(), **engines.variables())
        wait_until_checked(machine)
        slurm = Slurm(work, f"{gpud} healthcheck --slurm --node {NODE} --server {machine.url}")
        engines.started.append(slurm)
        slurm.start()
        prometheus = Prometheus(work, machine.url.removeprefix("https://"))
        engines.started.append(prometheus)
        story(engines, machine, slurm, prometheus)
        print("The story of a fault: passed")
    except NotHere as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        sys.exit(77)
    except BaseException:
        for log in (machine.log, *sorted((engines.work / "slurm").glob("*.log"))):
            if log.exists():
                print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-15:], sep="\n", file=sys.stderr)
        raise
    finally:
        machine.stop()
        engines.stop()


if __name__ == "__main__":
    main()
