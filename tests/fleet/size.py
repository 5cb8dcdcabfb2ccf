"""Measures what a fleet costs the engines it sends to: many daemons on made-up machines, one API server, one PostgreSQL.

    size.py GPUD FOLDER [--nodes 200] [--storm 5] [--per-second 1] [--quiet 420] [--json FILE]

It starts the daemons one after another, watches them while nothing happens, lets `--storm` percent of them fail at once
(Xid 79), repairs these, and prints what each part cost. Called by run.sh.
"""

import argparse
import collections
import json
import os
import platform
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import TESTS, Machine, quantile
from cluster import Cluster, eventually
from servers import NotHere, Postgres
from watch import Watch

ACCOUNT = "account"
TABLES = ("gpud_events", "gpud_health_changes", "serials")
FAULT = "GpudXidError"


def say(text):
    print(f"  {text}", flush=True)


class Fleet:
    """All daemons, and what they send to."""

    def __init__(self, options):
        self.options, self.work = options, Path(options.folder)
        self.cluster, self.postgres, self.watch = Cluster(self.work), None, None
        self.machines = [
            Machine(options.gpud, self.work, f"gpu-node-{number:04}")
            for number in range(1, options.nodes + 1)]

    def start_engines(self):
        self.cluster.start()
        self.cluster.apply(TESTS.parent / "deploy/kubernetes/rbac.yaml")
        for machine in self.machines:
            self.cluster.add_node(machine.name)
        account = self.work / ACCOUNT
        account.mkdir()
        (account / "ca.crt").write_text(self.cluster.ca.read_text())
        (account / "token").write_text(self.cluster.token(seconds=24 * 3600))
        self.postgres = Postgres(self.work, connections=self.options.nodes + 50)
        password = self.work / "password"
        password.write_text(self.postgres.password + "\n")
        password.chmod(0o600)
        certificate = self.work / "postgres-ca.pem"
        certificate.write_text(self.postgres.certificate.read_text())
        server = (f"{{host: localhost, port: {self.postgres.port}, database: gpud, user: gpud, "
                  f"password: 'file:{password}', ca_file: {certificate}}}")
        self.exports = self.work / "exports.yaml"
        self.exports.write_text(f"""exports:
  - {{name: cluster, kind: kubernetes, service_account: {account}, taint: gpud.dev/unhealthy}}
  - {{name: database, kind: postgres, cluster: c1, node: 'env:NODE_NAME', server: {server}}}
  - {{name: serials, kind: inventory, cluster: c1, node: 'env:NODE_NAME', postgres: {{server: {server}}}}}
""")
        self.watch = Watch(self.cluster)

    def start_daemons(self):
        variables = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.cluster.port)}
        for machine in self.machines:
            machine.start(self.exports, **variables)
            time.sleep(1 / self.options.per_second)

    def stop(self):
        with ThreadPoolExecutor(16) as all_at_once:
            list(all_at_once.map(Machine.stop, self.machines))
        if self.postgres:
            self.postgres.stop()
        self.cluster.stop()

    def writes(self):
        """Returns how many requests that write the API server has answered, by what they wrote."""
        counted = collections.Counter()
        text = self.cluster.call("GET", "/metrics", raw=True).decode()
        for labels, count in re.findall(r"^apiserver_request_total\{(.*)\} (\S+)$", text, re.M):
            labels = dict(re.findall(r'(\w+)="(.*?)"', labels))
            if labels["verb"] in ("APPLY", "PATCH", "POST", "PUT") and labels["resource"] in ("nodes", "events"):
                part = "/".join(filter(None, (labels["resource"], labels["subresource"])))
                status = "" if labels["code"].startswith("2") else f" ({labels['code']})"
                counted[f"{labels['verb']} {part}{status}"] += int(float(count))
        return counted

    def rows(self):
        """Returns how many rows each table has."""
        there = self.postgres.sql("SELECT relname FROM pg_class WHERE relkind = 'r'").split()
        return collections.Counter({
            table: int(self.postgres.sql(f"SELECT count(*) FROM {table}")) for table in TABLES if table in there})

    def bytes_a_row(self):
        """Returns how many bytes a row takes, with its share of the indexes."""
        return {table: int(self.postgres.sql(f"SELECT pg_total_relation_size('{table}')")) // max(1, rows)
                for table, rows in self.rows().items()}

    def processor_seconds(self):
        """Returns the processor time of the API server, etcd, and all daemons."""
        def of(process):
            return time.clock_gettime((~process.pid << 3) | 2)
        return {"kube-apiserver": of(self.cluster.apiserver), "etcd": of(self.cluster.etcd),
                "daemons": sum(machine.processor_seconds() for machine in self.machines if machine.daemon)}


