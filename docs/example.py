#!/usr/bin/env python3
"""Fails where the check that CONTRIBUTING.md adds as an example does not fit today's files: `example.py`.

Its new files have to be those of builtin-plugins/shared/examples/entropy, which are compiled and tested. Each hunk has to
fit one place of the file that it changes. And every file that names nearly all built-in components is a list: the section
has to name it. `example.py --patch` prints the example as a patch for `git apply`, `example.py --update` writes its new files
to the folder where they are compiled.
"""

import json
import re
import sys
from difflib import unified_diff

import words

ROOT = words.ROOT
PAGE = "CONTRIBUTING.md"
FOLDER = "builtin-plugins/entropy/"
COMPILED = ROOT / "builtin-plugins/shared/examples/entropy"
SECTION = re.compile(r"^## Add a built-in check\n(.*?)^## Add a capability$", re.MULTILINE | re.DOTALL)
NEW_FILE = re.compile(r"^`([\w./-]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGED_FILE = re.compile(r"^--- a/(\S+)\n\+\+\+ b/\1\n", re.MULTILINE)
# The part of the built-in components that a file names if it is a list of them.
MOST = 0.7


def read(path: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def apply(path: str, hunks: str, problems: list[str]) -> tuple[str, str]:
    """A file before and after its hunks; a hunk that does not fit one place is left out and noted."""
    before = after = read(path) if (ROOT / path).is_file() else ""
    if not before:
        problems.append(f"{path}: does not exist")
    for hunk in re.split(r"^@@\n", hunks, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        places = f"\n{after}".count(f"\n{old}")
        if places == 1:
            after = f"\n{after}".replace(f"\n{old}", f"\n{new}")[1:]
        else:
            problems.append(f"{path}: a hunk fits {places} places: {lines[0][1:].strip()}")
    return before, after


def changes(section: str, problems: list[str]) -> dict[str, tuple[str, str]]:
    """Each file of the example, before and after it."""
    files = {path: ("", text) for path, text in NEW_FILE.findall(section)}
    for diff in DIFF.findall(section):
        parts = CHANGED_FILE.split(diff)[1:]
        for path, hunks in zip(parts[::2], parts[1::2], strict=True):
            files[path] = apply(path, hunks, problems)
    return files


def compiled(files: dict[str, tuple[str, str]]) -> list[str]:
    """What differs between the example's code and the code that is compiled."""
    names = {path.relative_to(COMPILED).as_posix() for path in COMPILED.rglob("*") if path.is_file()}
    shown = {path.removeprefix(FOLDER) for path in files if path.startswith(FOLDER)} - {"Cargo.toml"}
    problems = [f"{COMPILED.relative_to(ROOT)}/{name}: only one of them has it" for name in sorted(names ^ shown)]
    different = [name for name in sorted(names & shown) if (COMPILED / name).read_text("utf-8") != files[FOLDER + name][1]]
    return problems + [f"{COMPILED.relative_to(ROOT)}/{name}: is not what the page shows" for name in different]


def lists(section: str) -> list[str]:
    """The files that name nearly all built-in components, and that the section does not name."""
    manifests = [json.loads(path.read_text("utf-8")) for path in ROOT.glob("builtin-plugins/*/manifest.json")]
    components = {manifest["component"] for manifest in manifests}
    problems = []
    for path in words.listed():
        try:
            found = components.intersection(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", read(path)))
        except UnicodeDecodeError:
            continue
        if len(found) > MOST * len(components) and f"`{path}`" not in section:
            problems.append(f"{path}: names {len(found)} of {len(components)} built-in components")
    return problems


def main() -> None:
    section = SECTION.search(read(PAGE))
    if not section:
        sys.exit(f"{PAGE} has no section on a built-in check")
    problems: list[str] = []
    files = changes(section[1], problems)
    if sys.argv[1:] == ["--update"]:
        for path, (_, text) in files.items():
            if path.startswith(FOLDER) and path != f"{FOLDER}Cargo.toml":
                (COMPILED / path.removeprefix(FOLDER)).write_text(text, encoding="utf-8")
    problems += compiled(files) + lists(section[1])
    for problem in problems:
        print(f"{PAGE}, the example of a check: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    if sys.argv[1:] == ["--patch"]:
        for path, (before, after) in files.items():
            is_new = not before
            print(f"diff --git a/{path} b/{path}")
            if is_new:
                print("new file mode 100644")
            old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
            sys.stdout.writelines(unified_diff(old, new, "/dev/null" if is_new else f"a/{path}", f"b/{path}"))


if __name__ == "__main__":
    main()
