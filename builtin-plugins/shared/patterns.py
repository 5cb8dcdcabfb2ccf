#!/usr/bin/env python3
"""Makes src/patterns.rs of each checker that has a catalog/patterns.json.

    python3 builtin-plugins/shared/patterns.py [--check]

The file is the source: edit it, raise its `version`, run this, run the checker's tests. Its format is described in
src/patterns.rs beside this script. With --check nothing is written, and the exit status is 1 if something would be.
"""
import json
import pathlib
import sys

BUILTINS = pathlib.Path(__file__).parent.parent
ACTIONS = {
    "IGNORE_NO_ACTION_REQUIRED": "Ignore",
    "REBOOT_SYSTEM": "Reboot",
    "HARDWARE_INSPECTION": "Inspect",
    "CHECK_USER_APP_AND_GPU": "CheckApp",
}
HEALTH = {"Degraded": "false", "Unhealthy": "true"}


def text(value):
    """A Rust string: raw where it has what would be escaped."""
    if '"' in value or "\\" in value:
        marks = "#" * (1 if '"#' not in value else 2)
        if '"' not in value:
            marks = ""
        return f'r{marks}"{value}"{marks}'
    return f'"{value}"'


def texts(values):
    return "&[" + ", ".join(map(text, values)) + "]"


def number(value):
    return f"{value:_}"


def constant(name):
    return "".join(c if c.isalnum() else "_" for c in name).upper()


def verdict(given):
    if given is None:
        return "None"
    return (
        f"Some(EventVerdict {{ unhealthy: {HEALTH[given['health']]}, at_least: {number(given['at_least'])}, "
        f"window_seconds: {number(given['window_seconds'])}, "
        f"reboot_clears: {str(given['reboot_clears']).lower()}, ended_by: {texts(given.get('ended_by', []))} }})"
    )


def entry(e):
    otherwise = e.get("otherwise", {})
    other = f"Some({otherwise['type']})" if "type" in otherwise else "None"
    actions = ", ".join(ACTIONS[word] for word in e["actions"])
    return (
        f"/// {e['means']}\n"
        f"pub const {constant(e['name'])}: Entry = Entry {{\n"
        f"    name: {text(e['name'])},\n"
        f"    severity: {e['type']},\n"
        f"    otherwise: {other},\n"
        f"    message: {text(e['message'])},\n"
        f"    other_message: {text(otherwise.get('message', ''))},\n"
        f"    actions: &[{actions}],\n"
        f"    advice: {text(e['advice'])},\n"
        f"    verdict: {verdict(e['verdict'])},\n"
        "};\n"
    )


def several(names):
    first, *more = sorted(names)
    return f"{{{', '.join([first, *more])}}}" if more else first


def imports(entries):
    types = {e["type"] for e in entries} | {
        e["otherwise"]["type"] for e in entries if "type" in e.get("otherwise", {})
    }
    actions = {ACTIONS[word] for e in entries for word in e["actions"]}
    verdicts = ", EventVerdict" if any(e["verdict"] for e in entries) else ""
    lines = []
    if actions:
        lines.append(f"use gpud_sdk::catalog::Action::{several(actions)};")
    lines.append(f"use gpud_sdk::catalog::Severity::{several(types)};")
    lines.append(f"use gpud_sdk::catalog::{{Catalog, Entry{verdicts}}};")
    return "\n".join(lines) + "\n"


def rust(data):
    patterns, entries = data["patterns"], data["entries"]
    parts = [
        "//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.\n",
        imports(entries),
        f"/// Version of the catalogue.\npub const VERSION: u32 = {data['version']};\n",
        "/// The patterns of the lines that the host delivers: no narrower than the parser.\n"
        f"pub const PATTERNS: [&str; {len(patterns)}] = [\n"
        + "".join(f"    {text(p['pattern'])},\n" for p in patterns)
        + "];\n",
        *map(entry, entries),
        "/// All of it.\n"
        "pub static CATALOG: Catalog = Catalog {\n"
        "    version: VERSION,\n"
        f"    device: {text(data.get('device', 'device'))},\n"
        "    patterns: &PATTERNS,\n"
        f"    entries: &[{', '.join('&' + constant(e['name']) for e in entries)}],\n"
        "};\n",
    ]
    return "\n".join(parts)


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for file in sorted(BUILTINS.glob("*/catalog/patterns.json")):
        made = rust(json.loads(file.read_text()))
        target = file.parent.parent / "src" / "patterns.rs"
        if not target.exists() or target.read_text() != made:
            stale.append(target)
            if not check:
                target.write_text(made)
    for target in stale:
        print(target.relative_to(BUILTINS.parent), "is stale" if check else "written")
    return 1 if check and stale else 0


sys.exit(main())
