"""Has a real API server accept what helm rendered: chart.py FOLDER, with the objects below FOLDER/rendered."""

import re
import sys
import urllib.error
from pathlib import Path

from cluster import Cluster, eventually

PLACES = {
    "ConfigMap": "/api/v1/namespaces/{space}/configmaps",
    "ServiceAccount": "/api/v1/namespaces/{space}/serviceaccounts",
    "DaemonSet": "/apis/apps/v1/namespaces/{space}/daemonsets",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{space}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{space}/rolebindings",
    "PodMonitor": "/apis/monitoring.coreos.com/v1/namespaces/{space}/podmonitors",
}
# Whatever the fields: the operator of Prometheus is not part of this test.
POD_MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "podmonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com", "scope": "Namespaced",
        "names": {"kind": "PodMonitor", "plural": "podmonitors"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}],
    },
}


def objects(folder):
    """Yields kind, name, namespace and text of every object below a folder."""
    for path in sorted(folder.rglob("*.yaml")):
        for document in re.split(r"^---$", path.read_text(), flags=re.M):
            kind = re.search(r"^kind: (\S+)", document, re.M)
            if kind is None:
                continue
            metadata = re.search(r"^metadata:\n((?:  .*\n)+)", document, re.M)[1]
            name = re.search(r"^  name: (\S+)", metadata, re.M)[1]
            space = re.search(r"^  namespace: (\S+)", metadata, re.M)
            yield kind[1], name, space and space[1], document


def check(cluster, folder):
    accepted = []
    for kind, name, space, document in objects(folder):
        path = PLACES[kind].format(space=space)
        try:
            answer = cluster.call("PATCH", f"{path}/{name}?fieldManager=test&dryRun=All&fieldValidation=Strict",
                                  document.encode(), "application/apply-patch+yaml")
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{folder.name}: {kind} {name}: {error.read().decode()}") from None
        accepted.append(answer)
        if kind == "DaemonSet":
            pod = answer["spec"]["template"]["spec"]
            (container,) = pod["containers"]
            security = container["securityContext"]
            if security["privileged"] or security["allowPrivilegeEscalation"]:
                raise SystemExit(f"{folder.name}: the container is privileged")
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            volumes = {volume["name"] for volume in pod["volumes"]}
            if mounted != volumes:
                raise SystemExit(f"{folder.name}: mounts {mounted} are not volumes {volumes}")
    return accepted


work = Path(sys.argv[1])
cluster = Cluster(work)
try:
    cluster.start()
    cluster.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpud"}})
    cluster.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", POD_MONITORS)

    def served():
        try:
            return cluster.call("GET", "/apis/monitoring.coreos.com/v1/podmonitors")
        except urllib.error.HTTPError:
            return None

    eventually("PodMonitors are served", served)
    kinds = set()
    for folder in sorted((work / "rendered").iterdir()):
        accepted = check(cluster, folder)
        kinds |= {answer["kind"] for answer in accepted}
        print(f"{folder.name}: {len(accepted)} objects accepted")
    if kinds != set(PLACES):
        raise SystemExit(f"no values made {set(PLACES) - kinds}")
finally:
    cluster.stop()
