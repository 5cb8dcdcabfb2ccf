"""Checks gpud's export to Kubernetes against a real API server. Called by run.sh: check.py GPUD NVML_MOCK FOLDER."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from cluster import Cluster, eventually, free_port

XID = "accelerator-nvidia-error-xid"
NODE = "gpu-node-1"
TAINT = "gpud.dev/unhealthy"


def step(text):
    print(f"  {text}", flush=True)


class Machine:
    """A made-up machine with eight GPUs, and gpud on it."""

    def __init__(self, gpud, mock, cluster):
        self.gpud, self.cluster = gpud, cluster
        self.folder = cluster.work / "machine"
        nvml, self.account = self.folder / "nvml", self.folder / "account"
        for folder in (nvml, self.account):
            folder.mkdir(parents=True)
        shutil.copy(mock, nvml / "libnvidia-ml.so.1")
        (nvml / "nvml-mock.yaml").write_text("product: h100-sxm\ngpus: 8\n")
        shutil.copy(cluster.ca, self.account / "ca.crt")
        self.kmsg = self.folder / "kmsg"
        self.kmsg.write_text("")
        self.lines = 0
        self.daemon = None

    def write_token(self, token):
        # As the kubelet replaces it: in one step.
        new = self.account / "token.new"
        new.write_text(token)
        new.rename(self.account / "token")

    def write_exports(self, text):
        new = self.folder / "exports.new"
        new.write_text(text)
        new.rename(self.folder / "exports.yaml")

    def environment(self, pod):
        environment = {**os.environ, "KMSG_FILE_PATH": str(self.kmsg), "NODE_NAME": NODE, "NO_PROXY": "127.0.0.1"}
        for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
            environment.pop(name, None)
        if pod:
            environment.update(KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=str(self.cluster.port))
        return environment

    def start(self, pod=True):
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        self.daemon = subprocess.Popen(
            [self.gpud, "run", "--data-dir", self.folder / "data", "--local-socket", "none",
             "--listen-address", f"127.0.0.1:{port}", "--plugin-specs-file=", "--components", f"{XID},cpu",
             "--nvml-library", self.folder / "nvml/libnvidia-ml.so.1",
             f"--exports-file={self.folder}/exports.yaml"],
            env=self.environment(pod), stdout=self.cluster.log("gpud"), stderr=subprocess.STDOUT)

    def stop(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            status = self.daemon.wait(20)
            assert status == 0, f"gpud ended with {status}"

    def xid(self, number, gpu="0000:d1:00"):
        self.lines += 1
        line = f"3,{self.lines},{60000000 + self.lines},-;NVRM: Xid (PCI:{gpu}): {number}, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
        with open(self.kmsg, "a") as log:
            log.write(line + "\n")

    def set_healthy(self):
        done = subprocess.run(
            [self.gpud, "set-healthy", XID, "--server", self.url],
            capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def fell_ill_at(self):
        """Returns when the health last changed for the worse, by the daemon's log: a kernel log in a file is read once a second."""
        lines = (self.cluster.work / "gpud.log").read_text(errors="replace").splitlines()
        line = next(json.loads(line) for line in reversed(lines) if "health: Healthy to Unhealthy" in line)
        return datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp()

    def says(self, pattern):
        """Returns whether the health and the reason of the daemon's export fit."""
        listed = subprocess.run(
            [self.gpud, "exports", "list", "--json", f"--exports-file={self.folder}/exports.yaml", "--server", self.url],
            capture_output=True, text=True)
        try:
            exports = json.loads(listed.stdout)["exports"]
        except ValueError:
            return None
        return any(re.search(pattern, f"{one.get('health', '')} {one.get('reason', '')}") for one in exports)


def settings(further="", **keys):
    keys = "".join(f"    {key}: {value}\n" for key, value in keys.items())
    return f"exports:\n  - name: cluster\n    kind: kubernetes\n    longest_pause: 1s\n{keys}{further}"


def main():
    gpud, mock, work = sys.argv[1:]
    cluster = Cluster(work)
    machine = Machine(gpud, mock, cluster)
    try:
        check(cluster, machine)
    except BaseException:
        for name in ("gpud", "apiserver", "etcd"):
            log = Path(work) / f"{name}.log"
            if log.exists():
                print(f"--- {name}", *log.read_text(errors="replace").splitlines()[-25:], sep="\n", file=sys.stderr)
        raise
    finally:
        if machine.daemon and machine.daemon.poll() is None:
            machine.daemon.kill()
        cluster.stop()


