#!/usr/bin/env python3
"""Fails where two types of one crate have the same name: `names.py`.

A reader who searches for a type should find one definition. Each test, bench and example is a crate of its own. The
list below has the names that a convention repeats on purpose.
"""

import re
import sys
from collections import defaultdict

import words

# Names that a module repeats by design: each kind of export has its `Settings`, each part of the daemon its `Options`.
CONVENTIONS = {"host/exports": {"Settings"}, "host": {"Options"}, "xtask": {"Options"}}

# What a generator made.
GENERATED = "sdk/rust/src/bindings/"

TYPE = re.compile(r"^([ \t]*)(?:pub(?:\([^)]*\))? +)?(?:unsafe +)?(struct|enum|trait|union|type) +([A-Z]\w*)", re.MULTILINE)


def crate(name: str, roots: list[str]) -> str | None:
    """The crate of a source file: its folder, or the file of a test, bench or example that is compiled by itself."""
    root = next((root for root in roots if name.startswith(f"{root}/")), None)
    if root is None:
        return None
    folder, *rest = name.removeprefix(f"{root}/").split("/")
    return f"{root}/{folder}/{rest[0]}" if folder in ("tests", "benches", "examples", "fuzz_targets") and rest else root


def types(text: str) -> list[str]:
    """The types that a source file defines, without those of comments and strings, and without associated types."""
    code = words.RUST.sub(lambda token: " " * len(token[0]), text)
    return [name for indent, kind, name in TYPE.findall(code) if kind != "type" or not indent]


def known(root: str, name: str) -> bool:
    """Whether a convention repeats this name."""
    return any(name in names and f"{root}/".startswith(f"{folder}/") for folder, names in CONVENTIONS.items())


def main() -> None:
    tracked = words.listed()
    roots = [name.removesuffix("/Cargo.toml") for name in tracked if name.endswith("/Cargo.toml")]
    roots.sort(key=len, reverse=True)
    defined: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file in tracked:
        if file.endswith(".rs") and not file.startswith(GENERATED) and (root := crate(file, roots)):
            for name in types((words.ROOT / file).read_text(encoding="utf-8")):
                defined[root, name].append(file)
    problems = 0
    for (root, name), files in sorted(defined.items()):
        if len(files) > 1 and not known(root, name):
            print(f"{root}: {len(files)} types are called `{name}`: {', '.join(sorted({*files}))}", file=sys.stderr)
            problems += 1
    if problems:
        sys.exit(f"{problems} name(s) with several types: name each after what it holds, such as `SocketPath`")


if __name__ == "__main__":
    main()
