"""`python -m gpud_sdk build [FOLDER]`: makes the component of the project in a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpud_sdk.build import BuildError, build

GRANTS = {
    "config": "config: true",
    "exec": 'exec: ["/usr/bin/…"]',
    "history": "history: true",
    "kmsg": "kmsg: true",
    "net": "net: { loopback: [8080] }",
    "nvml": "nvml: true",
    "state": "state: true",
    "sysfs": 'sysfs: ["/sys/class/…/**"]',
}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m gpud_sdk", description="Build gpud checkers written in Python.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build", help="make dist/NAME.wasm of the project in a folder")
    command.add_argument("folder", nargs="?", default=".", type=Path)
    arguments = parser.parse_args()
    try:
        output, planned = build(arguments.folder)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{output}: {output.stat().st_size / 1e6:.1f} MB")
    print("It asks for these grants:" if planned.capabilities else "It asks for no grant.")
    for name in planned.capabilities:
        print(f"  {GRANTS[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