def check(cluster, machine):
    cluster.start()
    cluster.apply(Path(__file__).parents[2] / "deploy/kubernetes/rbac.yaml")
    cluster.add_node(NODE)
    # The API server adds one of its own to a new node.
    machine.others = taints(cluster)
    assert ("of-others", "PreferNoSchedule") in machine.others, machine.others
    machine.write_token(cluster.token())
    account = f"service_account: {machine.account}\n    taint: {TAINT}\n"
    pod = settings("    " + account)
    machine.write_exports(pod)
    step("gpud exports test")
    tried = subprocess.run([machine.gpud, "exports", "test", "cluster", f"--exports-file={machine.folder}/exports.yaml"],
                           env=machine.environment(True), capture_output=True, text=True)
    assert tried.returncode == 0 and "GpudExportTest" in tried.stdout, tried.stdout + tried.stderr
    assert [e["reason"] for e in cluster.events(NODE)] == ["GpudExportTest"]
    assert set(cluster.conditions(NODE)) == {"Ready"}, "a sample changes nothing"

    machine.start()
    shown(cluster, machine)
    fault_and_repair(cluster, machine)
    restarts(cluster, machine)
    credentials(cluster, machine)
    too_many_requests(cluster, machine)
    deleted_node(cluster, machine)
    edits(cluster, machine, account)
    kubeconfig(cluster, machine)


def of(cluster, condition, status):
    def look():
        found = cluster.conditions(NODE).get(condition)
        return found if found and found["status"] == status else None
    return look


def taints(cluster):
    return {(taint["key"], taint["effect"]) for taint in cluster.node(NODE)["spec"].get("taints", [])}


def shown(cluster, machine):
    step("conditions and labels appear, and what is others' stays")
    eventually("the node is healthy", of(cluster, "GpudHealthy", "True"), 60)
    node, _ = eventually("labels", lambda: (node := cluster.node(NODE)) and "gpuid.github.com/gpu-7" in node["metadata"]["labels"] and node)
    labels = node["metadata"]["labels"]
    assert labels["of"] == "others" and len({v for k, v in labels.items() if "/gpu-" in k}) == 8, labels
    conditions = cluster.conditions(NODE)
    assert conditions["GpudXidError"]["reason"] == "NoGpudXidError", conditions
    assert conditions["Ready"]["reason"] == "KubeletReady"
    managers = {(f["manager"], f["operation"]) for f in node["metadata"]["managedFields"]}
    assert ("gpud", "Apply") in managers, managers


def fault_and_repair(cluster, machine):
    step("an Xid sets conditions, taint, annotation and Event; a repair clears them")
    times = []
    for _ in range(5):
        machine.xid(79)
        condition, _ = eventually("the condition", of(cluster, "GpudXidError", "True"), 10, 0.01)
        times.append(time.time() - machine.fell_ill_at())
        assert "79" in condition["message"], condition
        node, _ = eventually("annotation and taint", lambda: (node := cluster.node(NODE)) and
                             "gpud.dev/suggested-action" in node["metadata"].get("annotations", {}) and node)
        assert node["metadata"]["annotations"]["gpud.dev/suggested-action"] == "REBOOT_SYSTEM", node["metadata"]
        assert taints(cluster) == {*machine.others, (TAINT, "NoSchedule")}, taints(cluster)
        assert of(cluster, "GpudHealthy", "False")() and of(cluster, "GpudGpuLost", "True")()
        machine.set_healthy()
        eventually("the condition clears", of(cluster, "GpudXidError", "False"), 10, 0.01)
        eventually("the taint goes", lambda: taints(cluster) == machine.others)
        eventually("the annotation goes", lambda: "gpud.dev/suggested-action" not in cluster.node(NODE)["metadata"].get("annotations", {}))
    # How long it may take is measured by tests/fleet/run.sh figures.
    print(f"  health to condition: {', '.join(f'{t * 1000:.0f}' for t in times)} ms")
    reported = [e for e in cluster.events(NODE) if e["reason"] == "GpudXidError"]
    assert len(reported) == 1 and reported[0]["type"] == "Warning" and reported[0]["count"] >= 1, reported


def restarts(cluster, machine):
    step("a restart of gpud flaps nothing")
    machine.xid(79)
    eventually("the condition", of(cluster, "GpudXidError", "True"))
    eventually("the taint", lambda: (TAINT, "NoSchedule") in taints(cluster))
    before = cluster.node(NODE)
    version = before["metadata"]["resourceVersion"]
    machine.stop()
    machine.start()
    eventually("the export runs", lambda: machine.says("delivered"), 60, 0.5)
    time.sleep(18)
    after = cluster.node(NODE)
    transitions = lambda node: {c["type"]: (c["status"], c.get("lastTransitionTime")) for c in node["status"]["conditions"]}
    assert transitions(after) == transitions(before), (transitions(before), transitions(after))
    assert after["spec"]["taints"] == before["spec"]["taints"]
    step(f"  (version of the node before {version}, after {after['metadata']['resourceVersion']})")

    step("a restart of the API server is survived")
    cluster.stop_apiserver()
    machine.set_healthy()
    eventually("the export says so", lambda: machine.says("Degraded +.*refused"), 30, 0.3)
    cluster.start_apiserver()
    eventually("the repair is shown", of(cluster, "GpudXidError", "False"), 30)


