"""Exports in bad surroundings: faults.py GPUD FOLDER [--only PART]. Called by run.sh; needs root.

gpud runs in a mount namespace of its own, where `/etc/resolv.conf` names servers of this test, and the spools are on a disk
of one mebibyte. A webhook that nothing disturbs, `witness`, has to get every record in all parts.
"""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

from machine import XID, Machine
from cluster import eventually
from engines import wait_until_checked
from servers import NotHere
from signed import SignedReceiver
from surroundings import NAME_SERVERS, NameServers, certificate, library_of_clocks, with_tls

# As many exports as would hold all of the daemon's threads if each held some.
HANGING = 8
# Far less than a look-up takes with those name servers, and far more than anything takes that is not held up.
PROMPT = 15
KEY = "a key of this test"


class Faults:
    def __init__(self, gpud, work):
        if os.geteuid() != 0:
            raise NotHere("a mount namespace needs root")
        self.work = Path(work)
        self.witness = SignedReceiver(KEY.encode())
        (self.work / "key").write_text(KEY)
        self.resolv = self.work / "resolv.conf"
        self.resolv.write_text("".join(f"nameserver {one}\n" for one in NAME_SERVERS) + "options timeout:10 attempts:3\n")
        self.machine = Machine(self.wrapped(gpud), work, "gpu-node-1")
        self.spools = self.machine.folder / "data/exports"
        self.spools.mkdir(parents=True)
        for folder in (self.machine.folder / "data", self.spools):
            folder.chmod(0o700)
        self.file = self.work / "exports.yaml"
        self.changes = 0

    def wrapped(self, gpud):
        """Makes a program that runs gpud in a namespace of its own."""
        wrapper = self.work / "gpud-in-namespace"
        spools = self.work / "machines/gpu-node-1/data/exports"
        wrapper.write_text(
            f"#!/bin/sh\nif [ \"$1\" != run ]; then exec {gpud} \"$@\"; fi\n"
            f"exec unshare --mount sh -c 'mount --bind {self.resolv} /etc/resolv.conf && "
            f"mount -t tmpfs -o size=1m,mode=700 none {spools} && exec \"$0\" \"$@\"' {gpud} \"$@\"\n")
        wrapper.chmod(0o755)
        return str(wrapper)

    def write(self, *exports):
        new = self.file.with_suffix(".new")
        listed = [f"{{name: witness, kind: webhook, url: '{self.witness.address}', secret: 'file:{self.work}/key'}}", *exports]
        new.write_text("exports:\n" + "".join(f"  - {one}\n" for one in listed))
        new.rename(self.file)

    def start(self, **environment):
        self.machine.start(self.file, **environment)
        wait_until_checked(self.machine)

    def apply(self, *exports):
        """Writes the file of exports, and waits until the daemon has it."""
        self.write(*exports)
        names = {re.search(r"name: ([a-z0-9-]+)", one)[1] for one in exports} | {"witness"}
        eventually("the edit is applied", lambda: {
            name.removeprefix("export-") for name in self.machine.states() if name.startswith("export-")} == names, 30)

    def change(self):
        """Lets a health change, and waits until the witness has it. Returns how long that took."""
        before, began = len(self.witness.records), time.monotonic()
        self.changes += 1
        self.machine.xid(79) if self.changes % 2 else self.machine.set_healthy()
        wanted = "Unhealthy" if self.changes % 2 else "Healthy"
        eventually(f"the witness gets the change to {wanted}", lambda: any(
            one["component"] == XID and one["data"].get("health", {}).get("to") == wanted
            for _, one in list(self.witness.records)[before:]), 120)
        return time.monotonic() - began

    def reason(self, name):
        return self.machine.reasons().get(f"export-{name}", "")

    def says(self, name, pattern, patience=90):
        eventually(f"export {name} says {pattern!r}", lambda: re.search(pattern, self.reason(name)), patience, 0.5)

    def is_well(self, name, patience=90):
        eventually(f"export {name} is well", lambda: self.machine.states().get(f"export-{name}") == ["Healthy"], patience, 0.5)

    def inside(self, path):
        """Returns a path as gpud sees it."""
        return Path(f"/proc/{self.machine.daemon.pid}/root{path}")


