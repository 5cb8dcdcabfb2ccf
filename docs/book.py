#!/usr/bin/env python3
"""Prepares the links of the pages for mdBook, which runs it (book.toml).

A link out of docs/ leads to a file of the repository, which the book does not have: it becomes the path of the file. And
mdBook makes a folder's README.md its index, but leaves links to README.md as they are.
"""

import json
import re
import sys
from pathlib import PurePosixPath
from typing import Any

import words
from paths import normal

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(<?([^()\s<>#]+)(#[^()\s<>]*)?>?\)")


def in_words(link: re.Match[str], folder: str) -> str:
    """A link to a page of the book if it stays in docs/, else its text and the path of the file."""
    text, target = link[1], link[2]
    path = normal(f"docs/{folder}/{target}")
    if ":" in target:
        return link[0]
    if path == "docs" or path.startswith("docs/"):
        return link[0].replace("README.md", "index.md") if path.endswith("/README.md") else link[0]
    return text if path in text else f"{text} (`{path}`)"


def page(content: str, folder: str) -> str:
    """The text of a page with links that lead somewhere in the book."""
    lines, fence = [], ""
    for line in content.split("\n"):
        if mark := words.FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence:
            line = LINK.sub(lambda link: in_words(link, folder), line)
        lines.append(line)
    return "\n".join(lines)


def chapters(items: list[Any]) -> None:
    """Prepares chapters and those below them."""
    for item in items:
        if isinstance(item, dict) and (chapter := item.get("Chapter")):
            folder = PurePosixPath(chapter["path"] or ".").parent.as_posix()
            chapter["content"] = page(chapter["content"], folder)
            chapters(chapter["sub_items"])


def main() -> None:
    # mdBook asks first whether it is for a kind of output.
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    # The list has another name before mdBook 0.5.
    chapters(book["items"] if "items" in book else book["sections"])
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
