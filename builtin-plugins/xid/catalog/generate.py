#!/usr/bin/env python3
"""Makes src/catalog_data.rs from catalog/xid.json.

    generate.py                      xid.json -> ../src/catalog_data.rs
    generate.py import FACTS.json    FACTS.json -> xid.json first (done once; FACTS is the table of public facts that
                                     the project was started from)

xid.json is the source: edit it, run this, run the tests (one compares both files).
Its fields: `mnemonic` (NVIDIA's name, null if none is known), `label` (short text), `type` (event type), `actions`
(repair actions, most important first). NVLink (codes 144-150): `rules` in the order in which they are tried, with the
unit names they accept in normalised form, the error status, the two generations of bit patterns of the log's first word
and what follows; `statuses` and `sub_codes` are what is known of a (code, sub-code[, status]) without its unit.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
DATA = HERE / "xid.json"
RUST = HERE.parent / "src" / "catalog_data.rs"
ACTIONS = {
    "IGNORE_NO_ACTION_REQUIRED": "Ignore",
    "REBOOT_SYSTEM": "Reboot",
    "HARDWARE_INSPECTION": "Inspect",
    "CHECK_USER_APP_AND_GPU": "CheckApp",
}


def normalised(unit):
    return re.sub(r"[^A-Z0-9_]", "", unit.upper().replace("-", "_"))


def import_facts(path):
    facts = json.loads(pathlib.Path(path).read_text())

    def entry(fact):
        return {"label": fact["label"] or "", "type": fact["event_type"], "actions": fact["repair_actions"] or []}

    def place(fact):
        return {"xid": fact["xid"], "sub_code": fact["sub_code"]}

    def bits(pattern):
        return {"mask": pattern["mask"], "value": pattern["value"]}

    nvlink = facts["nvlink"]
    data = {
        "schema": 1,
        "codes": [{"code": c["code"], "mnemonic": c["name"], **entry(c)} for c in facts["codes"]],
        # Named by NVIDIA, but without an entry.
        "mnemonics": [{"code": c["code"], "mnemonic": c["name"]} for c in facts["names_not_in_detail_table"]],
        "nvlink": {
            "rules": [
                {
                    "xid": r["xid"],
                    "units": list(dict.fromkeys(normalised(u) for u in r["units_accepted"])),
                    "status": r["error_status"],
                    "v1": bits(r["intrinfo_v1"]),
                    "v2": bits(r["intrinfo_v2"]),
                    "type": r["event_type"],
                    "action": r["repair_actions"][0],
                    "hint": r["hint"] or "",
                }
                for r in nvlink["rules_in_match_order"]
            ],
            "sub_codes": [{**place(e), **entry(e)} for e in nvlink["by_sub_code"]],
            "statuses": [
                {**place(e), "status": e["error_status"], **entry(e)} for e in nvlink["by_sub_code_and_status"]
            ],
        },
    }
    lists = {}

    def line(value):
        lists[f"@{len(lists)}@"] = ",\n".join("  " + json.dumps(v) for v in value)
        return [f"@{len(lists) - 1}@"]

    data["codes"] = line(data["codes"])
    data["mnemonics"] = line(data["mnemonics"])
    for key in data["nvlink"]:
        data["nvlink"][key] = line(data["nvlink"][key])
    text = json.dumps(data, indent=1)
    for mark, lines in lists.items():
        text = re.sub(r"\n *\"" + mark + r"\"\n *", lambda _: "\n" + lines + "\n ", text)
    DATA.write_text(text + "\n")


def rust():
    data = json.loads(DATA.read_text())

    def text(value):
        return json.dumps(value, ensure_ascii=False)

    def actions(words):
        return "&[" + ", ".join(ACTIONS[w] for w in words) + "]"

    def entry(e):
        return f"Entry {{ label: {text(e['label'])}, severity: {e['type']}, actions: {actions(e['actions'])} }}"

    def hexadecimal(word):
        return f"0x{int(word, 16):08x}"

    def bits(b):
        return f"Bits {{ mask: {hexadecimal(b['mask'])}, value: {hexadecimal(b['value'])} }}"

    def table(name, kind, doc, rows):
        return f"/// {doc}\npub static {name}: [{kind}; {len(rows)}] = [\n" + "".join(f"    {r},\n" for r in rows) + "];\n"

    def option(value):
        return "None" if value is None else f"Some({text(value)})"

    nvlink = data["nvlink"]
    parts = [
        "//! The catalogue as constants. Made by `catalog/generate.py` from `catalog/xid.json`; do not edit.\n",
        "use crate::catalog::Action::{CheckApp, Ignore, Inspect, Reboot};\n"
        "use crate::catalog::Severity::{Fatal, Info, Warning};\n"
        "use crate::catalog::{Bits, Code, Entry, Rule, StatusEntry, SubCodeEntry};\n",
        table("CODES", "Code", "Codes, ascending.", [
            f"Code {{ code: {c['code']}, mnemonic: {option(c['mnemonic'])}, entry: {entry(c)} }}" for c in data["codes"]
        ]),
        table("MNEMONICS", "(u32, &str)", "Mnemonics of codes without an entry.", [
            f"({c['code']}, {text(c['mnemonic'])})" for c in data["mnemonics"]
        ]),
        table("RULES", "Rule", "NVLink rules, in the order in which they are tried.", [
            f"Rule {{ xid: {r['xid']}, units: &[{', '.join(text(u) for u in r['units'])}], "
            f"status: {hexadecimal(r['status'])}, v1: {bits(r['v1'])}, v2: {bits(r['v2'])}, "
            f"severity: {r['type']}, action: {actions([r['action']])}, hint: {text(r['hint'])} }}"
            for r in nvlink["rules"]
        ]),
        table("SUB_CODES", "SubCodeEntry", "What is known of a code's sub-code.", [
            f"SubCodeEntry {{ xid: {e['xid']}, sub_code: {e['sub_code']}, entry: {entry(e)} }}"
            for e in nvlink["sub_codes"]
        ]),
        table("STATUSES", "StatusEntry", "What is known of a code's sub-code and error status.", [
            f"StatusEntry {{ xid: {e['xid']}, sub_code: {e['sub_code']}, status: {hexadecimal(e['status'])}, "
            f"entry: {entry(e)} }}"
            for e in nvlink["statuses"]
        ]),
    ]
    RUST.write_text("\n".join(parts))


if sys.argv[1:2] == ["import"]:
    import_facts(sys.argv[2])
rust()
