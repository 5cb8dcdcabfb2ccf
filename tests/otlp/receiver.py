"""A real collector on the loopback, and what it received."""

import json
import socket
import subprocess
import time
from pathlib import Path

CONFIG = """
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: '127.0.0.1:{grpc}'}}
      http: {{endpoint: '127.0.0.1:{http}'}}
  otlp/tls:
    protocols:
      grpc: {{endpoint: '127.0.0.1:{grpc_tls}', tls: {{cert_file: '{folder}/cert.pem', key_file: '{folder}/key.pem'}}}}
      http: {{endpoint: '127.0.0.1:{http_tls}', tls: {{cert_file: '{folder}/cert.pem', key_file: '{folder}/key.pem'}}}}
exporters:
  lines: {{path: '{lines}'}}
service:
  telemetry:
    logs: {{level: warn}}
    metrics: {{level: none}}
  pipelines:
    logs: {{receivers: [otlp, otlp/tls], exporters: [lines]}}
    metrics: {{receivers: [otlp, otlp/tls], exporters: [lines]}}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def eventually(what, look, seconds=60):
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.2)


def attributes(holder):
    """Attributes as a dictionary; a list becomes a list of texts."""
    def plain(value):
        (kind, content), = value.items()
        if kind == "arrayValue":
            return [plain(one) for one in content.get("values", [])]
        return int(content) if kind == "intValue" else content
    return {one["key"]: plain(one["value"]) for one in holder.get("attributes", [])}


class Collector:
    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)
        self.grpc, self.http, self.grpc_tls, self.http_tls = (free_port() for _ in range(4))
        self.lines, self.certificate = self.folder / "received", self.folder / "cert.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=collector", "-addext", "subjectAltName=IP:127.0.0.1",
             "-addext", "basicConstraints=critical,CA:FALSE",
             "-keyout", self.folder / "key.pem", "-out", self.certificate], check=True, capture_output=True)
        config = CONFIG.format(grpc=self.grpc, http=self.http, grpc_tls=self.grpc_tls, http_tls=self.http_tls,
                               folder=self.folder, lines=self.lines)
        (self.folder / "collector.yaml").write_text(config)
        self.process = None

    def start(self):
        with open(self.folder / "collector.log", "a") as log:
            self.process = subprocess.Popen(
                [self.program, "--config", f"file:{self.folder}/collector.yaml"], stdout=log, stderr=log)
        for port in (self.grpc, self.http, self.grpc_tls, self.http_tls):
            eventually("the collector listens", lambda: self.listens(port))

    def listens(self, port):
        assert self.process.poll() is None, f"the collector ended with {self.process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)

    def requests(self):
        if not self.lines.exists():
            return []
        # The last line may not be whole yet.
        lines = self.lines.read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def log_records(self):
        """All log records, each with the attributes of its resource."""
        return [
            (attributes(group["resource"]), record, attributes(record))
            for request in self.requests()
            for group in request.get("resourceLogs", [])
            for scope in group["scopeLogs"]
            for record in scope["logRecords"]
        ]

    def metrics(self):
        """All metrics, each with the attributes of its resource."""
        return [
            (attributes(group["resource"]), metric)
            for request in self.requests()
            for group in request.get("resourceMetrics", [])
            for scope in group["scopeMetrics"]
            for metric in scope["metrics"]
        ]


def points(metric):
    for kind in ("gauge", "sum", "histogram"):
        if kind in metric:
            return metric[kind]["dataPoints"]
    return []
