#!/usr/bin/env python3
"""Makes src/catalog_data.rs from catalog/sxid.json.

    generate.py                      sxid.json -> ../src/catalog_data.rs
    generate.py import FACTS.json    FACTS.json -> sxid.json first (done once; FACTS is the table of public facts that
                                     the project was started from)

sxid.json is the source: edit it, run this, run the tests (one compares both files).
Its fields: `name` (short text), `class` (how NVIDIA's fabric manager guide classes the code; for people, no verdict
depends on it), `type` (event type), `actions` (repair actions, most important first).
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
DATA = HERE / "sxid.json"
RUST = HERE.parent / "src" / "catalog_data.rs"
ACTIONS = {"REBOOT_SYSTEM": "Reboot", "HARDWARE_INSPECTION": "Inspect"}


def import_facts(path):
    facts = json.loads(pathlib.Path(path).read_text())
    rows = [
        {
            "code": c["code"],
            "name": c["name"],
            "class": c["nvidia_class"],
            "type": c["event_type"],
            "actions": c["repair_actions"] or [],
        }
        for c in facts["codes"]
    ]
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    DATA.write_text(f'{{\n "schema": 1,\n "codes": [\n{lines}\n ]\n}}\n')


def rust():
    codes = json.loads(DATA.read_text())["codes"]

    def row(c):
        actions = ", ".join(ACTIONS[word] for word in c["actions"])
        name = json.dumps(c["name"], ensure_ascii=False)
        return f"    Code {{ code: {c['code']}, name: {name}, severity: {c['type']}, actions: &[{actions}] }},\n"

    RUST.write_text(
        "//! The catalogue as constants. Made by `catalog/generate.py` from `catalog/sxid.json`; do not edit.\n\n"
        "use crate::catalog::Action::{Inspect, Reboot};\n"
        "use crate::catalog::Code;\n"
        "use crate::catalog::Severity::{Fatal, Warning};\n\n"
        "/// Codes, ascending.\n"
        f"pub static CODES: [Code; {len(codes)}] = [\n" + "".join(map(row, codes)) + "];\n"
    )


if sys.argv[1:2] == ["import"]:
    import_facts(sys.argv[2])
rust()
