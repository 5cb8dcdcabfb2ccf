#!/usr/bin/env python3
"""Fails where a text or a name uses a word that plain technical English does not: `words.py`, or `words.py FILE…`.

Without arguments it checks every tracked file. In Markdown it reads the text outside of code. In other files it reads
everything: comments, messages, data, and the words of names such as `names_like_this` and `NamesLikeThis`. Names in
backticks are skipped, and a phrase in a comment is also found where a line break divides it.
"""

import io
import re
import subprocess
import sys
import tokenize
from bisect import bisect_right
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What is found, and what to write instead.
WORDS = [
    (r"anew", "again, or: from the start"),
    (r"seldom", "rarely"),
    (r"dear(er|est|ly)?", "expensive, costly"),
    (r"who(ever|mever)", "a noun: a client, an operator, the caller"),
    (r"meanwhile", "in the meantime, or: while it runs"),
    (r"(stands?|standing|stood) in for", "replaces, represents, simulates"),
    (r"(lies?|lay|lying) (in|on|below|beside|behind|still|side by side)", "is stored in, is at"),
    (r"(comes?|came) to", "becomes, results in, reaches"),
    (r"taken up|takes (it|them|this) up", "is loaded, is used; loads, uses"),
    (r"(goes|go|went|going) with", "is removed with, is part of, belongs to"),
    (r"(wound|winds?) up", "is armed, arms"),
    (r"told", "receives, is notified, is given; of a text: states"),
    (r"(the|an?|each|every|no|its|all|of|what is) kept", "a noun: the retained version, the stored value"),
    (r"mend(s|ed|ing)?", "repairs, fixes, corrects"),
    (r"(came|comes|become|becomes|became) of", "the outcome of"),
    (r"held against", "compared with, validated against"),
    (r"gone to", "sent to, moved to"),
    (r"put by", "stored"),
    (r"speaks? against", "is evidence of a fault in, counts against"),
    (r"(is|are) (no|the|its|their|nobody's) business", "is done by; is not passed to"),
    (r"in whose place", "that it replaces"),
    (r"whose fault it is", "the party at fault"),
    (r"the ones? who(m)?", "a noun: the operator, the user, the caller"),
    (r"what (it|they) (became|(says?|said) of (itself|themselves))", "the new state, its description"),
    (r"who (comes|asks|waits)|(for|by|of|to|from) who (?!is |are )", "a noun: a request that arrives"),
]
BANNED = [(re.compile(rf"\b({word})\b", re.IGNORECASE), instead) for word, instead in WORDS]
# Any of them, in lower case.
ANY = re.compile(rf"\b(?:{'|'.join(word for word, _ in WORDS)})\b")

# Files that others wrote or that a test feeds to gpud, the rules themselves, and pages that are history.
SKIPPED = [
    "docs/words.py",
    "fuzz/corpus/*",
    "tests/kernel-logs/cases/*",
    "tests/board-tools/*",
    "*.lock",
    "*package-lock.json",
    "*/golden/*",
    "*/testdata/*",
    "*/fixtures/*",
    "*/captured/*",
]

# Words that a file has to spell, in lower case: what a kernel or a vendor prints, or the key of values that are stored
# on machines.
QUOTED: dict[str, set[str]] = {
    "builtin-plugins/edac/src/memory.rs": {"told"},
    "builtin-plugins/smart/src/evaluate.rs": {"told"},
}

SLASHES = {".rs", ".go", ".ts", ".mts", ".js", ".mjs", ".c", ".h"}
HASHES = {".sh", ".yaml", ".yml", ".toml", ".mk"}

