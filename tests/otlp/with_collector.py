"""Runs a command while a collector runs: with_collector.py COLLECTOR FOLDER COMMAND…

The command finds the ports and the file of what was received in GPUD_TEST_OTLP:
GRPC HTTP GRPC_WITH_TLS HTTP_WITH_TLS CERTIFICATE FILE."""

import os
import subprocess
import sys

from receiver import Collector

program, folder, *command = sys.argv[1:]
collector = Collector(program, folder)
collector.start()
try:
    where = (f"{collector.grpc} {collector.http} {collector.grpc_tls} {collector.http_tls} "
             f"{collector.certificate} {collector.lines}")
    status = subprocess.run(command, env={**os.environ, "GPUD_TEST_OTLP": where}).returncode
finally:
    collector.stop()
if status != 0:
    print((collector.folder / "collector.log").read_text()[-2000:], file=sys.stderr)
sys.exit(status)
