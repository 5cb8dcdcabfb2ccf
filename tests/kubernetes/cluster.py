"""A real API server with etcd, on ports of this machine's loopback."""

import base64
import json
import os
import re
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

ADMIN = "the-administrator-of-this-test"
ISSUER = "https://kubernetes.default.svc"


def free_port():
    """Returns a port that was free a moment ago, from GPUD_TEST_PORTS (`from-to`) if that is set."""
    wanted = os.environ.get("GPUD_TEST_PORTS", "")
    if not wanted:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            return listener.getsockname()[1]
    first, last = map(int, wanted.split("-"))
    for port in range(first, last + 1):
        if port in free_port.given:
            continue
        free_port.given.add(port)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise SystemExit("no port is free")


free_port.given = set()


def openssl(*arguments, data=None):
    done = subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"openssl {arguments[0]}: {done.stderr.decode()}")
    return done.stdout


def eventually(what, look, seconds=30, pause=0.05):
    """Looks until something is there. Returns it, and how long that took."""
    began = time.monotonic()
    while True:
        found = look()
        if found:
            return found, time.monotonic() - began
        if time.monotonic() - began > seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(pause)


class Cluster:
    def __init__(self, work):
        self.work = Path(work)
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd = self.apiserver = None
        self.certificates()

    def certificates(self):
        folder = self.work / "pki"
        folder.mkdir()
        self.ca = folder / "ca.crt"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=test-ca", "-keyout", folder / "ca.key", "-out", self.ca)
        self.certificate("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        openssl("genrsa", "-out", folder / "sa.key", "2048")
        (folder / "tokens.csv").write_text(f'{ADMIN},admin,1,"system:masters"\n')

    def certificate(self, name, subject, extension):
        folder = self.work / "pki"
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
                "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
        (folder / f"{name}.ext").write_text(extension + "\n")
        openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", self.ca, "-CAkey", folder / "ca.key",
                "-CAcreateserial", "-days", "2", "-extfile", folder / f"{name}.ext", "-out", folder / f"{name}.crt")

    def log(self, name):
        return open(self.work / f"{name}.log", "ab")

    def start(self):
        client, peer = free_port(), free_port()
        self.etcd_url = f"http://127.0.0.1:{client}"
        self.etcd = subprocess.Popen(
            ["etcd", "--data-dir", self.work / "etcd", "--listen-client-urls", self.etcd_url,
             "--advertise-client-urls", self.etcd_url, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync"],
            stdout=self.log("etcd"), stderr=subprocess.STDOUT)
        self.start_apiserver()

    def start_apiserver(self):
        pki = self.work / "pki"
        self.apiserver = subprocess.Popen(
            ["kube-apiserver", f"--etcd-servers={self.etcd_url}", "--bind-address=127.0.0.1",
             f"--secure-port={self.port}", "--endpoint-reconciler-type=none", "--authorization-mode=RBAC",
             f"--tls-cert-file={pki}/server.crt", f"--tls-private-key-file={pki}/server.key",
             f"--client-ca-file={self.ca}", f"--token-auth-file={pki}/tokens.csv",
             f"--service-account-issuer={ISSUER}", f"--service-account-key-file={pki}/sa.key",
             f"--service-account-signing-key-file={pki}/sa.key", "--service-cluster-ip-range=10.0.0.0/24"],
            stdout=self.log("apiserver"), stderr=subprocess.STDOUT)
        eventually("the API server is ready", self.is_ready, 120, 0.2)

    def is_ready(self):
        if self.apiserver.poll() is not None:
            raise AssertionError("the API server ended; see apiserver.log")
        try:
            return self.call("GET", "/readyz", raw=True) == b"ok"
        except (OSError, urllib.error.URLError):
            return False

    def stop_apiserver(self):
        self.apiserver.terminate()
        self.apiserver.wait()

    def stop(self):
        for process in (self.apiserver, self.etcd):
            if process and process.poll() is None:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()

    def call(self, method, path, body=None, kind="application/json", raw=False):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=body, method=method)
        request.add_header("Authorization", f"Bearer {ADMIN}")
        request.add_header("Content-Type", kind)
        context = ssl.create_default_context(cafile=str(self.ca))
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        with opener.open(request, timeout=10) as answer:
            text = answer.read()
        return text if raw else json.loads(text)

    def apply(self, path):
        """Applies a file of objects as `kubectl apply --server-side` does."""
        plural = {
            "Namespace": "/api/v1/namespaces", "ServiceAccount": "/api/v1/namespaces/{ns}/serviceaccounts",
            "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
            "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
        }
        for document in re.split(r"^---$", Path(path).read_text(), flags=re.M):
            kind = re.search(r"^kind: (\S+)", document, re.M)[1]
            metadata = re.search(r"^metadata:\n((?:  .*\n)+)", document, re.M)[1]
            name = re.search(r"^  name: (\S+)", metadata, re.M)[1]
            space = re.search(r"^  namespace: (\S+)", metadata, re.M)
            target = plural[kind].format(ns=space and space[1])
            self.call("PATCH", f"{target}/{name}?fieldManager=test&force=true", document.encode(),
                      "application/apply-patch+yaml")

    def add_node(self, name):
        return self.call("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"of": "others"}},
            "spec": {"taints": [{"key": "of-others", "effect": "PreferNoSchedule"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})

    def token(self, account="gpud", namespace="gpud", seconds=600):
        """Asks for a token as a pod gets it."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
        return self.call("POST", path, request)["status"]["token"]

    def expired(self, token):
        """Returns the same token, signed in the same way, that has expired."""
        def encode(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=")
        head, claims, _ = token.encode().split(b".")
        claims = json.loads(base64.urlsafe_b64decode(claims + b"=" * (-len(claims) % 4)))
        for key, ago in (("iat", 7200), ("nbf", 7200), ("exp", 3600)):
            claims[key] = int(time.time()) - ago
        signed = head + b"." + encode(json.dumps(claims).encode())
        signature = openssl("dgst", "-sha256", "-sign", self.work / "pki/sa.key", data=signed)
        return (signed + b"." + encode(signature)).decode()

    def unfinished_request(self, token, node):
        """Begins to patch a node and never sends the patch. Returns the connection, which ends the request when it is closed."""
        context = ssl.create_default_context(cafile=str(self.ca))
        connection = context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), 10), server_hostname="127.0.0.1")
        connection.sendall(
            f"PATCH /api/v1/nodes/{node} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/merge-patch+json\r\nContent-Length: 2\r\n\r\n".encode())
        return connection

    def node(self, name):
        return self.call("GET", f"/api/v1/nodes/{name}")

    def conditions(self, name):
        return {one["type"]: one for one in self.node(name)["status"].get("conditions", [])}

    def events(self, name):
        listed = self.call("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")
        return listed["items"]
