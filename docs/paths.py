#!/usr/bin/env python3
"""Fails where a page or a comment names a file that does not exist: `paths.py`, or `paths.py FILE…`.

In Markdown it checks relative links with their anchors, paths in backticks that begin with a folder of the repository's
root, and the short forms of Rust files (`component/wasm.rs` is `host/component/src/wasm.rs`). In other files it checks
the short forms in comments, and paths that begin with `host/`, `docs/` or `xtask/`. Decisions and the changelog are
history and are skipped. It also fails where a page of docs/ is missing in docs/SUMMARY.md, or stands there twice, and
where the table of attacks and their tests names a test that does not exist.
"""

import re
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import words

ROOT = words.ROOT

# History, what other projects wrote, and texts that are data.
SKIPPED = [
    "CHANGELOG.md",
    "docs/decisions/[0-9]*",
    "host/page/node_modules/*",
    "fuzz/corpus/*",
    "tests/kernel-logs/cases/*",
    "*/golden/*",
    "*/snapshots/*",
    "*/testdata/*",
]
# Files of examples and of other projects, by the file that names them: a path that begins so need not exist.
MADE_UP = {
    "CONTRIBUTING.md": ("builtin-plugins/entropy", "docs/components/entropy.md"),
    "builtin-plugins/containerd/src/toml.rs": ("docs/cri/", "docs/man/"),
    "docs/internals/store.md": ("from-GPUd/", "plugin-versions/", "cache/"),
    "docs/words.py": ("docs/page.md",),
}
# Pages where a name that ends with `/` is a folder of the repository, in full or in the short form.
ABOUT_CODE = ["docs/ARCHITECTURE.md", "docs/internals/*.md"]
# What `cargo xtask` and tests write, and Git ignores.
BUILT = ("target/", "host/page/node_modules")

LINK = re.compile(r"\]\(<?([^()\s<>]+(?:\([^()\s]*\))?[^()\s<>]*)>?(?:\s+\"[^\"]*\")?\)")
INLINE = re.compile(r"(`+)(.+?)\1")
NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?(?:#[\w-]+)?")
PLACEHOLDER = re.compile(r"(^|/)[A-Z]{4,}(_args|_1)?(\.[A-Za-z]+)*(/|$)")
RUST_FILE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.rs)`")
IN_COMMENT = re.compile(r"(?<![\w./-])(?:host|docs|xtask)/[\w./-]*[\w/]")
HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
# The page and the heading of the table of attacks, and a test's name in it: its last part has four words or more.
ATTACKS = ("docs/security.md", "## Attacks and their tests")
TEST = re.compile(r"(?:\w+::)*([a-z0-9]+(?:_[a-z0-9]+){3,})")
RUST_TEST = re.compile(r"#\[(?:tokio::)?test[^\n]*\n(?:\s*#\[[^\n]*\n)*\s*(?:async )?fn (\w+)|^\s*fn (\w+)\([^()]* in ", re.M)


def short(path: str) -> str:
    """The short form of a file of the host's crates: without `host/` and `src/`."""
    parts = path.split("/")
    if parts[0] == "host" and "src" in parts[1:3]:
        del parts[parts.index("src")]
        parts = parts[1:]
    return "/".join(parts)


class Repository:
    """The tracked files and their folders, by full path and by every ending of it."""

    def __init__(self, files: list[str]) -> None:
        self.files = set(files)
        self.folders = {str(folder) for file in files for folder in PurePosixPath(file).parents}
        self.tops = {file.split("/")[0] for file in files if "/" in file}
        self.endings: set[str] = set()
        for path in self.files | self.folders:
            for form in (path, short(path)):
                parts = form.split("/")
                self.endings.update("/".join(parts[at:]) for at in range(len(parts)))

    def has(self, path: str) -> bool:
        """Whether a path from the root is a tracked file or a folder with tracked files."""
        path = normal(path)
        return path in self.files or path in self.folders

    def has_short(self, path: str) -> bool:
        """Whether some path ends so, in full or in the short form. A crate's folder may be written with underscores."""
        path = path.rstrip("/")
        first, _, rest = path.partition("/")
        return path in self.endings or f"{first.replace('_', '-')}/{rest}".rstrip("/") in self.endings


def normal(path: str) -> str:
    """The path without `.` and `..`; one that leaves the repository begins with `..`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


def prose(text: str) -> list[tuple[int, str]]:
    """The lines of a Markdown page outside of fences, with their numbers."""
    lines, fence = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if mark := words.FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence:
            lines.append((number, line))
    return lines


@cache
def anchors(name: str) -> frozenset[str]:
    """The anchors that a page's headings get, as GitHub makes them."""
    found: set[str] = set()
    for _, line in prose((ROOT / name).read_text(encoding="utf-8")):
        found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
        if heading := HEADING.match(line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2]).replace("`", "").lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            one, number = slug, 0
            while one in found:
                number += 1
                one = f"{slug}-{number}"
            found.add(one)
    return frozenset(found)


def missing_anchor(path: str, anchor: str) -> bool:
    """Whether a page has no heading for an anchor; other files than pages are not looked at."""
    return path.endswith(".md") and unquote(anchor).lower() not in anchors(path)


