#!/usr/bin/env python3
"""Writes contract.md from the contract in wit/: `contract.py`, or `contract.py --check` to see if it is up to date.

Reads the part of WIT that the contract uses, and refuses what it does not know, so that nothing is left out silently.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIT = HERE.parent.parent / "wit"
PAGE = HERE / "contract.md"
# In the order in which one reads them.
FILES = ["checker", "types", "log", "config", "sysfs", "state", "history", "exec", "net", "kmsg", "nvml", "worlds"]
HEAD = """# The contract, item by item

Made from [`wit/`](../../wit/README.md) by `docs/plugins/contract.py`; the rules around it are in the README \
there. A plugin exports `checker`, and `scanner` and `kmsg-watcher` if it has them; everything else is \
imported, and but for `types` and `log` each import asks for a grant. Names are those of the contract: each \
SDK spells them as its language does.
"""

DOC = re.compile(r"^\s*/// ?(.*)$")
SINCE = re.compile(r"^\s*@since\(version = [0-9.]+\)$")
BLOCK = re.compile(r"^\s*(interface|world|record|variant|enum|flags|resource) %?([a-z0-9-]+) \{$")
USE = re.compile(r"^\s*use ([a-z0-9-]+)\.\{([a-z0-9, -]+)\};$")
FUNCTION = re.compile(r"^%?([a-z0-9-]+): (?:static )?func\((.*)\)( -> .+)?;$")
TYPE = re.compile(r"^\s*type ([a-z0-9-]+) = (.+);$")
FIELD = re.compile(r"^\s*%?([a-z0-9-]+): ([^();]+),$")
CASE = re.compile(r"^\s*%?([a-z0-9-]+)(?:\((.+)\))?,$")
WORLD = re.compile(r"^\s*(import|export|include) ([a-z0-9-]+);$")


class Page:
    """What is written so far, and where in the sources we are."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines = (WIT / f"{name}.wit").read_text(encoding="utf-8").splitlines()
        self.at = 0
        self.out: list[str] = []

    def fail(self, line: str) -> None:
        sys.exit(f"{self.name}.wit:{self.at}: contract.py does not know this: {line.strip()}")

    def items(self):
        """Each line that is no doc comment, with the doc comment before it, up to the end of the block."""
        doc: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if found := DOC.match(line):
                doc.append(found[1])
            elif line.strip() == "}":
                return
            elif not line.strip():
                if doc and not any(DOC.match(later) for later in self.lines[self.at : self.at + 1]):
                    doc = []
            elif not SINCE.match(line):
                yield line, doc
                doc = []

    def say(self, *lines: str) -> None:
        self.out.extend(lines)

    def file(self) -> None:
        for line, doc in self.items():
            if line.startswith("package "):
                continue
            found = BLOCK.match(line)
            if not found or found[1] not in ("interface", "world"):
                self.fail(line)
            kind, name = found[1], found[2]
            self.say("", f"## {'World ' if kind == 'world' else ''}`{name}`", "", *paragraphs(doc))
            self.interface() if kind == "interface" else self.world()

    def world(self) -> None:
        lists: dict[str, list[str]] = {}
        for line, _ in self.items():
            found = WORLD.match(line)
            if not found:
                self.fail(line)
            lists.setdefault(found[1], []).append(f"`{found[2]}`")
        words = {"include": "all of world", "import": "imports", "export": "exports"}
        self.say("", "; ".join(f"{words[kind]} {', '.join(names)}" for kind, names in lists.items()).capitalize() + ".")

    def interface(self) -> None:
        for line, doc in self.items():
            if found := USE.match(line):
                self.say("", f"Uses {code_list(found[2])} of `{found[1]}`.")
            elif found := BLOCK.match(line):
                kind, name = found[1], found[2]
                self.say("", f"### {kind} `{name}`", "", *paragraphs(doc))
                {"record": self.record, "variant": self.cases, "enum": self.cases, "resource": self.resource}[kind]()
            elif found := TYPE.match(line):
                self.say("", f"### type `{found[1]}`", "", f"`{found[2]}`", "", *paragraphs(doc))
            else:
                name, signature = self.function(line)
                self.say("", f"### func `{name}`", "", "```wit", signature, "```", "", *paragraphs(doc))

    def function(self, line: str) -> tuple[str, str]:
        text = line.strip()
        while not text.endswith(";"):
            text += ("" if text.endswith("(") else " ") + self.lines[self.at].strip()
            self.at += 1
        text = text.replace(", )", ")").replace(",)", ")")
        found = FUNCTION.match(text)
        if not found:
            self.fail(text)
        return found[1], text

    def record(self) -> None:
        self.table("field", FIELD, lambda found: f"`{found[2]}`")

    def cases(self) -> None:
        self.table("case", CASE, lambda found: f"`{found[2]}`" if found[2] else "")

    def table(self, head: str, pattern: re.Pattern, kind) -> None:
        self.say("", f"| {head} | type | |", "|---|---|---|")
        for line, doc in self.items():
            found = pattern.match(line)
            if not found:
                self.fail(line)
            self.say(f"| `{found[1]}` | {kind(found)} | {' '.join(doc).replace('|', chr(92) + '|')} |")

    def resource(self) -> None:
        self.say("", "| method | |", "|---|---|")
        for line, doc in self.items():
            _, signature = self.function(line)
            self.say(f"| `{signature.rstrip(';')}` | {' '.join(doc).replace('|', chr(92) + '|')} |")


def paragraphs(doc: list[str]) -> list[str]:
    """Lines of a doc comment, one line for each paragraph."""
    out: list[str] = [""]
    for line in doc:
        if not line.strip():
            out += ["", ""]
        elif line.startswith(("- ", "* ", "|")):
            out.append(line)
        else:
            out[-1] = f"{out[-1]} {line}".strip()
    return out


def code_list(names: str) -> str:
    return ", ".join(f"`{name.strip()}`" for name in names.split(","))


def main() -> None:
    unknown = {path.stem for path in WIT.glob("*.wit")} ^ set(FILES)
    if unknown:
        sys.exit(f"contract.py: FILES and wit/ differ: {', '.join(sorted(unknown))}")
    text = HEAD
    for name in FILES:
        page = Page(name)
        page.file()
        text += "\n".join(page.out) + "\n"
    text = re.sub(r"\n{3,}", "\n\n", text)
    if sys.argv[1:] == ["--check"]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE} is not what wit/ says: run docs/plugins/contract.py")
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
