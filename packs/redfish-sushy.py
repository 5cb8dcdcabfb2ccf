#!/usr/bin/env python3
"""Reads the same tree with another client: redfish-sushy.py PORT PROCESSOR, which has to be the only critical one."""
import sys

import sushy
from sushy.auth import BasicAuth

service = sushy.Sushy(f"https://localhost:{sys.argv[1]}/redfish/v1", verify=False, auth=BasicAuth("gpud", "secret"))
critical = [
    processor.identity
    for system in service.get_system_collection().get_members()
    for processor in system.processors.get_members()
    if str(processor.status.health).lower().endswith("critical")
]
print("sushy: critical processors:", critical)
sys.exit(critical != [sys.argv[2]])
