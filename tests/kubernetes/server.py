"""Runs an API server for tests of the crate `gpud-exports`: server.py FOLDER. It ends with its standard input.

FOLDER then holds `url`, `admin` (a token), `pki/ca.crt` and `kubeconfig` (with the rights of deploy/kubernetes/rbac.yaml).
The programs have to be on PATH: PATH="$(tests/kubernetes/apiserver.sh):$PATH".
"""

import sys
from pathlib import Path

from cluster import ADMIN, Cluster

folder = Path(sys.argv[1])
cluster = Cluster(folder)
try:
    cluster.start()
    cluster.apply(Path(__file__).parents[2] / "deploy/kubernetes/rbac.yaml")
    cluster.add_node("node-7")
    (folder / "token").write_text(cluster.token())
    (folder / "kubeconfig").write_text(f"""apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{cluster.url}', certificate-authority: pki/ca.crt}}}}]
users: [{{name: u, user: {{tokenFile: token}}}}]
""")
    (folder / "admin").write_text(ADMIN)
    (folder / "url").write_text(cluster.url)
    print("ready", flush=True)
    sys.stdin.read()
finally:
    cluster.stop()
