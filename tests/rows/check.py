"""Checks gpud's exports to PostgreSQL and S3, and of the inventory, on a made-up machine. Called by run.sh:

    check.py GPUD NVML_MOCK FOLDER
"""

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from servers import S3, NotHere, Postgres, SqlError, eventually, free_port

XID = "accelerator-nvidia-error-xid"
NODE = "gpu-node-1"
# The first GPU of the made-up machine, as the kernel writes it.
BUS = "0008:01:00"
DOCS = Path(__file__).parents[2] / "docs"


def step(text):
    print(f"  {text}", flush=True)


class Machine:
    """A made-up compute tray of a GB200, whose dual-die modules share serial numbers, and gpud on it."""

    def __init__(self, gpud, mock, work):
        self.gpud, self.folder = gpud, Path(work) / "machine"
        nvml = self.folder / "nvml"
        nvml.mkdir(parents=True)
        shutil.copy(mock, nvml / "libnvidia-ml.so.1")
        self.nvml = nvml
        self.describe("16509230001", "16509230002")
        self.kmsg = self.folder / "kmsg"
        self.kmsg.write_text("")
        self.lines, self.daemon = 0, None

    def describe(self, *serials):
        """Puts modules into the machine, with two GPUs each."""
        gpus = [serial for serial in serials for _ in range(2)]
        described = "".join(f"  {index}: {{serial: '{serial}'}}\n" for index, serial in enumerate(gpus))
        (self.nvml / "nvml-mock.yaml").write_text(f"product: gb200\ngpus: {len(gpus)}\ngpu:\n{described}")

    def write_exports(self, text):
        new = self.folder / "exports.new"
        new.write_text(text)
        new.rename(self.folder / "exports.yaml")

    def write_secret(self, name, text):
        path = self.folder / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        return path

    def start(self, *arguments, **environment):
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        self.output = self.folder / "output.log"
        environment = {**os.environ, "KMSG_FILE_PATH": str(self.kmsg), "NODE_NAME": NODE, "NO_PROXY": "127.0.0.1", **environment}
        self.daemon = subprocess.Popen(
            [self.gpud, "run", "--data-dir", self.folder / "data", "--local-socket", "none",
             "--listen-address", f"127.0.0.1:{port}", "--plugin-specs-file=", "--components", f"{XID},cpu",
             "--nvml-library", self.nvml / "libnvidia-ml.so.1", f"--exports-file={self.folder}/exports.yaml", *arguments],
            env=environment, stdout=open(self.output, "w"), stderr=open(self.folder / "gpud.log", "a"))

    def stop(self):
        self.daemon.terminate()
        status = self.daemon.wait(20)
        assert status == 0, f"gpud ended with {status}"

    def xid(self, number):
        self.lines += 1
        line = f"3,{self.lines},{60000000 + self.lines},-;NVRM: Xid (PCI:{BUS}): {number}, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
        with open(self.kmsg, "a") as log:
            log.write(line + "\n")

    def set_healthy(self):
        done = subprocess.run([self.gpud, "set-healthy", XID, "--server", self.url], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def get(self, path):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        with opener.open(self.url + path, timeout=20) as answer:
            text = answer.read().decode()
        return text if path == "/metrics" else json.loads(text)

    def answers(self):
        try:
            return self.get("/healthz")
        except OSError:
            return None

    def export(self, name):
        """Returns the health and the reason of an export."""
        try:
            states = self.get(f"/v1/states?components=export-{name}")
        except OSError:
            return "", ""
        state = states[0]["states"][0]
        return state["health"], state["reason"]

    def test_export(self, name):
        done = subprocess.run([self.gpud, "exports", "test", name, f"--exports-file={self.folder}/exports.yaml"],
                              capture_output=True, text=True, env={**os.environ, "NODE_NAME": NODE})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def settings(machine, postgres, s3):
    password = machine.write_secret("password", postgres.password)
    key, secret = machine.write_secret("key", s3.key), machine.write_secret("secret", s3.secret)
    certificate = machine.write_secret("ca.pem", postgres.certificate.read_text())
    server = (f"{{host: localhost, port: {postgres.port}, database: gpud, user: gpud, password: 'file:{password}', "
              f"ca_file: {certificate}}}")
    bucket = (f"{{name: {s3.bucket}, endpoint: '{s3.address}', access_key_id: 'file:{key}', "
              f"secret_access_key: 'file:{secret}'}}")
    common = "cluster: c1\n    node: env:NODE_NAME\n    longest_pause: 1s\n    timeout: 5s\n"
    return f"""exports:
  - name: database
    kind: postgres
    {common}    server: {server}
  - name: lake
    kind: s3
    prefix: gpud
    gather: 1s
    {common}    bucket: {bucket}
  - name: serials
    kind: inventory
    {common}    postgres:
      server: {server}
  - name: serials-lake
    kind: inventory
    {common}    s3:
      prefix: serials
      bucket: {bucket}
"""


def statements(page):
    """Returns the SQL blocks of a page."""
    return re.findall(r"```sql\n(.*?)```", (DOCS / page).read_text(), re.S)


def shape(postgres, database):
    """Returns the columns and indexes of gpud's tables."""
    return postgres.sql("""
        SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
            WHERE table_name IN ('gpud_events', 'gpud_health_changes') ORDER BY 1, 2;
        SELECT indexdef FROM pg_indexes WHERE tablename IN ('gpud_events', 'gpud_health_changes') ORDER BY 1""", database)


def rows_of_events(s3):
    rows = [json.loads(line) for name, body in s3.objects().items() if name.startswith("gpud/") for line in body.splitlines()]
    return [row for row in rows if not row["sample"]]


def check(machine, postgres, s3):
    machine.write_exports(settings(machine, postgres, s3))
    step("gpud exports test")
    for name in ("database", "lake", "serials", "serials-lake"):
        said = machine.test_export(name)
        assert "✔" in said or "ok" in said.lower() or "sample" in said, said
    assert postgres.sql("SELECT component, sample FROM gpud_events") == "gpud-exports-test|t"
    assert postgres.sql("SELECT gpu FROM serials") == "sample"

    machine.start()
    eventually("gpud answers", machine.answers, 120)
    step("a row for each serial number")
    serials = f"SELECT gpu FROM serials WHERE node = '{NODE}' AND gpu <> 'sample' ORDER BY read_time, gpu"
    expected = ["16509230001", "16509230002"]
    eventually("the serial numbers are rows", lambda: postgres.sql(serials).split() == expected)
    chassis = postgres.sql("SELECT DISTINCT chassis FROM serials WHERE gpu <> 'sample'")
    assert chassis and chassis != "unknown", chassis
    lines = lambda: sorted(line.split(",")[5] for name, body in s3.objects().items()
                           if name.startswith("serials/") for line in body.splitlines() if ",sample," not in line)
    eventually("the serial numbers are in an object", lambda: lines() == expected)
    eventually("the counters", lambda: 'gpuid_export_success_total{exporter_type="postgres",' in machine.get("/metrics"))

    step("an Xid becomes rows and objects")
    machine.xid(79)
    events = f"SELECT count(*) FROM gpud_events WHERE component = '{XID}'"
    eventually("the event is a row", lambda: postgres.sql(events) == "1")
    eventually("the change of health is a row", lambda: postgres.sql(
        f"SELECT health_to, 'REBOOT_SYSTEM' = ANY (suggested_actions) FROM gpud_health_changes WHERE component = '{XID}'") == "Unhealthy|t")
    found = postgres.sql(f"SELECT node, cluster, gpu_serial, (extra_info->>'data')::jsonb->>'xid' FROM gpud_events WHERE component = '{XID}'")
    assert found == f"{NODE}|c1|16509230001|79", found
    kinds = lambda: sorted(row["kind"] for row in rows_of_events(s3) if row["component"] == XID)
    eventually("both are in objects", lambda: kinds() == ["event", "health"])

    step("servers that are down for a while: nothing is lost, nothing doubled")
    postgres.stop()
    machine.write_secret("secret", "no secret")
    for number in (48, 95, 62):
        machine.set_healthy()
        machine.xid(number)
        time.sleep(1.5)
    for name in ("database", "lake"):
        eventually(f"{name} says that it cannot deliver", lambda: "nothing could be delivered" in machine.export(name)[1])
    # The daemon ends without warning, too.
    machine.daemon.kill()
    machine.daemon.wait()
    machine.start()
    eventually("gpud answers", machine.answers, 120)
    postgres.start()
    machine.write_secret("secret", s3.secret)
    eventually("all events are rows", lambda: postgres.sql(events) == "4", 120)
    eventually("all is delivered", lambda: all("nothing could" not in machine.export(name)[1] for name in ("database", "lake")), 120)

    # An export does not hear of its own state, but the other one does.
    def same():
        rows = [row["id"] for row in rows_of_events(s3) if not row["component"].startswith("export-")]
        ids = postgres.sql("""SELECT id FROM gpud_events WHERE NOT sample AND component NOT LIKE 'export-%'
            UNION ALL SELECT id FROM gpud_health_changes WHERE component NOT LIKE 'export-%'""").split()
        return len(rows) == len(set(rows)) and sorted(rows) == sorted(ids)

    eventually("tables and objects have the same records, each once", same, 60)

    step("the queries of the documentation")
    # Another machine, where one of the GPUs was before, and a fault of it there.
    postgres.sql(f"""
        INSERT INTO serials (cluster, node, machine, source, chassis, gpu, read_time)
            VALUES ('c1', 'gpu-node-0', 'm0', 'gpud', 'unknown', '16509230001', now() - interval '2 days');
        INSERT INTO gpud_events SELECT gen_random_uuid(), now() - interval '1 day', cluster, 'gpu-node-0', 'm0', component, name,
            severity, message, extra_info, subject, gpu_uuid, gpu_serial, gpu_pci, gpu_index, false FROM gpud_events
            WHERE component = '{XID}' LIMIT 1""")
    count = 0
    for page in ("exports-postgres.md", "inventory.md"):
        for statement in statements(page):
            if statement.startswith("CREATE TABLE"):
                postgres.sql("CREATE DATABASE documented", "postgres")
                postgres.sql(statement, "documented")
                assert shape(postgres, "documented") == shape(postgres, "gpud"), "the documented tables are others"
                continue
            found = postgres.sql(statement)
            if statement.startswith(("SELECT", "WITH")):
                assert found, f"{page}: no rows from\n{statement}"
                count += 1
    assert count >= 5, count
    step(f"{count} queries have answers")

    step("a GPU that is replaced is a new row")
    machine.stop()
    machine.describe("16509230001", "16509230009")
    machine.start()
    eventually("the new serial number is a row",
               lambda: postgres.sql(f"SELECT count(*) FROM serials WHERE gpu = '16509230009' AND node = '{NODE}'") == "1")
    machine.stop()

    step("gpuid's variables")
    machine.write_exports("")
    machine.start("--inventory-from-env", CLUSTER_NAME="c2", EXPORTER_TYPE="stdout")
    eventually("lines on the standard output", lambda: '"gpu":"16509230009"' in machine.output.read_text())
    machine.stop()
    if postgres.is_trusted:
        machine.start("--inventory-from-env", CLUSTER_NAME="c3", EXPORTER_TYPE="postgres", POSTGRES_HOST="localhost",
                      POSTGRES_PORT=str(postgres.port), POSTGRES_DB="gpud", POSTGRES_USER="gpud", POSTGRES_PASSWORD=postgres.password,
                      POSTGRES_TABLE="gpus")
        eventually("rows of gpuid's variables", lambda: table_has(postgres, "gpus", "c3"))
        machine.stop()
    else:
        step("left out: PostgreSQL by gpuid's variables, since this machine has no user `postgres`")
    machine.start("--inventory-from-env", CLUSTER_NAME="c4", EXPORTER_TYPE="s3", S3_BUCKET=s3.bucket, S3_PREFIX="old",
                  S3_REGION="us-east-1", AWS_ACCESS_KEY_ID=s3.key, AWS_SECRET_ACCESS_KEY=s3.secret, AWS_ENDPOINT_URL=s3.address)
    eventually("objects of gpuid's variables", lambda: any(
        name.startswith("old/year=") and f"/cluster=c4/node={NODE}/" in name for name in s3.objects()))
    machine.stop()
    log = (machine.folder / "gpud.log").read_text() + machine.output.read_text()
    for secret in (postgres.password, s3.secret):
        assert secret not in log, "a secret is in the log"


def table_has(postgres, table, cluster):
    try:
        return postgres.sql(f"SELECT count(*) FROM {table} WHERE cluster = '{cluster}'") == "2"
    except SqlError:
        return False


def main():
    gpud, mock, work = sys.argv[1:]
    started, machine = [], None
    try:
        started.append(Postgres(work))
        started.append(S3(work))
        machine = Machine(gpud, mock, work)
        check(machine, *started)
        print("Rows and objects: passed")
    except NotHere as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        sys.exit(77)
    except BaseException:
        for log in (Path(work) / "machine/gpud.log", Path(work) / "s3.log", Path(work) / "postgres/postgres.log"):
            if log.exists():
                print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-25:], sep="\n", file=sys.stderr)
        raise
    finally:
        if machine and machine.daemon and machine.daemon.poll() is None:
            machine.daemon.kill()
        for server in started:
            server.stop()


if __name__ == "__main__":
    main()
