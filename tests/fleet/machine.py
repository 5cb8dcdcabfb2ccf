"""A made-up machine with eight GPUs, and gpud on it. `Machine` is for the scripts of this folder."""

import json
import math
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from datetime import datetime
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("kubernetes", "rows", "otlp")]

from cluster import free_port  # noqa: E402

XID = "accelerator-nvidia-error-xid"
# The GPU that fails: the one at this place of an H100 board.
GPU = "0000:d1:00"
# All but the one that looks for the driver's files: there is no driver.
COMPONENTS = "all,-library"


# The scripts stop what they started, also when they are asked to end.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class Machine:
    """One node: its folder, its GPUs, its kernel log, its daemon."""

    def __init__(self, gpud, work, name):
        self.gpud, self.name = gpud, name
        self.library = Path(work) / "libnvidia-ml.so.1"
        self.folder = Path(work) / "machines" / name
        self.folder.mkdir(parents=True)
        self.scenario = self.folder / "gpus.yaml"
        gpus = "".join(f"  {gpu}: {{uuid: 'GPU-{name}-{gpu}', serial: '{name}-{gpu}'}}\n" for gpu in range(8))
        self.scenario.write_text(f"product: h100-sxm\ngpus: 8\ngpu:\n{gpus}")
        self.kmsg = self.folder / "kmsg"
        self.kmsg.write_text("")
        self.log = self.folder / "gpud.log"
        self.lines = 0
        self.daemon = None

    def start(self, exports, *further, **environment):
        """Starts the daemon with this file of exports; an empty name is none."""
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        environment = {
            **os.environ, "KMSG_FILE_PATH": str(self.kmsg), "NODE_NAME": self.name, "NO_PROXY": "127.0.0.1,localhost",
            "GPUD_NVML_MOCK_SCENARIO": str(self.scenario), **environment}
        with open(self.log, "a") as log:
            self.daemon = subprocess.Popen(
                [self.gpud, "run", "--data-dir", self.folder / "data", "--local-socket", "none",
                 "--listen-address", f"127.0.0.1:{port}", "--plugin-specs-file=", f"--exports-file={exports}",
                 "--nvml-library", self.library, "--components", COMPONENTS, *further],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self):
        """Asks the daemon to end, and says with which status it did."""
        if self.daemon is None or self.daemon.poll() is not None:
            return None
        self.daemon.terminate()
        try:
            return self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            return self.daemon.wait()

    def xid(self, number=79):
        """Writes an Xid into the kernel log of this machine."""
        self.lines += 1
        with open(self.kmsg, "a") as log:
            log.write(f"3,{self.lines},{60000000 + self.lines},-;NVRM: Xid (PCI:{GPU}): {number}, pid='<unknown>', "
                      "name=<unknown>, GPU has fallen off the bus.\n")

    def flood(self, count):
        """Writes as many Xids of programs into the kernel log, each of another GPU or with another code than those before."""
        with open(self.kmsg, "a") as log:
            for number in range(count):
                self.lines += 1
                log.write(f"3,{self.lines},{60000000 + 1000000 * self.lines},-;NVRM: Xid (PCI:0000:{number % 256:02x}:00): "
                          f"{number // 256 % 170 + 1}, pid={self.lines}, name=python3, made up\n")

    def set_healthy(self):
        done = subprocess.run([self.gpud, "set-healthy", XID, "--server", self.url], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def get(self, path):
        context = ssl._create_unverified_context()
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        with opener.open(self.url + path, timeout=20) as answer:
            return answer.read().decode()

    def states(self):
        """Returns the health of each component, or nothing while the daemon does not answer."""
        try:
            listed = json.loads(self.get("/v1/states"))
        except OSError:
            return {}
        return {one["component"]: [state["health"] for state in one["states"]] for one in listed}

    def reasons(self):
        """Returns what is not healthy, by component, with the reason."""
        return {one["component"]: state.get("reason", "") for one in json.loads(self.get("/v1/states"))
                for state in one["states"] if state["health"] != "Healthy"}

    def changed_at(self, text):
        """Returns when the health last changed so, by the daemon's log, as seconds since 1970."""
        for line in reversed(self.log.read_text(errors="replace").splitlines()):
            if f"health: {text}" in line:
                return seconds(json.loads(line)["ts"])
        raise AssertionError(f"{self.name}: there was no change of health {text}")

    def processor_seconds(self):
        """Returns the processor time of the daemon, with that of programs that it ran and that have ended."""
        # Linux's clock of another process (clock_getcpuclockid(3)): in nanoseconds, where /proc has hundredths.
        own = time.clock_gettime((~self.daemon.pid << 3) | 2)
        fields = Path(f"/proc/{self.daemon.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return own + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Returns the MiB that the daemon has for itself."""
        for line in Path(f"/proc/{self.daemon.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
        return 0.0


def seconds(text):
    """Returns a time of RFC 3339 as seconds since 1970."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def quantile(samples, share):
    """Returns the smallest sample that is not below this share of all."""
    return sorted(samples)[max(0, math.ceil(len(samples) * share) - 1)]
