"""Starts PostgreSQL and an S3 server (moto, behind a check of signatures) for tests, both on the loopback.

    servers.py FOLDER

It prints one line of JSON with what a client needs, and ends both when its standard input is closed. `Postgres` and `S3` are
for other scripts. Programs of PostgreSQL are those beside an entry of GPUD_TEST_TOOLS (tests/tools.sh fetches them), else
the installed ones. moto is that of this Python. `NotHere` says why a part cannot be had.
"""

import glob
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from signatures import Gate

PATIENCE = 60


class NotHere(Exception):
    """A program cannot be had on this machine."""


class SqlError(Exception):
    """A statement that failed."""


def eventually(what, look, patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise SystemExit(f"not within {patience} s: {what}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def newest(paths):
    return sorted(paths, key=lambda path: [int(part) if part.isdigit() else 0 for part in path.split("/")])[-1:]


class Postgres:
    """A cluster of databases with the role `gpud` and the database `gpud`."""

    password = "a password of this test"

    def __init__(self, work, connections=20):
        self.work, self.port, self.process, self.connections = Path(work) / "postgres", free_port(), None, connections
        self.work.mkdir()
        self.bin = self.programs()
        # PostgreSQL refuses to run as root.
        self.as_user = []
        self.is_trusted = True
        if os.geteuid() == 0:
            # gpud sends clear text to a port of this machine only if root, itself or `postgres` listens there.
            users = {user.pw_name: user for user in pwd.getpwall()}
            user = users.get("postgres", users["nobody"])
            self.is_trusted = user.pw_name == "postgres"
            os.chown(self.work, user.pw_uid, user.pw_gid)
            if not shutil.which("setpriv"):
                raise NotHere("PostgreSQL does not run as root, and there is no setpriv (Debian: util-linux)")
            self.as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "PGPASSWORD": self.password, "TZ": "UTC"}
        libraries = self.bin.parents[2] / f"{os.uname().machine}-linux-gnu"
        if libraries != Path(f"/usr/lib/{os.uname().machine}-linux-gnu"):
            self.environment["LD_LIBRARY_PATH"] = str(libraries)
        self.data = self.work / "data"
        secret = self.work / "superuser"
        secret.write_text(self.password)
        secret.chmod(0o644)
        self.run("initdb", "--pgdata", self.data, "--username=gpud", "--auth=scram-sha-256", f"--pwfile={secret}",
                 "--encoding=UTF8", "--no-sync", "--locale=C.UTF-8")
        certificate = self.work / "certificate"
        request = self.work / "request.cnf"
        request.write_text("[req]\ndistinguished_name=name\nx509_extensions=facts\nprompt=no\n[name]\nCN=localhost\n"
                           "[facts]\nsubjectAltName=DNS:localhost\nbasicConstraints=critical,CA:FALSE\n")
        request.chmod(0o644)
        subprocess.run(
            self.as_user + ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-config", request,
                            "-keyout", self.data / "server.key", "-out", self.data / "server.crt"],
            check=True, capture_output=True)
        shutil.copy(self.data / "server.crt", certificate)
        certificate.chmod(0o644)
        self.certificate = certificate
        self.start()
        self.sql("CREATE DATABASE gpud", database="postgres")

    def programs(self):
        entries = os.environ.get("GPUD_TEST_TOOLS", "").split(":")
        folders = [os.path.realpath(f"{entry}/../lib/postgresql") for entry in entries if entry] + ["/usr/lib/postgresql"]
        for folder in folders:
            for found in newest(glob.glob(f"{folder}/*/bin/initdb")):
                return self.reachable(Path(found).parent)
        raise NotHere("there is no PostgreSQL (Debian: postgresql; or tests/tools.sh)")

    def reachable(self, programs):
        """Programs of a folder that only root may enter are copied: they run as another user."""
        if all(parent.stat().st_mode & 0o001 for parent in [programs, *programs.parents]):
            return programs
        version, root = programs.parent.name, programs.parents[3]
        os.chmod(self.work, 0o755)
        copy = self.work / "usr"
        for part in (f"lib/postgresql/{version}", f"share/postgresql/{version}", f"lib/{os.uname().machine}-linux-gnu"):
            if (root / part).exists():
                shutil.copytree(root / part, copy / part, symlinks=True,
                                ignore=shutil.ignore_patterns("bitcode", "llvmjit*", "man", "slurm*", "*.a"))
        return copy / "lib/postgresql" / version / "bin"

    def command(self, program, *arguments):
        return self.as_user + [str(self.bin / program), *map(str, arguments)]

    def run(self, program, *arguments):
        done = subprocess.run(self.command(program, *arguments), env=self.environment, cwd=self.work, text=True,
                              capture_output=True)
        if done.returncode:
            raise NotHere(f"PostgreSQL's {program} does not run here: {done.stderr.strip()[-500:]}")
        return done.stdout

    def start(self):
        log = open(self.work / "postgres.log", "a")
        self.process = subprocess.Popen(
            self.command("postgres", "-D", self.data, "-p", self.port, "-k", self.work, "-c", "listen_addresses=localhost,127.0.0.1",
                         "-c", "fsync=off", "-c", "ssl=on", "-c", "timezone=UTC", "-c", f"max_connections={self.connections}"),
            env=self.environment, cwd=self.work, stdout=log, stderr=log)
        eventually("PostgreSQL answers", self.answers)

    def answers(self):
        try:
            return self.sql("SELECT 1", database="postgres") == "1"
        except SqlError:
            return False

    def stop(self):
        if self.process:
            # At once, as in a crash.
            self.process.send_signal(3)
            self.process.wait()
            self.process = None

    def sql(self, text, database="gpud"):
        """Runs statements and returns what psql prints: a line a row, columns with `|` between them."""
        done = subprocess.run(
            self.command("psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1",
                         f"--host={self.work}", f"--port={self.port}", "--username=gpud", f"--dbname={database}"),
            input=text, env=self.environment, cwd=self.work, text=True, capture_output=True)
        if done.returncode:
            raise SqlError(f"{done.stderr.strip()}\nin: {text}")
        return done.stdout.strip()

    def facts(self):
        return {"host": "localhost", "port": self.port, "database": "gpud", "user": "gpud", "password": self.password,
                "certificate": str(self.certificate), "socket": str(self.work)}


