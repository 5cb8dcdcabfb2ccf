"""A real Slurm of one node on this machine's loopback: munged, slurmctld, slurmd."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from cluster import eventually, free_port
from servers import NotHere

NODE = "gpu-node-1"


def program(name):
    """Debian calls the programs `NAME-wlm`, and links the usual names to them when they are installed."""
    found = shutil.which(f"{name}-wlm") or shutil.which(name)
    if not found:
        raise NotHere(f"there is no {name} (Debian: slurm-wlm; or tests/tools.sh)")
    return found


class Slurm:
    def __init__(self, work, health_check):
        """`health_check` is the command that slurmd runs every second; it finds scontrol at `scontrol`."""
        self.work, self.started = Path(work) / "slurm", []
        slurmctld, slurmd, slurmstepd, munged = map(program, ("slurmctld", "slurmd", "slurmstepd", "munged"))
        self.work.mkdir()
        for folder in ("munge", "state", "spool"):
            (self.work / folder).mkdir()
        libraries = Path(slurmctld).parents[1].resolve() / f"lib/{os.uname().machine}-linux-gnu"
        self.environment = {**os.environ, "LD_LIBRARY_PATH": f"{libraries}:{libraries}/slurm-wlm",
                            "SLURM_CONF": str(self.work / "slurm.conf")}
        key = self.work / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        # slurmd starts health checks with an empty environment.
        self.scontrol = self.work / "scontrol"
        self.script(self.scontrol, f'exec {program("scontrol")} "$@"', ("LD_LIBRARY_PATH", "SLURM_CONF"))
        check = self.work / "health.sh"
        self.script(check, f"[ -e {self.work}/enabled ] || exit 0\nexec {health_check} --scontrol {self.scontrol} "
                           f">>{self.work}/health.log 2>&1")
        host = socket.gethostname().split(".")[0]
        (self.work / "slurm.conf").write_text(f"""ClusterName=gpud
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self.work}/munge/socket
CredType=cred/munge
StateSaveLocation={self.work}/state
SlurmdSpoolDir={self.work}/spool
SlurmctldPidFile={self.work}/slurmctld.pid
SlurmdPidFile={self.work}/slurmd.pid
PluginDir={libraries}/slurm-wlm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
HealthCheckProgram={check}
HealthCheckInterval=1
NodeName={NODE} NodeAddr=127.0.0.1 NodeHostname={host} CPUs=1
PartitionName=all Nodes={NODE} Default=YES
""")
        self.programs = slurmctld, slurmd, slurmstepd, munged

    def start(self):
        slurmctld, slurmd, slurmstepd, munged = self.programs
        munge = self.work / "munge"
        self.run("munged", munged, "--foreground", "--force", f"--key-file={munge}/key", f"--socket={munge}/socket",
                 f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        eventually("munged listens", (munge / "socket").is_socket)
        self.run("slurmctld", slurmctld, "-D", "-i")
        eventually("slurmctld answers", lambda: self.ask("ping").returncode == 0)
        self.run("slurmd", slurmd, "-D", "-N", NODE, "-d", slurmstepd)
        eventually("the node is idle", lambda: "State=IDLE " in self.node())

    def script(self, path, text, variables=()):
        exported = "".join(f"export {name}={self.environment[name]}\n" for name in variables)
        path.write_text(f"#!/bin/sh\n{exported}{text}\n")
        path.chmod(0o755)

    def run(self, name, *command):
        with open(self.work / f"{name}.log", "a") as log:
            self.started.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))

    def enable_health_checks(self):
        (self.work / "enabled").touch()

    def ask(self, *words):
        return subprocess.run([self.scontrol, *words], capture_output=True, text=True)

    def node(self):
        return self.ask("show", "node", NODE).stdout

    def stop(self):
        for process in reversed(self.started):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