def credentials(cluster, machine):
    step("an expired token is said, and a new one used")
    good = cluster.token()
    machine.write_token(cluster.expired(good))
    machine.xid(79)
    eventually("the export says so", lambda: machine.says("answered 401"), 30, 0.3)
    assert of(cluster, "GpudXidError", "False")()
    machine.write_token(good)
    eventually("the fault is shown", of(cluster, "GpudXidError", "True"))


def too_many_requests(cluster, machine):
    step("429 is heeded")
    group = "/apis/flowcontrol.apiserver.k8s.io/v1"
    meta = {"name": "no-gpud"}
    cluster.call("POST", f"{group}/prioritylevelconfigurations", {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration", "metadata": meta,
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 0,
                                               "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"}}}})
    cluster.call("POST", f"{group}/flowschemas", {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": meta,
        "spec": {"priorityLevelConfiguration": meta, "matchingPrecedence": 2, "rules": [{
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "gpud", "namespace": "gpud"}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True,
                               "namespaces": ["*"]}]}]}})
    def is_in_effect():
        conditions = cluster.call("GET", f"{group}/flowschemas/no-gpud").get("status", {}).get("conditions", [])
        return ("Dangling", "False") in {(condition["type"], condition["status"]) for condition in conditions}

    eventually("the limit is in effect", is_in_effect)
    # A level without shares still serves one request at a time, so one that does not end takes that place.
    with cluster.unfinished_request((machine.account / "token").read_text(), NODE):
        machine.set_healthy()
        eventually("the export says so", lambda: machine.says("answered 429"), 30, 0.3)
    cluster.call("DELETE", f"{group}/flowschemas/no-gpud")
    cluster.call("DELETE", f"{group}/prioritylevelconfigurations/no-gpud")
    eventually("the repair is shown", of(cluster, "GpudXidError", "False"))


def deleted_node(cluster, machine):
    step("a node that was deleted is not made again by gpud, and served when it is back")
    cluster.call("DELETE", f"/api/v1/nodes/{NODE}")
    machine.xid(79)
    eventually("the export says so", lambda: machine.says("there is no node"), 30, 0.3)
    listed = cluster.call("GET", "/api/v1/nodes")["items"]
    assert listed == [], "gpud must not make nodes"
    cluster.add_node(NODE)
    eventually("the fault is shown", of(cluster, "GpudXidError", "True"))
    step("a node that was replaced gets its conditions")
    cluster.call("DELETE", f"/api/v1/nodes/{NODE}")
    cluster.add_node(NODE)
    machine.set_healthy()
    eventually("the repair is shown", of(cluster, "GpudXidError", "False"))
    machine.xid(79)
    eventually("the fault is shown", of(cluster, "GpudXidError", "True"))
    eventually("the labels are there", lambda: "gpuid.github.com/gpu-0" in cluster.node(NODE)["metadata"]["labels"])


def edits(cluster, machine, account):
    step("a renamed condition, another prefix and no taint: what was before is removed")
    rule = "    conditions:\n      - {type: FellOffTheBus, reason: Xid79, components: [accelerator-*], event: Xid 79}\n"
    account = account.replace(f"    taint: {TAINT}\n", "")
    machine.write_exports(settings("    " + account + rule, default_conditions="false", label_prefix="example.com"))
    condition, _ = eventually("the new condition", of(cluster, "FellOffTheBus", "True"))
    assert condition["reason"] == "Xid79", condition
    assert set(cluster.conditions(NODE)) == {"Ready", "GpudHealthy", "FellOffTheBus"}, cluster.conditions(NODE)
    eventually("the taint goes", lambda: taints(cluster) == machine.others)
    labels, _ = eventually("the labels change", lambda: "example.com/gpu-0" in (l := cluster.node(NODE)["metadata"]["labels"]) and l)
    assert not any(label.startswith("gpuid.") for label in labels), labels
    machine.stop()


def kubeconfig(cluster, machine):
    step("a client certificate from a kubeconfig, with the same rights")
    cluster.certificate("client", "/O=nobody/CN=gpud-host", "extendedKeyUsage=clientAuth")
    path = machine.folder / "kubeconfig"
    pki = cluster.work / "pki"
    path.write_text(f"""apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{cluster.url}', certificate-authority: {pki}/ca.crt}}}}]
users: [{{name: u, user: {{client-certificate: {pki}/client.crt, client-key: {pki}/client.key}}}}]
""")
    machine.write_exports(settings(kubeconfig=path))
    machine.start(pod=False)
    eventually("the export says that it may not", lambda: machine.says("403 Forbidden.*gpud-host"), 60, 0.5)
    cluster.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "gpud-host"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gpud"},
        "subjects": [{"kind": "User", "name": "gpud-host", "apiGroup": "rbac.authorization.k8s.io"}]})
    eventually("the default conditions are back", of(cluster, "GpudXidError", "True"))
    # This user may make no Events: that is said, and stops nothing.
    machine.set_healthy()
    eventually("the repair is shown", of(cluster, "GpudXidError", "False"), 40)
    eventually("the export says what it may not", lambda: machine.says("events is forbidden"), 60, 0.5)
    machine.stop()


if __name__ == "__main__":
    main()