def names(faults):
    """Name servers that never answer hold up nothing but the exports that need them, nor the stop of the daemon."""
    servers = NameServers()
    try:
        database = "server: {host: database.gpud.example, database: gpud, user: gpud, tls: require}"
        faults.apply(*(f"{{name: hangs-{number}, kind: webhook, url: 'http://host-{number}.gpud.example:9', longest_pause: 2s}}"
                       for number in range(HANGING)), f"{{name: database, kind: postgres, cluster: c1, {database}}}")
        slowest = 0.0
        for _ in range(12):
            slowest = max(slowest, faults.change())
            time.sleep(2)
        print(f"    a change is at the witness after {slowest:.1f} s at most; {servers.asked} questions were asked", flush=True)
        assert servers.asked, "the name servers of the test were asked"
        assert slowest < PROMPT, "exports whose names are not found held up another"
        faults.says("hangs-0", r"host-0\.gpud\.example cannot be looked up: no answer within .*/etc/resolv\.conf")
        faults.says("database", r"database\.gpud\.example cannot be looked up: no answer within")
        began = time.monotonic()
        assert faults.machine.stop() == 0
        print(f"    the daemon stops after {time.monotonic() - began:.1f} s", flush=True)
        assert time.monotonic() - began < PROMPT
    finally:
        servers.stop()
    faults.start()
    # What waited was in the file system of the namespace before.
    faults.change()
    # Nobody listens at the name servers' addresses now.
    faults.says("hangs-0", r"host-0\.gpud\.example cannot be looked up: .*(resolution|not known)")


def certificates(faults):
    """A certificate that is over is said; a new one, of another authority, is taken without a restart."""
    receiver = SignedReceiver(KEY.encode())
    chain, key, authority = certificate(faults.work, "over", -1)
    context = with_tls(receiver, chain, key)
    trusted = faults.work / "trusted.pem"
    trusted.write_text(authority.read_text())
    url = receiver.address.replace("http:", "https:")
    faults.apply(f"{{name: tls, kind: webhook, url: '{url}', secret: 'file:{faults.work}/key', ca_file: {trusted}, longest_pause: 2s}}")
    faults.change()
    faults.says("tls", "certificate expired|certificate has expired|expired")
    print(f"    {faults.reason('tls')}", flush=True)
    chain, key, authority = certificate(faults.work, "fresh", 5)
    context.load_cert_chain(chain, key)
    faults.says("tls", "UnknownIssuer|unknown issuer")
    new = trusted.with_suffix(".new")
    new.write_text(authority.read_text())
    new.rename(trusted)
    faults.is_well("tls")
    assert receiver.ids(), "what waited arrived"
    receiver.stop()


def credentials(faults):
    """A key that was replaced counts at the next try, and nothing is lost in between."""
    receiver = SignedReceiver(b"the new key")
    key = faults.work / "rotated"
    key.write_text("the old key\n")
    faults.apply(f"{{name: rotated, kind: webhook, url: '{receiver.address}', secret: 'file:{key}', longest_pause: 2s}}")
    faults.change()
    faults.says("rotated", "answered 401 .*look at the export's credentials")
    for text, said in (("", "is empty"), (None, "cannot be read"), ("the new key\nthe old key\n", None)):
        key.unlink() if text is None else key.write_text(text)
        faults.says("rotated", said) if said else faults.is_well("rotated")
    assert receiver.ids(), "what waited arrived"
    receiver.stop()


def full_disk(faults):
    """While the disk is full, records wait in memory; the spool is used again when there is room."""
    receiver = SignedReceiver(KEY.encode())
    address, port = receiver.address, receiver.server_port
    receiver.stop()
    faults.apply(f"{{name: away, kind: webhook, url: '{address}', secret: 'file:{faults.work}/key', longest_pause: 2s}}")
    faults.change()
    faults.says("away", "refused.*records? waits?")
    filling = faults.inside(faults.spools / "filling")
    try:
        with open(filling, "wb", buffering=0) as file:
            while file.write(b"\0" * 4096):
                pass
    except OSError:
        pass
    count = len(faults.witness.records)
    # More than what is left of the last page of a file.
    for _ in range(20):
        faults.change()
    faults.says("away", "wait in memory, make room on the disk")
    print(f"    {faults.reason('away')}", flush=True)
    filling.unlink()
    faults.change()
    eventually("the spool is used again", lambda: "make room" not in faults.reason("away"), 90, 0.5)
    again = SignedReceiver(KEY.encode(), port)
    faults.is_well("away")
    missing = {one["id"] for _, one in faults.witness.records[count:] if one["component"] != "export-away"} - again.ids().keys()
    assert not missing, f"{len(missing)} records of the full disk are missing"
    again.stop()


