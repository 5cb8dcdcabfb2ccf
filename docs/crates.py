#!/usr/bin/env python3
"""Fails where the table of crates in ARCHITECTURE.md is not what the manifests in host/ say.

`crates.py --lines` prints the table's crates with their lines of Rust instead, tests included.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / "host"
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
ROW = re.compile(r"^\| `([a-z-]+)` \| .* \| ?(.*?) ?\|$", re.MULTILINE)


def manifests() -> dict[str, tuple[Path, set[str]]]:
    """Each crate of the host by its short name: its folder, and the crates of the host that it is built from."""
    paths = [HOST / "Cargo.toml", *sorted(HOST.glob("*/Cargo.toml"))]
    loaded = {path.parent: tomllib.loads(path.read_text("utf-8")) for path in paths}
    names = {manifest["package"]["name"]: folder for folder, manifest in loaded.items()}
    found = {}
    for folder, manifest in loaded.items():
        needed = {short(name) for name in manifest.get("dependencies", {}) if name in names}
        found[short(manifest["package"]["name"])] = (folder, needed)
    return found


def short(name: str) -> str:
    """The name without the prefix that all crates of the host but the top one have."""
    return name.removeprefix("gpud-")


def lines(folder: Path) -> int:
    """The lines of Rust in a crate's `src/`."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in (folder / "src").glob("**/*.rs"))


def table() -> dict[str, set[str]]:
    """The rows of the page's table: what each crate depends on."""
    _, section = PAGE.read_text("utf-8").split("<!-- crates -->\n", 1)
    section = section.split("\n\n", 1)[0]
    return {found[1]: set(re.findall(r"`([a-z-]+)`", found[2])) for found in ROW.finditer(section)}


def main() -> None:
    crates = manifests()
    if sys.argv[1:] == ["--lines"]:
        for name, (folder, _) in crates.items():
            print(f"{lines(folder):7} {name}")
        return
    listed = table()
    problems = [f"`{name}` has no row, or no crate" for name in sorted(crates.keys() ^ listed.keys())]
    for name in sorted(crates.keys() & listed.keys()):
        _, needed = crates[name]
        problems += [f"`{name}` depends on `{other}`, which the table lacks" for other in sorted(needed - listed[name])]
        problems += [f"`{name}` does not depend on `{other}` any more" for other in sorted(listed[name] - needed)]
    if problems:
        sys.exit("\n".join(f"{PAGE.relative_to(ROOT)}: {problem}" for problem in problems))


if __name__ == "__main__":
    main()
