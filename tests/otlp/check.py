"""Checks gpud's export by OTLP against a real collector. Called by run.sh: check.py GPUD NVML_MOCK COLLECTOR FOLDER."""

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

from receiver import Collector, attributes, eventually, free_port, points

XID = "accelerator-nvidia-error-xid"
COMPONENTS = ",".join([
    XID, "accelerator-nvidia-temperature", "accelerator-nvidia-power", "accelerator-nvidia-memory",
    "accelerator-nvidia-utilization", "accelerator-nvidia-ecc", "cpu",
])
PROTOCOLS = {"grpc": "by-grpc", "http/protobuf": "by-http"}
# By name: unit, and how the collector's JSON calls the kind.
CONVENTIONAL = {
    "hw.temperature": ("Cel", "gauge"),
    "hw.power": ("W", "gauge"),
    "hw.gpu.utilization": ("1", "gauge"),
    "hw.gpu.memory.limit": ("By", "sum"),
    "hw.gpu.memory.usage": ("By", "sum"),
    "hw.errors": ("{error}", "sum"),
    "hw.status": ("1", "sum"),
}


def step(text):
    print(f"  {text}", flush=True)


class Machine:
    """A made-up machine with eight GPUs, and gpud on it."""

    def __init__(self, gpud, mock, folder):
        self.gpud, self.folder = gpud, Path(folder) / "machine"
        nvml = self.folder / "nvml"
        nvml.mkdir(parents=True)
        shutil.copy(mock, nvml / "libnvidia-ml.so.1")
        (nvml / "nvml-mock.yaml").write_text("product: h100-sxm\ngpus: 8\n")
        self.kmsg = self.folder / "kmsg"
        self.kmsg.write_text("")
        self.lines = 0
        self.daemon = None

    def write_exports(self, text):
        new = self.folder / "exports.new"
        new.write_text(text)
        new.rename(self.folder / "exports.yaml")

    def environment(self):
        # The variables of OpenTelemetry alone make gpud send nothing.
        return {**os.environ, "KMSG_FILE_PATH": str(self.kmsg), "NODE_NAME": "gpu-node-1",
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_METRIC_EXPORT_INTERVAL": "1000"}

    def start(self, *further):
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        with open(self.folder / "gpud.log", "a") as log:
            self.daemon = subprocess.Popen(
                [self.gpud, "run", "--data-dir", self.folder / "data", "--local-socket", "none",
                 "--listen-address", f"127.0.0.1:{port}", "--plugin-specs-file=", "--components", COMPONENTS,
                 "--nvml-library", self.folder / "nvml/libnvidia-ml.so.1",
                 f"--exports-file={self.folder}/exports.yaml", *further],
                env=self.environment(), stdout=log, stderr=log)

    def stop(self):
        self.daemon.terminate()
        status = self.daemon.wait(20)
        assert status == 0, f"gpud ended with {status}"

    def kill(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()

    def xid(self, number, gpu):
        self.lines += 1
        line = (f"3,{self.lines},{60000000 + self.lines},-;NVRM: Xid (PCI:{gpu}): {number}, pid='<unknown>', "
                "name=<unknown>, GPU has fallen off the bus.")
        with open(self.kmsg, "a") as log:
            log.write(line + "\n")

    def get(self, path):
        context = ssl._create_unverified_context()
        with urllib.request.urlopen(self.url + path, context=context, timeout=10) as answer:
            return answer.read().decode()

    def exports(self, *words):
        done = subprocess.run([self.gpud, "exports", *words, f"--exports-file={self.folder}/exports.yaml"],
                              env=self.environment(), capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def says(self, name, pattern):
        """Returns whether the state of an export says this."""
        _, text = self.exports("list", "--json", "--server", self.url)
        try:
            listed = json.loads(text)["exports"]
        except ValueError:
            return False
        return any(one["name"] == name and re.search(pattern, one.get("reason", "")) for one in listed)


def settings(collector):
    ports = {"grpc": collector.grpc, "http/protobuf": collector.http}
    exports = "".join(
        f"  - name: {name}\n    kind: otlp\n    endpoint: http://127.0.0.1:{ports[protocol]}\n"
        f"    protocol: {protocol}\n    interval: 1s\n    longest_pause: 1s\n    resource: {{test.name: {name}}}\n"
        for protocol, name in PROTOCOLS.items())
    return f"exports:\n{exports}"


def samples(collector, machine):
    for name in PROTOCOLS.values():
        code, said = machine.exports("test", name)
        assert code == 0 and "was delivered" in said and "gpud.export.sample" in said, said
        received = [of for resource, _, of in collector.log_records() if resource["test.name"] == name]
        assert [of.get("gpud.sample") for of in received] == [True], received
        names = [metric["name"] for resource, metric in collector.metrics() if resource["test.name"] == name]
        assert names == ["gpud.export.sample"], names


def metrics(collector, machine):
    machine.start()
    for name in PROTOCOLS.values():
        def received():
            return {metric["name"]: (resource, metric) for resource, metric in collector.metrics()
                    if resource["test.name"] == name}

        wanted = {*CONVENTIONAL, "gpud_build_info", "gpud_component_health", "gpud_checker_seconds_total",
                  "cpu_load_average"}
        eventually(f"all metrics arrive {name}", lambda: wanted <= received().keys())
        found = received()
        resource = found["hw.temperature"][0]
        for key, value in {"service.name": "gpud", "os.type": "linux", "k8s.node.name": "gpu-node-1"}.items():
            assert resource[key] == value, resource
        assert resource["host.name"] and resource["service.version"] and resource["host.arch"], resource
        for metric, (unit, kind) in CONVENTIONAL.items():
            _, shown = found[metric]
            assert shown["unit"] == unit and kind in shown, shown
            gpus = {attributes(point)["hw.id"] for point in points(shown)}
            assert len(gpus) == 8 and all(gpu.startswith("GPU-") for gpu in gpus), (metric, gpus)
            of = attributes(points(shown)[0])
            assert of["hw.type"] == "gpu" and of["hw.vendor"] == "NVIDIA" and of["hw.model"], of
        seconds = found["gpud_checker_seconds_total"][1]
        assert seconds["unit"] == "s" and seconds["sum"]["isMonotonic"], seconds
        assert seconds["sum"]["aggregationTemporality"] == 2, "cumulative"
        point = points(seconds)[0]
        assert 0 < int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"]), point
        assert not any(metric.startswith("accelerator_nvidia_temperature_current") for metric in found), found.keys()
    assert '"export-otlp"' not in machine.get("/v1/components"), "variables of OpenTelemetry alone start no export"
    eventually("points are counted", lambda: re.search(
        r'gpud_export_metric_points_total\{export="by-grpc",outcome="delivered"\} [1-9]', machine.get("/metrics")))


def of_xid(collector, name, code):
    """The log records of events of an Xid, by id."""
    return {
        of["log.record.uid"]: (record, of)
        for resource, record, of in collector.log_records()
        if resource["test.name"] == name and of["gpud.component"] == XID
        and of["event.name"] == "gpud.event" and re.search(rf"(?i)xid\D{{0,3}}{code}\b", record["body"]["stringValue"])
    }


def fault(collector, machine):
    machine.xid(79, "0000:5d:00")
    ids = []
    for name in PROTOCOLS.values():
        found = eventually(f"the Xid arrives {name}", lambda: of_xid(collector, name, 79))
        (identity, (record, of)), = found.items()
        ids.append(identity)
        assert record["severityNumber"] >= 17 and record["eventName"] == "gpud.event", record
        assert of["gpud.event.name"] and of["hw.type"] == "gpu" and of["hw.id"].startswith("GPU-"), of

        def change():
            return [
                (record, of) for resource, record, of in collector.log_records()
                if resource["test.name"] == name and of["event.name"] == "gpud.health.changed"
                and of["gpud.component"] == XID and of["gpud.health"] == "Unhealthy"
            ]

        record, of = eventually(f"the change of health arrives {name}", change)[0]
        assert record["severityText"] == "Unhealthy" and of["gpud.health.before"] == "Healthy", (record, of)
        assert "REBOOT_SYSTEM" in of["gpud.suggested_actions"], of
    assert ids[0] == ids[1], "a record has one id, wherever it is sent"


def outage(collector, machine):
    collector.stop()
    machine.xid(48, "0000:9a:00")
    for name in PROTOCOLS.values():
        eventually(f"the outage is shown {name}", lambda: machine.says(
            name, "nothing could be delivered.*records? waits?.*no metrics could be sent"))
        assert not of_xid(collector, name, 48)
    machine.kill()
    machine.start()
    collector.start()
    for name in PROTOCOLS.values():
        eventually(f"the Xid of the outage arrives {name}", lambda: of_xid(collector, name, 48))
        eventually(f"the export is well again {name}", lambda: machine.says(name, "metrics were sent"))


def tls(collector, machine):
    ports = {"grpc": collector.grpc_tls, "http/protobuf": collector.http_tls}
    exports = "".join(
        f"  - name: {name}-{trust}\n    kind: otlp\n    endpoint: https://127.0.0.1:{ports[protocol]}\n"
        f"    protocol: {protocol}\n    interval: 1s\n    longest_pause: 1s\n{authority}"
        for protocol, name in PROTOCOLS.items()
        for trust, authority in (("knows", f"    ca_file: {collector.certificate}\n"), ("stranger", "")))
    machine.write_exports(f"exports:\n{exports}")
    for name in PROTOCOLS.values():
        eventually(f"{name} sends with TLS", lambda: machine.says(f"{name}-knows", "metrics were sent"))
        eventually(f"{name} trusts no stranger", lambda: machine.says(f"{name}-stranger", "certificate"))


def wrong_endpoints(collector, machine):
    machine.write_exports(f"""exports:
  - {{name: wrong-path, kind: otlp, endpoint: 'http://127.0.0.1:{collector.http}/nowhere', longest_pause: 1s, interval: 1s}}
  - {{name: wrong-port, kind: otlp, endpoint: 'http://127.0.0.1:{collector.http}', protocol: grpc, longest_pause: 1s, interval: 1s}}
  - {{name: nobody, kind: otlp, endpoint: 'http://127.0.0.1:{free_port()}', longest_pause: 1s, interval: 1s}}
""")
    for name, pattern in [
        ("wrong-path", "404.*look at the export's address"),
        ("wrong-port", "no metrics could be sent.*POST http://127"),
        ("nobody", "no metrics could be sent.*refused"),
    ]:
        eventually(f"{name} says what is wrong", lambda: machine.says(name, pattern))


def flag(collector, machine):
    machine.stop()
    collector.lines.unlink()
    machine.write_exports("exports: []\n")
    machine.start(f"--otlp-endpoint=http://127.0.0.1:{collector.grpc}")
    eventually("metrics arrive", lambda: any(metric["name"] == "hw.power" for _, metric in collector.metrics()), 120)
    machine.stop()


def main():
    gpud, mock, program, work = sys.argv[1:]
    collector, machine = Collector(program, work), Machine(gpud, mock, work)
    try:
        collector.start()
        machine.write_exports(settings(collector))
        for what, check in [
            ("gpud exports test", samples),
            ("metrics", metrics),
            ("an Xid", fault),
            ("a collector that is down, and gpud that is killed", outage),
            ("TLS", tls),
            ("wrong endpoints", wrong_endpoints),
            ("the flag", flag),
        ]:
            step(what)
            check(collector, machine)
    except BaseException:
        for log in (machine.folder / "gpud.log", collector.folder / "collector.log"):
            if log.exists():
                print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-25:], sep="\n", file=sys.stderr)
        raise
    finally:
        machine.kill()
        collector.stop()


if __name__ == "__main__":
    main()