def wrong_edit(faults):
    """A wrong edit changes nothing but what `exports-file` says, while records come."""
    faults.apply()
    good = faults.file.read_text()
    for wrong, said in ((good.replace("kind: webhook", "kind: webhok"), "webhok"), (good + "  - {name: witness, kind: webhook}\n", ":"),
                        (good[:len(good) // 2], ":"), ("\0\0", ":"), ("", "")):
        new = faults.file.with_suffix(".new")
        new.write_text(wrong)
        new.rename(faults.file)
        if said:
            eventually("the wrong edit is said", lambda: said in faults.machine.reasons().get("exports-file", ""), 30)
            assert str(faults.file) in faults.machine.reasons()["exports-file"], faults.machine.reasons()
            faults.change()
            faults.change()
    # An empty file is right, and has no exports.
    eventually("an empty file is applied", lambda: "export-witness" not in faults.machine.states(), 30)
    faults.apply()
    assert "exports-file" not in faults.machine.reasons()
    faults.change()


def clock(faults):
    """A clock that jumps loses nothing, holds up nothing, hides no outage and no error, and stops no set-healthy."""
    library = library_of_clocks()
    if not library:
        print("    NOT RUN: there is no libfaketime (Debian: libfaketime; or tests/tools.sh)", flush=True)
        return
    receiver = SignedReceiver(KEY.encode())
    address, port = receiver.address, receiver.server_port
    receiver.stop()
    offset = faults.work / "offset"
    offset.write_text("+0\n")
    assert faults.machine.stop() == 0
    faults.start(LD_PRELOAD=library, FAKETIME_TIMESTAMP_FILE=str(offset), FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1")
    faults.witness.tolerance = 10 * 24 * 3600
    faults.apply(f"{{name: away, kind: webhook, url: '{address}', secret: 'file:{faults.work}/key', longest_pause: 2s}}")
    count = len(faults.witness.records)
    faults.change()
    faults.says("away", "refused.*records? waits?")
    offset.write_text("-172800\n")
    # Some seconds after the jump.
    faults.says("away", r"nothing could be delivered for ([5-9]|\d\d+) s", 30)
    assert any(float(line.split()[-1]) > 0 for line in faults.machine.get("/metrics").splitlines()
               if line.startswith('gpud_export_lag_seconds{export="away"}')), "the outage is no lag"
    # The boot of the machine, and what was found before, are dated later than now: set-healthy, and then a new error.
    eventually("gpud notices that the clock was set back",
               lambda: "the clock was set back by" in faults.machine.log.read_text(errors="replace"), 30)
    for _ in range(2):
        assert faults.change() < PROMPT, "a clock that was set back held up a verdict"
    offset.write_text("+86400\n")
    for _ in range(2):
        assert faults.change() < PROMPT, "a jump held up an export"
    again = SignedReceiver(KEY.encode(), port)
    again.tolerance = faults.witness.tolerance
    faults.is_well("away")
    missing = {one["id"] for _, one in faults.witness.records[count:] if one["component"] != "export-away"} - again.ids().keys()
    assert not missing, f"{len(missing)} records are missing"
    again.stop()
    assert faults.machine.stop() == 0
    faults.witness.tolerance = 300


PARTS = {"names": names, "certificates": certificates, "credentials": credentials, "disk": full_disk, "edit": wrong_edit,
         "clock": clock}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpud")
    parser.add_argument("folder")
    parser.add_argument("--only", choices=PARTS, help="one part")
    options = parser.parse_args()
    faults = None
    try:
        faults = Faults(options.gpud, options.folder)
        faults.write()
        faults.start()
        for name, part in PARTS.items():
            if options.only in (None, name):
                print(f"  {part.__doc__.splitlines()[0]}", flush=True)
                part(faults)
        assert faults.witness.refused == 0
        print("Exports in bad surroundings: passed")
    except NotHere as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        sys.exit(77)
    except BaseException:
        if faults and faults.machine.log.exists():
            print(json.dumps(faults.machine.reasons() if faults.machine.states() else {}, indent=1), file=sys.stderr)
            print(*faults.machine.log.read_text(errors="replace").splitlines()[-12:], sep="\n", file=sys.stderr)
        raise
    finally:
        if faults:
            faults.machine.stop()


if __name__ == "__main__":
    main()