RUST = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |b?r(?P<hashes>\#*)".*?"(?P=hashes)
    |"(?:\\.|[^"\\])*"
    |'(?:\\[^\n]{1,10}?|[^'\\\n])'""",
    re.DOTALL | re.VERBOSE,
)
C_LIKE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |"(?:\\.|[^"\\\n])*"
    |'(?:\\.|[^'\\\n])*'
    |`(?:\\.|[^`\\])*`""",
    re.DOTALL | re.VERBOSE,
)
HASH = re.compile(r"""(?P<comment>(?:(?<=\s)|^)\#[^\n]*)|"(?:\\.|[^"\\\n])*"|(?<![\w])'[^'\n]*'""", re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LAYOUT = re.compile(r"[\s/*!#]+")
CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
FENCE = re.compile(r"\s*(```|~~~)")


def comments(name: str, text: str) -> list[tuple[int, str]]:
    """Each comment's line number and text, line by line."""
    suffix = Path(name).suffix
    found: list[tuple[int, str]] = []
    if suffix == ".md":
        inside = False
        for number, line in enumerate(text.splitlines(), 1):
            if FENCE.match(line):
                inside = not inside
            elif not inside:
                found.append((number, line))
        return found
    if suffix == ".py":
        return python(text)
    if suffix in SLASHES:
        pattern = RUST if suffix == ".rs" else C_LIKE
    elif suffix in HASHES or text.startswith("#!"):
        pattern = HASH
    else:
        return []
    for match in pattern.finditer(text):
        if comment := match["comment"]:
            first = text.count("\n", 0, match.start()) + 1
            for offset, line in enumerate(comment.split("\n")):
                found.append((first + offset, line.strip().lstrip("/*!#").strip()))
    return found


def python(text: str) -> list[tuple[int, str]]:
    """The comments and the docstrings of a Python file."""
    found: list[tuple[int, str]] = []
    starts_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        docstring = token.type == tokenize.STRING and starts_statement
        if token.type == tokenize.COMMENT or docstring:
            lines = token.string.split("\n")
            found += [(token.start[0] + offset, line.strip("# ")) for offset, line in enumerate(lines)]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            starts_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return found


def spelled_out(line: str) -> str:
    """A line of code with its names as words: `is_taken_up` and `isTakenUp` become `is taken up`."""
    return CAPITAL.sub(" ", line).replace("_", " ")


def check(name: str) -> list[str]:
    """What is wrong in one file."""
    try:
        text = (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    # Most files have none, and one pattern finds that out faster than all of them.
    if not ANY.search(LAYOUT.sub(" ", spelled_out(text).lower())):
        return []
    found = in_comments(name, text)
    if not name.endswith(".md"):
        for number, line in enumerate(text.splitlines(), 1):
            line = spelled_out(CODE.sub("`…`", line))
            found |= {(number, match[0], instead) for pattern, instead in BANNED for match in pattern.finditer(line)}
    found = {problem for problem in found if problem[1].lower() not in QUOTED.get(name, set())}
    return [f"{name}:{number}: `{word}`: write {instead}" for number, word, instead in sorted(found)]


def in_comments(name: str, text: str) -> set[tuple[int, str, str]]:
    """The banned words of a file's comments, each with its line and what to write instead."""
    # Comments on neighbouring lines are one text, and a phrase may run over the break.
    joined, starts, numbers, length, last = [], [], [], 0, 0
    for number, line in comments(name, text):
        if number > last + 1:
            joined.append("¶ ")
            length += 2
        line = CODE.sub("`…`", line) + " "
        starts.append(length)
        numbers.append(number)
        joined.append(line)
        length += len(line)
        last = number
    whole = "".join(joined)
    found = set()
    for pattern, instead in BANNED:
        for match in pattern.finditer(whole):
            number = numbers[bisect_right(starts, match.start()) - 1]
            found.add((number, match[0], instead))
    return found


def listed() -> list[str]:
    """The tracked files that are there."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]


def tracked() -> list[str]:
    """The tracked files that are there, but for those that are skipped."""
    return [name for name in listed() if not any(fnmatch(name, pattern) for pattern in SKIPPED)]


def main() -> None:
    names = [str(Path(name).resolve().relative_to(ROOT)) for name in sys.argv[1:]] or tracked()
    problems = [problem for name in names for problem in check(name)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} place(s) to reword")


if __name__ == "__main__":
    main()
