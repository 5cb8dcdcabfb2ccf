"""Types the `kubectl` lines of the documentation as they stand: commands.py GPUD NVML_MOCK FOLDER. Called by run.sh.

Every such line of the pages has to be known here, with what it must print. gpud runs on a made-up machine, whose GPU fails
before the lines that look at the node, and which ends before those that remove what it left behind.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from check import NODE, TAINT, Machine, of, settings, step
from cluster import ADMIN, Cluster, eventually

ROOT = Path(__file__).parents[2]
PAGES = ("docs/exports-kubernetes.md", "deploy/helm/gpud/README.md")
FAULT = r"GpudHealthy +False [^\n]* Unhealthy [^\n]* XID 79[^\n]*\n +GpudXidError +True "


def run_with_fault(cluster, machine):
    """Starts gpud and lets a GPU fail."""
    machine.write_token(cluster.token())
    machine.write_exports(settings(service_account=machine.account, taint=TAINT))
    machine.start()
    eventually("the node is healthy", of(cluster, "GpudHealthy", "True"), 60)
    machine.xid(79)
    eventually("the condition", of(cluster, "GpudXidError", "True"), 30)
    eventually("the Event", lambda: any(one["reason"] == "GpudXidError" for one in cluster.events(NODE)), 30)


def end(cluster, machine):
    """Ends gpud, which leaves what it has shown."""
    machine.stop()
    assert "GpudHealthy" in cluster.conditions(NODE)


# The beginning of a line, what has to be done before it, and what it must print.
LINES = [
    ("kubectl apply -f deploy/kubernetes/rbac.yaml", None, r"clusterrole\S*/gpud created"),
    ("kubectl describe node gpu-node-1", run_with_fault, FAULT),
    ("kubectl get nodes -L gpuid.github.com/chassis", None, r"CHASSIS\n.*gpu-node-1"),
    ("kubectl get events --field-selector", None, r"Warning +GpudXidError +node/gpu-node-1"),
    ("kubectl label namespace gpud", None, r"namespace/gpud labeled"),
    ("echo", end, r"serverside-applied"),
    ("kubectl taint node gpu-node-1", None, r"untainted"),
]


def lines(page):
    """Returns the commands of a page that are for kubectl, in their order."""
    blocks = re.findall(r"^ *```console\n(.*?)^ *```", (ROOT / page).read_text(), re.M | re.S)
    found = [line.strip()[2:] for block in blocks for line in block.splitlines() if re.match(r" *\$ .*\bkubectl\b", line)]
    assert found, f"{page} has no lines for kubectl"
    return found


def check(cluster, machine):
    cluster.start()
    cluster.add_node(NODE)
    # As a kubelet does, by which the condition is its own.
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "of a kubelet"}
    cluster.call("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": {"conditions": [ready]}},
                 "application/strategic-merge-patch+json")
    account = cluster.work / "admin.kubeconfig"
    account.write_text(f"""apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{cluster.url}', certificate-authority: {cluster.ca}}}}}]
users: [{{name: u, user: {{token: {ADMIN}}}}}]
""")
    environment = {**os.environ, "KUBECONFIG": str(account), "HOME": str(cluster.work), "NO_PROXY": "127.0.0.1"}
    prepared, used = set(), set()
    pages = [line for page in PAGES for line in lines(page)]
    known = {line: next((one for one in LINES if line.startswith(one[0])), None) for line in pages}
    unknown = [line for line, one in known.items() if one is None]
    assert not unknown, f"this script does not know what these lines must print: {unknown}"
    # What ends gpud is typed last, whichever page it is on.
    for line in sorted(pages, key=lambda line: LINES.index(known[line])):
        begins, prepare, pattern = known[line]
        used.add(begins)
        if prepare and prepare not in prepared:
            prepared.add(prepare)
            prepare(cluster, machine)
        step(f"$ {line}")
        done = subprocess.run(["bash", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert re.search(pattern, done.stdout), f"no {pattern!r} in:\n{done.stdout}"
    assert used == {begins for begins, *_ in LINES}, "a line is no longer in the documentation"
    node = cluster.node(NODE)
    left = [kind for kind in cluster.conditions(NODE) if kind != "Ready"]
    left += [key for field in ("labels", "annotations") for key in node["metadata"].get(field, {}) if "gpu" in key]
    left += [taint["key"] for taint in node["spec"].get("taints", []) if "gpud" in taint["key"]]
    assert not left, f"left on the node: {left}"
    assert "Ready" in cluster.conditions(NODE) and node["metadata"]["labels"] == {"of": "others"}, node


def main():
    gpud, mock, work = sys.argv[1:]
    cluster = Cluster(work)
    machine = Machine(gpud, mock, cluster)
    try:
        check(cluster, machine)
        print("The lines for kubectl: passed")
    except BaseException:
        log = Path(work) / "gpud.log"
        if log.exists():
            print(*log.read_text(errors="replace").splitlines()[-15:], sep="\n", file=sys.stderr)
        raise
    finally:
        if machine.daemon and machine.daemon.poll() is None:
            machine.daemon.kill()
        cluster.stop()


if __name__ == "__main__":
    main()
