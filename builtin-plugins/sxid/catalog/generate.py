#!/usr/bin/env python3
"""Makes src/catalog_data.rs from catalog/sxid.json.

    python3 builtin-plugins/sxid/catalog/generate.py

sxid.json is the source: edit it, raise its `version`, run this, run the tests (they hold every entry of both files
against each other, and the entries against one another), and builtin-plugins/xid/catalog/generate.py for the page of
differences. `sources` says where its facts are from, and each entry names its own; `schema` is that of this file, known
to this script and the tests.
Its fields: `name` (short text), `class` (how NVIDIA's fabric manager guide classes the code; for people, no verdict
depends on it), `type` (event type), `actions` (repair actions, most important first), `vendor` (what NVIDIA's
guide says to do; null where it does not have the code).
"""
import json
import pathlib

HERE = pathlib.Path(__file__).parent
DATA = HERE / "sxid.json"
RUST = HERE.parent / "src" / "catalog_data.rs"
VENDOR = {
    None: "None",
    "IGNORE": "Some(VendorAction::Ignore)",
    "RESTART_VM": "Some(VendorAction::RestartVm)",
    "RESTART_BM": "Some(VendorAction::RestartHost)",
    "RESET_ALL_GPUS_AND_SWITCHES": "Some(VendorAction::ResetAll)",
    "RESET_BY_SCOPE": "Some(VendorAction::ResetByScope)",
    "CHECK_MECHANICALS": "Some(VendorAction::CheckMechanicals)",
}
ACTIONS = {"REBOOT_SYSTEM": "Reboot", "HARDWARE_INSPECTION": "Inspect"}


def rust():
    data = json.loads(DATA.read_text())
    codes = data["codes"]

    def row(c):
        actions = ", ".join(ACTIONS[word] for word in c["actions"])
        name = json.dumps(c["name"], ensure_ascii=False)
        return f"    Code {{ code: {c['code']}, name: {name}, severity: {c['type']}, actions: &[{actions}], vendor: {VENDOR[c['vendor']]} }},\n"

    RUST.write_text(
        "//! The catalogue as constants. Made by `catalog/generate.py` from `catalog/sxid.json`; do not edit.\n\n"
        "use crate::catalog::Action::{Inspect, Reboot};\n"
        "use crate::catalog::{Code, VendorAction};\n"
        "use crate::catalog::Severity::{Fatal, Warning};\n\n"
        f"/// Version of the catalogue.\npub const VERSION: u32 = {data['version']};\n\n"
        "/// Codes, ascending.\n"
        f"pub static CODES: [Code; {len(codes)}] = [\n" + "".join(map(row, codes)) + "];\n"
    )


rust()