def page(name: str, text: str, repository: Repository) -> list[str]:
    """What is wrong in one Markdown page."""
    folder = name.rpartition("/")[0]
    about_code = any(fnmatch(name, pattern) for pattern in ABOUT_CODE)
    problems = []
    for number, line in prose(text):
        for link in LINK.findall(INLINE.sub("", line.replace("[`", "[").replace("`]", "]"))):
            if re.match(r"[a-z][a-z0-9+.-]*:", link) or "{{" in link:
                continue
            target, _, anchor = link.partition("#")
            path = normal(f"{folder}/{unquote(target)}") if target else name
            if not repository.has(path) and not is_made_up(name, path):
                problems.append(f"{name}:{number}: the link `{link}` leads to no file")
            elif anchor and path in repository.files and missing_anchor(path, anchor):
                problems.append(f"{name}:{number}: `{path}` has no heading for the link `{link}`")
        for _, code in INLINE.findall(line):
            if problem := named(name, folder, code, about_code, repository):
                problems.append(f"{name}:{number}: {problem}")
    return problems


def named(name: str, folder: str, code: str, about_code: bool, repository: Repository) -> str | None:
    """What is wrong with a path in backticks, if it is one."""
    if "/" not in code or not NAME.fullmatch(code) or PLACEHOLDER.search(code) or is_made_up(name, code):
        return None
    path, _, anchor = code.partition("#")
    near = normal(f"{folder}/{path}")
    for full in (path, near):
        if repository.has(full):
            if anchor and missing_anchor(normal(full), anchor):
                return f"`{full}` has no heading `#{anchor}`"
            return None
    begins = path.split("/")[0]
    is_strict = about_code or name == "CONTRIBUTING.md"
    if begins == "host" or (is_strict and begins in repository.tops):
        return None if path.startswith(BUILT) else f"`{code}` does not exist"
    if path.endswith(".rs") or (about_code and path.endswith("/")):
        return None if repository.has_short(path) else f"no file's path ends with `{code}`"
    return None


def is_made_up(name: str, path: str) -> bool:
    """Whether a page uses this path as an example."""
    return path.startswith(MADE_UP.get(name, ("\0",)))


def is_decision(path: str, repository: Repository) -> bool:
    """Whether a path is a decision by its number alone, such as `docs/decisions/0007`."""
    is_one = path.startswith("docs/decisions/0")
    return is_one and any(file.startswith(f"{path}-") for file in repository.files)


def source(name: str, text: str, repository: Repository) -> list[str]:
    """What is wrong in the comments of one source file."""
    folder = name.rpartition("/")[0]
    problems = []
    for number, comment in words.comments(name, text):
        for path in IN_COMMENT.findall(comment):
            if PLACEHOLDER.search(path) or path.startswith(BUILT) or is_made_up(name, path):
                continue
            if not repository.has(path) and not repository.has(f"{folder}/{path}") and not is_decision(path, repository):
                problems.append(f"{name}:{number}: `{path}` does not exist")
        lost = [path for path in RUST_FILE.findall(comment) if not repository.has_short(path)]
        problems += [f"{name}:{number}: no file's path ends with `{path}`" for path in lost]
    return problems


def check(name: str, repository: Repository) -> list[str]:
    """What is wrong in one file."""
    try:
        text = (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    if name.endswith(".md"):
        return page(name, text, repository)
    return source(name, text, repository) if re.search(r"(?:host|docs|xtask)/|\.rs`", text) else []


def contents(tracked: list[str]) -> list[str]:
    """Checks the table of contents: it lists each page of docs/ once."""
    summary = "docs/SUMMARY.md"
    listed = [f"docs/{link}" for link in LINK.findall((ROOT / summary).read_text(encoding="utf-8"))]
    pages = [name for name in tracked if fnmatch(name, "docs/*.md") and name != summary]
    problems = [f"{summary}: `{name}` is missing" for name in pages if name not in listed]
    return problems + [f"{summary}: `{name}` stands there twice" for name in {*listed} if listed.count(name) > 1]


def attacks(tracked: list[str]) -> list[str]:
    """Checks the table of attacks: each row names a test, and each test that it names exists."""
    name, heading = ATTACKS
    text = (ROOT / name).read_text(encoding="utf-8")
    section = text.partition(f"{heading}\n")[2].partition("\n## ")[0]
    rows = [row for row in section.splitlines() if row.startswith("|")][2:]
    problems = [] if rows else [f"{name}: there is no table below `{heading}`"]
    tests: set[str] = set()
    for file in tracked:
        if file.endswith(".rs"):
            found = RUST_TEST.findall((ROOT / file).read_text(encoding="utf-8"))
            tests.update(one or other for one, other in found)
    for row in rows:
        named = [match[1] for _, code in INLINE.findall(row) if (match := TEST.fullmatch(code))]
        if not named:
            problems.append(f"{name}: no test is named in `{row}`")
        problems += [f"{name}: there is no test `{test}`" for test in named if test not in tests]
    return problems


def main() -> None:
    tracked = words.listed()
    repository = Repository(tracked)
    names = [str(Path(name).resolve().relative_to(ROOT)) for name in sys.argv[1:]] or tracked
    names = [name for name in names if not any(fnmatch(name, pattern) for pattern in SKIPPED)]
    problems = [problem for name in names for problem in check(name, repository)]
    problems += contents(tracked) + attacks(tracked)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} path(s) or link(s) that lead nowhere")


if __name__ == "__main__":
    main()