class Part:
    """What happened between two moments."""

    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.began = (time.time(), fleet.writes(), fleet.rows(), fleet.processor_seconds())

    def end(self):
        fleet = self.fleet
        began, writes, rows, processor = self.began
        ended = time.time()
        passed = ended - began
        figures = {
            "seconds": round(passed, 1),
            "writes": dict(fleet.writes() - writes),
            "rows": dict(fleet.rows() - rows),
            "busiest_second": fleet.watch.busiest_second(began, ended),
            "percent_of_a_core": {name: round(100 * (now - processor[name]) / passed, 2)
                                  for name, now in fleet.processor_seconds().items()},
        }
        figures["writes_each_node"] = round(sum(figures["writes"].values()) / len(fleet.machines), 2)
        say(f"{self.name}: {json.dumps(figures)}")
        return figures


def wait_for_all(fleet):
    """Waits until each node's health is shown."""
    def missing():
        return [machine.name for machine in fleet.machines
                if not any(fleet.watch.since(machine.name, "GpudHealthy", status) for status in ("True", "False"))]
    eventually("all nodes show their health", lambda: not missing(), 900, 1)
    ill = [machine.name for machine in fleet.machines if fleet.watch.since(machine.name, "GpudHealthy", "False")]
    if ill:
        say(f"{len(ill)} nodes are not healthy, such as {ill[0]}: {fleet.machines[0].reasons()}")


def storm(fleet):
    """Lets a part of the fleet fail at once, and repairs it. Returns times in milliseconds."""
    failing = fleet.machines[::max(1, round(100 / fleet.options.storm))]
    times = {}
    for what, status, change, begin in (
            ("fault", "True", "Healthy to Unhealthy", lambda machine: machine.xid(79)),
            ("repair", "False", "Unhealthy to Healthy", Machine.set_healthy)):
        part = Part(fleet, what)
        began = time.time()
        with ThreadPoolExecutor(16) as all_at_once:
            list(all_at_once.map(begin, failing))
        def shown():
            return all(fleet.watch.since(machine.name, FAULT, status) for machine in failing)
        eventually(f"all conditions are {status}", shown, 120, 0.1)
        last = max(fleet.watch.since(machine.name, FAULT, status) for machine in failing)
        took = [1000 * (fleet.watch.since(machine.name, FAULT, status) - machine.changed_at(change))
                for machine in failing]
        # Taints, labels, Events and rows follow.
        time.sleep(15)
        times[what] = part.end() | {
            "nodes": len(failing),
            "all_shown_after_s": round(last - began, 2),
            "change_to_condition_ms": {"median": round(quantile(took, 0.5)), "most": round(max(took))},
        }
    return times


def scrape(machine):
    """Returns what one scrape of a node holds."""
    text = machine.get("/metrics")
    return {"series": sum(not line.startswith("#") for line in text.splitlines()), "bytes": len(text)}


def processor():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else platform.machine()


def measure(fleet):
    options = fleet.options
    figures = {
        "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "processor": processor(),
        "gpud": subprocess.run([options.gpud, "--version"], capture_output=True, text=True).stdout.strip(),
        "nodes": options.nodes,
    }
    fleet.start_engines()
    part = Part(fleet, "start")
    fleet.start_daemons()
    say(f"{options.nodes} daemons are started")
    wait_for_all(fleet)
    # The checks of the first minute have been made then.
    time.sleep(30)
    figures["start"] = part.end()
    figures["scrape"] = scrape(fleet.machines[0])
    part = Part(fleet, "quiet")
    time.sleep(options.quiet)
    figures["quiet"] = part.end()
    figures["storm"] = storm(fleet)
    memory = [machine.memory() for machine in fleet.machines]
    figures["memory_mib"] = {"median": round(quantile(memory, 0.5), 1), "most": round(max(memory), 1)}
    figures["bytes_a_row"] = fleet.bytes_a_row()
    gone = [machine.name for machine in fleet.machines if machine.daemon.poll() is not None]
    assert not gone, f"daemons ended: {gone}"
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpud")
    parser.add_argument("folder")
    parser.add_argument("--nodes", type=int, default=200, help="daemons to start")
    parser.add_argument("--storm", type=float, default=5, help="percent of them that fail at once")
    parser.add_argument("--per-second", type=float, default=1, help="daemons started in a second")
    parser.add_argument("--quiet", type=float, default=420, help="seconds in which nothing happens")
    parser.add_argument("--json", help="file for the figures")
    fleet = Fleet(parser.parse_args())
    try:
        figures = measure(fleet)
    except NotHere as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        sys.exit(77)
    except BaseException:
        for log in (fleet.machines[0].log, fleet.work / "apiserver.log"):
            if log.exists():
                print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-25:], sep="\n", file=sys.stderr)
        raise
    finally:
        fleet.stop()
    text = json.dumps(figures, indent=2)
    if fleet.options.json:
        Path(fleet.options.json).write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
