"""Everything that gpud exports to, at once, on this machine's loopback."""

import http.server
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from machine import TESTS, seconds
from cluster import Cluster, eventually, free_port
from receiver import Collector
from servers import S3, NotHere, Postgres
from watch import Watch

NODE = "gpu-node-1"


class Receiver(http.server.ThreadingHTTPServer):
    """Takes what a webhook sends, and remembers it with the time when it came."""

    daemon_threads = True

    def __init__(self):
        self.received = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                now = time.time()
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()
                receiver.received.append((now, body))

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server_port}"

    def changes(self, component):
        """Returns the changes of health of a component: which, when it was made, when it came."""
        return [(event["data"]["health"]["to"], seconds(event["time"]), now)
                for now, body in list(self.received)
                for event in body if "health" in event["data"] and event["component"] == component]


class Prometheus:
    """A real Prometheus with the rules of deploy/prometheus, which scrapes one gpud."""

    def __init__(self, work, address):
        program = shutil.which("prometheus")
        if not program:
            raise NotHere("there is no prometheus (Debian: prometheus; or tests/tools.sh)")
        self.url = f"http://127.0.0.1:{free_port()}"
        folder = Path(work)
        (folder / "prometheus.yaml").write_text(
            "global: {scrape_interval: 2s, evaluation_interval: 2s}\n"
            f"rule_files: ['{TESTS.parent}/deploy/prometheus/gpud.rules.yaml']\n"
            "scrape_configs:\n  - job_name: gpud\n    scheme: https\n    tls_config: {insecure_skip_verify: true}\n"
            f"    static_configs: [{{targets: ['{address}']}}]\n")
        with open(folder / "prometheus.log", "a") as log:
            self.process = subprocess.Popen(
                [program, f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/tsdb",
                 f"--web.listen-address={self.url.removeprefix('http://')}"], stdout=log, stderr=log)

    def alerts(self):
        """Returns the state of each alert about a component: pending or firing."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.url}/api/v1/alerts", timeout=10) as answer:
                listed = json.load(answer)["data"]["alerts"]
        except OSError:
            return {}
        return {(one["labels"]["alertname"], one["labels"].get("gpud_component")): one["state"] for one in listed}

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Alertmanager:
    """A real Alertmanager that notifies nobody."""

    def __init__(self, work):
        # Debian calls the program so.
        program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
        if not program:
            raise NotHere("there is no alertmanager (Debian: prometheus-alertmanager; or tests/tools.sh)")
        self.address = f"http://127.0.0.1:{free_port()}"
        self.folder = folder = Path(work)
        (folder / "alertmanager.yaml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        self.command = [
            *self.templates(program), program, f"--config.file={folder}/alertmanager.yaml", f"--storage.path={folder}/alertmanager",
            f"--web.listen-address={self.address.removeprefix('http://')}", "--cluster.listen-address="]
        self.start()

    def start(self):
        with open(self.folder / "alertmanager.log", "a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def wait(self):
        eventually("Alertmanager answers", lambda: self.alerts() is not None)

    def templates(self, program):
        """Debian's program wants its templates below /usr/share. One that is not installed sees its own folder there."""
        share = Path(program).resolve().parents[1] / "share"
        if str(share) == "/usr/share" or not (share / "prometheus/alertmanager").is_dir():
            return []
        if os.geteuid() != 0:
            raise NotHere("Alertmanager of GPUD_TEST_TOOLS needs root, to see its templates")
        return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /usr/share && exec "$@"', str(share)]

    def alerts(self):
        """Returns the alerts that fire, by component; nothing while it does not answer."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.address}/api/v2/alerts?active=true", timeout=10) as answer:
                return {one["labels"].get("component"): one for one in json.load(answer)}
        except OSError:
            return None

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Engines:
    """What the exports send to."""

    def __init__(self, work):
        self.work, self.started = Path(work), []

    def start(self):
        self.cluster = Cluster(self.work)
        self.started.append(self.cluster)
        self.cluster.start()
        self.cluster.apply(TESTS.parent / "deploy/kubernetes/rbac.yaml")
        self.cluster.add_node(NODE)
        (self.work / "ca.crt").write_text(self.cluster.ca.read_text())
        (self.work / "token").write_text(self.cluster.token(seconds=24 * 3600))
        self.watch = Watch(self.cluster)
        self.receiver = Receiver()
        self.alertmanager = Alertmanager(self.work)
        self.started.append(self.alertmanager)
        self.alertmanager.wait()
        self.collector = Collector(os.environ["GPUD_TEST_COLLECTOR"], self.work)
        self.started.append(self.collector)
        self.collector.start()
        self.postgres = Postgres(self.work)
        self.started.append(self.postgres)
        self.s3 = S3(self.work)
        self.started.append(self.s3)

    def stop(self):
        for engine in reversed(self.started):
            engine.stop()

    def secret(self, name, text):
        path = self.work / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        return f"file:{path}"

    def exports(self):
        """Writes a file with an export of every kind."""
        certificate = self.work / "postgres-ca.pem"
        certificate.write_text(self.postgres.certificate.read_text())
        server = (f"{{host: localhost, port: {self.postgres.port}, database: gpud, user: gpud, "
                  f"password: '{self.secret('password', self.postgres.password)}', ca_file: {certificate}}}")
        bucket = (f"{{name: {self.s3.bucket}, endpoint: '{self.s3.address}', "
                  f"access_key_id: '{self.secret('key', self.s3.key)}', "
                  f"secret_access_key: '{self.secret('secret', self.s3.secret)}'}}")
        path = self.work / "exports.yaml"
        path.write_text(f"""exports:
  - {{name: hook, kind: webhook, url: '{self.receiver.address}'}}
  - {{name: alerts, kind: alertmanager, url: '{self.alertmanager.address}'}}
  - {{name: cluster, kind: kubernetes, service_account: {self.work}, taint: gpud.dev/unhealthy}}
  - {{name: telemetry, kind: otlp, endpoint: 'http://127.0.0.1:{self.collector.grpc}', protocol: grpc}}
  - {{name: database, kind: postgres, cluster: c1, server: {server}}}
  - {{name: lake, kind: s3, cluster: c1, prefix: gpud, gather: 1s, bucket: {bucket}}}
  - {{name: serials, kind: inventory, cluster: c1, postgres: {{server: {server}}}}}
""")
        return path

    def variables(self):
        return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.cluster.port)}


def is_checked(machine):
    """Returns whether all components have been checked."""
    healths = [health for of in machine.states().values() for health in of]
    return healths and "Initializing" not in healths


def wait_until_checked(machine):
    eventually(f"{machine.name} is checked", lambda: is_checked(machine), 180, 0.5)
