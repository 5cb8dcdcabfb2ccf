#!/usr/bin/env python3
"""Fails where a link of a built book leads to no page, file or heading of it: `links.py FOLDER`.

It also fails where a page of docs/ is not in the book. Links to other hosts are not followed.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Pages that mdBook adds: all pages on one for the printer, and those of its own navigation.
ADDED = ("print.html", "404.html", "toc.html")


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what leads somewhere, and what can be led to."""
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def main() -> None:
    book = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(book.rglob("*.html"))}
    problems = []
    for source in sorted(DOCS.rglob("*.md")):
        name = source.relative_to(DOCS).with_suffix(".html")
        # mdBook makes the first page of a folder its index.
        name = name.with_name("index.html") if name.stem == "README" else name
        if name.name != "SUMMARY.html" and book / name not in pages:
            problems.append(f"{name}: not in the book")
    links = 0
    for path, page in pages.items():
        if path.name in ADDED:
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            where = path.relative_to(book)
            if not target.is_relative_to(book) or not target.is_file():
                problems.append(f"{where}: the link `{link}` leads to nothing in the book")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                problems.append(f"{where}: the link `{link}` leads to no heading")
    for problem in sorted(set(problems)):
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(set(problems))} link(s) or page(s) of the book that are missing")
    print(f"{len(pages)} pages, {links} links")


if __name__ == "__main__":
    main()
