#!/usr/bin/env python3
"""Makes src/catalog_data.rs and docs/components/xid-catalogues.md from catalog/xid.json.

    python3 builtin-plugins/xid/catalog/generate.py

xid.json is the source: edit it, raise its `version`, run this, run the tests (they hold every entry of both files
against each other, and the entries against one another). `sources` says where its facts are from, and each entry names
its own; `schema` is that of this file, known to this script and the tests.
Its fields: `mnemonic` (GPUd's name, null if none is known), `label` (short text), `type` (event type), `actions`
(repair actions, most important first), `gpud` (GPUd's verdict where the vendor's is the default; null where GPUd does
not know the code). `vendor`: NVIDIA's view, with its action at once, what it looks at next, the products, and what the
code `means` where GPUd's label is an old one; `vendor_unused` are codes that present products do not use. NVLink (codes 144-150): `rules` in the order in which they are tried, with the
unit names they accept in normalised form, the error status, the two generations of bit patterns of the log's first word
and what follows (`vendor`: NVIDIA's own action); `statuses` and `sub_codes` are what is known of a (code, sub-code[, status]) without its unit.
"""
import json
import pathlib

HERE = pathlib.Path(__file__).parent
DATA = HERE / "xid.json"
RUST = HERE.parent / "src" / "catalog_data.rs"
PAGE = HERE.parents[2] / "docs" / "components" / "xid-catalogues.md"
ACTIONS = {
    "IGNORE_NO_ACTION_REQUIRED": "Ignore",
    "REBOOT_SYSTEM": "Reboot",
    "HARDWARE_INSPECTION": "Inspect",
    "CHECK_USER_APP_AND_GPU": "CheckApp",
}
# VendorAction of builtin-plugins/shared: variant, and its verdict.
VENDOR = {
    "IGNORE": ("Ignore", ("Info", "IGNORE_NO_ACTION_REQUIRED")),
    "RESTART_APP": ("RestartApp", ("Warning", "CHECK_USER_APP_AND_GPU")),
    "RESET_GPU": ("ResetGpu", ("Fatal", "REBOOT_SYSTEM")),
    "RESET_ALL_GPUS_AND_SWITCHES": ("ResetAll", ("Fatal", "REBOOT_SYSTEM")),
    "RESET_BY_SCOPE": ("ResetByScope", ("Fatal", "REBOOT_SYSTEM")),
    "RESTART_BM": ("RestartHost", ("Fatal", "REBOOT_SYSTEM")),
    "RESTART_VM": ("RestartVm", ("Fatal", "REBOOT_SYSTEM")),
    "UPDATE_SWFW": ("UpdateSoftware", ("Warning", "CHECK_USER_APP_AND_GPU")),
    "CHECK_MECHANICALS": ("CheckMechanicals", ("Critical", "HARDWARE_INSPECTION")),
    "CHECK_UVM": ("CheckUvm", ("Fatal", "REBOOT_SYSTEM")),
    "CONTACT_SUPPORT": ("ContactSupport", ("Critical", "HARDWARE_INSPECTION")),
    "WORKFLOW_XID_45": ("Workflow45", None),
    "WORKFLOW_XID_48": ("Workflow48", ("Fatal", "REBOOT_SYSTEM")),
    "WORKFLOW_NVLINK_ERR": ("WorkflowNvlink", None),
    "WORKFLOW_NVLINK5_ERR": ("WorkflowNvlink5", None),
    "XID_154": ("Xid154", ("Warning", None)),
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

    def vendor(word):
        return f"VendorAction::{VENDOR[word][0]}"

    def vendor_option(word):
        return "None" if word is None else f"Some({vendor(word)})"

    nvlink = data["nvlink"]
    parts = [
        "//! The catalogue as constants. Made by `catalog/generate.py` from `catalog/xid.json`; do not edit.\n",
        "use crate::catalog::Action::{CheckApp, Ignore, Inspect, Reboot};\n"
        "use crate::catalog::Severity::{Critical, Fatal, Info, Warning};\n"
        "use crate::catalog::{Bits, Code, Entry, Rule, StatusEntry, SubCodeEntry, Vendor, VendorAction};\n",
        f"/// Version of the catalogue.\npub const VERSION: u32 = {data['version']};\n",
        table("CODES", "Code", "Codes, ascending.", [
            f"Code {{ code: {c['code']}, mnemonic: {option(c['mnemonic'])}, entry: {entry(c)} }}" for c in data["codes"]
        ]),
        table("MNEMONICS", "(u32, &str)", "Mnemonics of codes without an entry.", [
            f"({c['code']}, {text(c['mnemonic'])})" for c in data["mnemonics"]
        ]),
        table("GPUD", "(u32, &str)", "GPUd's verdict in words of codes whose default is another.", [
            f"({c['code']}, {text(gpud_verdict(c))})" for c in data["codes"] if "gpud" in c
        ]),
        table("VENDOR", "Vendor", "NVIDIA's view of the codes that it lists, ascending.", [
            f"Vendor {{ code: {v['code']}, mnemonic: {text(v['mnemonic'])}, means: {text(v.get('means', ''))}, "
            f"immediate: {vendor_option(v['immediate'])}, investigate: {text(v['investigate'])} }}"
            for v in data["vendor"]
        ]),
        table("RULES", "Rule", "NVLink rules, in the order in which they are tried.", [
            f"Rule {{ xid: {r['xid']}, units: &[{', '.join(text(u) for u in r['units'])}], "
            f"status: {hexadecimal(r['status'])}, v1: {bits(r['v1'])}, v2: {bits(r['v2'])}, "
            f"severity: {r['type']}, action: {actions([r['action']])}, vendor: {vendor(r['vendor'])}, hint: {text(r['hint'])} }}"
            for r in nvlink["rules"]
        ]),
        table("SUB_CODES", "SubCodeEntry", "The facts of a code's sub-code.", [
            f"SubCodeEntry {{ xid: {e['xid']}, sub_code: {e['sub_code']}, entry: {entry(e)} }}"
            for e in nvlink["sub_codes"]
        ]),
        table("STATUSES", "StatusEntry", "The facts of a code's sub-code and error status.", [
            f"StatusEntry {{ xid: {e['xid']}, sub_code: {e['sub_code']}, status: {hexadecimal(e['status'])}, "
            f"entry: {entry(e)} }}"
            for e in nvlink["statuses"]
        ]),
    ]
    RUST.write_text("\n".join(parts))


def gpud_verdict(code):
    """GPUd's verdict of a code whose default is another."""
    gpud = code["gpud"]
    return f"{gpud['type']}, {(gpud['actions'] or ['no action'])[0]}" if gpud else "not listed"


def differences(codes, vendor):
    """Rows (code, name, default, NVIDIA's action, verdict by it) of the codes whose verdicts differ."""

    def level(severity):
        return {"Critical": 1, "Fatal": 2}.get(severity, 0)

    for c in codes:
        v = vendor.get(c["code"])
        verdict = v and v["immediate"] and VENDOR[v["immediate"]][1]
        if not verdict:
            continue
        first = (c["actions"] or [None])[0]
        if level(c["type"]) != level(verdict[0]) or first != verdict[1]:
            yield (
                c["code"],
                v["mnemonic"],
                f"{c['type']}, {first or 'no action'}",
                v["immediate"],
                f"{verdict[0]}, {verdict[1] or 'no action'}",
            )


def table_of(rows, heading):
    lines = [heading, "|---|---|---|---|---|"]
    lines += [f"| {code} | {name} | {default} | `{word}` | {nvidia} |" for code, name, default, word, nvidia in rows]
    return "\n".join(lines)


def page():
    data = json.loads(DATA.read_text())
    switch = json.loads((HERE.parents[1] / "sxid" / "catalog" / "sxid.json").read_text())
    # A code with a name and no entry is stored as a warning.
    named = [{"code": m["code"], "type": "Warning", "actions": []} for m in data["mnemonics"]]
    codes = sorted(data["codes"] + named, key=lambda c: c["code"])
    xids = differences(codes, {v["code"]: v for v in data["vendor"]})
    changed = [c for c in data["codes"] if "gpud" in c]

    sxids = differences(
        switch["codes"],
        {c["code"]: {"mnemonic": c["name"], "immediate": c["vendor"]} for c in switch["codes"]},
    )
    heading = "| code | name | `gpud` (default) | NVIDIA's action | `nvidia` |"
    PAGE.write_text(
        "# Where GPUd's and NVIDIA's verdicts differ\n\n"
        "Made by `builtin-plugins/xid/catalog/generate.py`; a test compares it with the catalogue. Do not edit.\n\n"
        "`--xid-catalog nvidia` (or the key `xid_catalog: nvidia` of a component's configuration) judges all codes by "
        "NVIDIA's action. The default is `gpud`. How each action is mapped: "
        "[accelerator-nvidia-error-xid](accelerator-nvidia-error-xid.md#catalogues).\n\n"
        f"Sources: {data['sources']['gpud']}; {data['sources']['nvidia-610']}; {switch['sources']['fabric-manager-guide']}.\n\n"
        "A code is listed when its health or its first action differs. Codes for which NVIDIA names no action, or decides by "
        "further evidence, have the same verdict in both.\n\n"
        f"## Xid\n\n{table_of(xids, heading)}\n\n"
        "## Xids whose default is not GPUd's\n\nGPUd is silent or weak here, so the default follows NVIDIA or the "
        "driver.\n\n| code | GPUd | default | source |\n|---|---|---|---|\n"
        + "".join(
            f"| {c['code']} | {gpud_verdict(c)} | {c['type']}, {(c['actions'] or ['no action'])[0]} | {c['source']} |\n"
            for c in changed
        )
        + f"\n## SXid\n\n{table_of(sxids, heading)}\n"
    )


rust()
page()
