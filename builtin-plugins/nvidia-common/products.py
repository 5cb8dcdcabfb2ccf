#!/usr/bin/env python3
"""Makes src/products.rs here and in ../infiniband from catalog/products.json.

    python3 builtin-plugins/nvidia-common/products.py [--check]

The file is the source: edit it, raise its `version`, run this, run the tests of both crates, which hold the constants and
the examples against it. With --check nothing is written, and the exit status is 1 if something would be.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
HEAD = "//! The table of products as constants. Made by `builtin-plugins/nvidia-common/products.py`; do not edit.\n"


def array(about, name, words):
    items = ", ".join(f'"{word}"' for word in words)
    return f"/// {about}\npub const {name}: [&str; {len(words)}] = [{items}];\n"


def common(data):
    models = data["models"]

    def of(key, value):
        return [model["model"] for model in models if model[key] == value]

    return "\n".join([
        HEAD,
        array("Contain errors, take pages out of use and remap rows.", "ALL_THREE", of("memory_errors", "all")),
        array("Remap rows only.", "ROWS_ONLY", of("memory_errors", "rows")),
        array("Have NVLink switches, and their manager, on the same node.", "SWITCHED", of("fabric_manager", True)),
        array("Know their state in an NVLink fabric.", "FABRIC", of("fabric_state", True)),
        array("Words of cards for PCIe slots.", "SLOT_WORDS", data["slots"]["words"]),
        array("Models for PCIe slots.", "SLOT_MODELS", data["slots"]["models"]),
        array("Ends of names of products that share the host's memory.", "UNIFIED", data["unified_memory"]),
    ])


def infiniband(data):
    rows = [
        f'    ("{model["model"].upper()}", {model["infiniband"]["ports"]}, {model["infiniband"]["rate"]}),\n'
        for model in data["models"]
        if model["infiniband"]
    ]
    return "\n".join([
        HEAD,
        "/// Word of the product's name, ports, Gbit/s.\n"
        f"pub const DEFAULTS: [(&str, u64, u64); {len(rows)}] = [\n{''.join(rows)}];\n",
        array("Words of cards that are sold alone.", "CARDS", [word.upper() for word in data["sold_alone"]["words"]]),
    ])


def main():
    check = sys.argv[1:] == ["--check"]
    data = json.loads((HERE / "catalog" / "products.json").read_text())
    stale = []
    for folder, made in [(HERE, common(data)), (HERE.parent / "infiniband", infiniband(data))]:
        target = folder / "src" / "products.rs"
        if not target.exists() or target.read_text() != made:
            stale.append(target)
            if not check:
                target.write_text(made)
    for target in stale:
        print(target.relative_to(HERE.parent.parent), "is stale" if check else "written")
    return 1 if check and stale else 0


sys.exit(main())
