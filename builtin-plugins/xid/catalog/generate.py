#!/usr/bin/env python3
"""Makes src/catalog_data.rs from catalog/xid.json.

    python3 builtin-plugins/xid/catalog/generate.py

xid.json is the source: edit it, raise its `version`, run this, run the tests (they hold every entry of both files
against each other, and the entries against one another). `sources` says where its facts are from; `schema` is that of
this file, known to this script and the tests.
Its fields: `mnemonic` (NVIDIA's name, null if none is known), `label` (short text), `type` (event type), `actions`
(repair actions, most important first). NVLink (codes 144-150): `rules` in the order in which they are tried, with the
unit names they accept in normalised form, the error status, the two generations of bit patterns of the log's first word
and what follows; `statuses` and `sub_codes` are what is known of a (code, sub-code[, status]) without its unit.
"""
import json
import pathlib

HERE = pathlib.Path(__file__).parent
DATA = HERE / "xid.json"
RUST = HERE.parent / "src" / "catalog_data.rs"
ACTIONS = {
    "IGNORE_NO_ACTION_REQUIRED": "Ignore",
    "REBOOT_SYSTEM": "Reboot",
    "HARDWARE_INSPECTION": "Inspect",
    "CHECK_USER_APP_AND_GPU": "CheckApp",
}


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
        f"/// Version of the catalogue.\npub const VERSION: u32 = {data['version']};\n",
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


rust()