class S3:
    """A bucket on a server that checks signatures."""

    bucket, key, secret = "gpud-test", "AKIAGPUDTEST", "a+secret/of/this+test"

    def __init__(self, work):
        try:
            import boto3
            import flask  # noqa: F401
            import moto  # noqa: F401
        except ImportError as error:
            raise NotHere(f"there is no S3 server: {error} (PyPI: moto[server])") from error
        self.log, self.behind, self.process = Path(work) / "s3.log", free_port(), None
        self.boto3 = boto3
        environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.behind)],
            env=environment, stdout=open(self.log, "a"), stderr=subprocess.STDOUT)
        eventually("the S3 server listens", self.listens)
        self.admin().create_bucket(Bucket=self.bucket)
        self.gate = Gate(self.behind, self.key, self.secret)
        self.address = f"http://127.0.0.1:{self.gate.port}"

    def admin(self):
        """A client that goes past the check of signatures."""
        import botocore.config

        settings = botocore.config.Config(proxies={}, s3={"addressing_style": "path"}, retries={"max_attempts": 1})
        return self.boto3.client("s3", endpoint_url=f"http://127.0.0.1:{self.behind}", region_name="us-east-1",
                                 aws_access_key_id="admin", aws_secret_access_key="admin", config=settings)

    def listens(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.behind)) == 0

    def close(self):
        """Refuses connections until `open`. What is in the bucket stays."""
        self.gate.stop()

    def open(self):
        self.gate = Gate(self.behind, self.key, self.secret, self.gate.port)

    def stop(self):
        if self.process:
            self.gate.stop()
            self.process.kill()
            self.process.wait()
            self.process = None

    def objects(self):
        """Returns the names of all objects with what is in them."""
        client = self.admin()
        listed = client.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        read = lambda name: client.get_object(Bucket=self.bucket, Key=name)["Body"].read().decode()
        return {one["Key"]: read(one["Key"]) for one in listed}

    def facts(self):
        return {"address": self.address, "bucket": self.bucket, "key": self.key, "secret": self.secret}


def main():
    work = sys.argv[1]
    started = []
    facts = {}
    try:
        for name, kind in (("postgres", Postgres), ("s3", S3)):
            started.append(kind(work))
            facts[name] = started[-1].facts()
        print(json.dumps(facts), flush=True)
        sys.stdin.read()
    except NotHere as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        sys.exit(77)
    finally:
        for server in started:
            server.stop()


if __name__ == "__main__":
    main()
