#!/usr/bin/env python3
"""Writes limits.md from constants of the code: `limits.py`, or `limits.py --check` to see if it is up to date.

The page has the bounds that an operator can meet. Value and meaning are read from the constant and its doc comment; the
lists below say which constants, and in which unit. A constant that was moved, renamed or left without a doc comment
fails here.
"""

import ast
import operator
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "limits.md"
HEAD = """# Limits

The bounds that an operator can meet. Made from the code by `docs/limits.py`: do not edit. \
[All bounds](internals/bounds.md) has the others, [limits for authors](plugins/limits.md) what a plugin meets.
"""

COUNT, BYTES, TIME = "", "bytes", "time"
# By heading: what is bounded, file, constant, unit. `Type.field` is a field of `impl Default for Type`,
# `NAME.field.part` a value inside the constant `NAME`.
BOUNDS = {
    "A check": [
        ("memory of one call", "host/runtime/src/limits.rs", "Limits.memory_bytes", BYTES),
        ("time of one call, without `timeout`", "host/runtime/src/limits.rs", "Limits.deadline", TIME),
        ("host calls of one call", "host/runtime/src/limits.rs", "Limits.host_calls", COUNT),
        ("bytes from the host", "host/runtime/src/limits.rs", "Limits.host_bytes", BYTES),
        ("log lines of one call", "host/runtime/src/limits.rs", "Limits.log_lines", COUNT),
        ("calls at once", "host/runtime/src/engine.rs", "SLOTS", COUNT),
        ("default interval", "host/component/src/wasm.rs", "DEFAULT_INTERVAL", TIME),
        ("back-off after failures", "host/component/src/failure.rs", "MAX_WAIT", TIME),
        ("file read by a check", "host/runtime/src/capability/sysfs.rs", "MAX_FILE", BYTES),
        ("time of a file call", "host/node/src/files/mod.rs", "DEFAULT_DEADLINE", TIME),
        ("output of a program", "host/runtime/src/capability/exec.rs", "MAX_OUTPUT", BYTES),
        ("time of an NVML call", "host/node/src/nvml/gpu.rs", "DEADLINE", TIME),
        ("start of the driver", "host/node/src/nvml/mod.rs", "FIRST", TIME),
        ("GPUs", "host/node/src/nvml/round.rs", "MAX_GPUS", COUNT),
        ("compilation of a plugin", "host/runtime/src/compiler.rs", "DEADLINE", TIME),
        ("memory of a compilation", "host/runtime/src/compiler.rs", "CHILD_MEMORY", BYTES),
        ("compilations at once", "host/runtime/src/cache.rs", "PARALLEL", COUNT),
        ("compiled code on disk", "host/runtime/src/cache/folder.rs", "MAX_TOTAL", BYTES),
        ("compiled code without use", "host/runtime/src/cache/folder.rs", "MAX_AGE", TIME),
    ],
    "Plugins and packs": [
        ("spec file", "host/spec/src/lib.rs", "MAX_FILE_BYTES", BYTES),
        ("`plugin_name`", "host/spec/src/names.rs", "MAX_PLUGIN_NAME_BYTES", BYTES),
        ("`config`, `grants`", "host/spec/src/json.rs", "MAX_JSON_BYTES", BYTES),
        ("component file", "host/plugins/src/wasm.rs", "MAX_COMPONENT_BYTES", BYTES),
        ("output of a script check", "host/script/src/run.rs", "MAX_OUTPUT", BYTES),
        ("pattern of a script check", "host/script/src/pattern/mod.rs", "MAX_PATTERN_BYTES", BYTES),
        ("query of a script check", "host/script/src/query/mod.rs", "MAX_QUERY_BYTES", BYTES),
        ("log file of a script", "host/node/src/append.rs", "LIMIT", BYTES),
        ("answer of a spec file or of a file of exports", "host/node/src/slow_files.rs", "LONGEST", TIME),
        ("look at the spec file", "host/plugins/src/watch.rs", "LOOK", TIME),
        ("good checks of a new version", "host/component/src/probation.rs", "CHECKS", COUNT),
        ("versions that worked", "host/plugins/src/retained/mod.rs", "GOOD", COUNT),
        ("files of versions", "host/plugins/src/retained/mod.rs", "MAX_BYTES", BYTES),
        ("pack", "host/pack/src/lib.rs", "MAX_BYTES", BYTES),
        ("file of a pack", "host/pack/src/lib.rs", "MAX_FILE_BYTES", BYTES),
        ("files of a pack", "host/pack/src/lib.rs", "MAX_FILES", COUNT),
        ("trusted keys", "host/pack/src/signature.rs", "MAX_KEYS", COUNT),
    ],
    "Kernel log": [
        ("record of the kernel", "host/node/src/kmsg/record.rs", "MAX_RECORD", BYTES),
        ("injected message", "host/node/src/kmsg/inject.rs", "MAX_MESSAGE", BYTES),
        ("messages handed over at once", "host/component/src/kernel_log/component_feed.rs", "BATCH", COUNT),
        ("tries of a batch", "host/component/src/kernel_log/component_feed.rs", "TRIES", COUNT),
        ("messages of a saved log", "host/capture/src/lib.rs", "MAX_MESSAGES", COUNT),
        ("text of a saved log", "host/capture/src/lib.rs", "MAX_TEXT", BYTES),
        ("saved log, decompressed", "host/capture/src/lib.rs", "MAX_EXPANDED", BYTES),
        ("hosts of a saved log", "host/capture/src/hosts.rs", "MAX_HOSTS", COUNT),
    ],
    "Database": [
        ("database in a file", "host/store/src/open.rs", "FILE_LIMIT", BYTES),
        ("database in memory", "host/store/src/open.rs", "MEMORY_LIMIT", BYTES),
        ("write-ahead log", "host/store/src/open.rs", "WAL_LIMIT", BYTES),
        ("integrity check", "host/store/src/open.rs", "CHECK_LIMIT", TIME),
        ("lock of another process", "host/store/src/open.rs", "BUSY_TIMEOUT", TIME),
        ("lock that is still held", "host/store/src/open.rs", "LOCKED_TIMEOUT", TIME),
        ("events, changes of state of a component", "host/store/src/retention.rs", "ROWS_PER_COMPONENT", COUNT),
        ("events, by default", "host/src/cli/options.rs", "EVENTS_RETENTION", TIME),
        ("metrics, by default", "host/src/cli/options.rs", "METRICS_RETENTION", TIME),
        ("values of a component", "host/store/src/plugin_state.rs", "COMPONENT_LIMIT", BYTES),
        ("keys of a component", "host/store/src/plugin_state.rs", "KEYS_LIMIT", COUNT),
        ("events that wait for the database", "host/component/src/unsaved.rs", "MAX_EVENTS", COUNT),
        ("wait between two tries", "host/component/src/outage.rs", "LONGEST_WAIT", TIME),
        ("series of a component", "host/metrics/src/registry.rs", "SERIES_PER_COMPONENT", COUNT),
    ],
    "Requests": [
        ("connections", "host/server/src/limits.rs", "PORT.connections.all", COUNT),
        ("connections of one client", "host/server/src/limits.rs", "PORT.connections.each", COUNT),
        ("requests under way", "host/server/src/limits.rs", "PORT.turns.all", COUNT),
        ("requests under way of one client", "host/server/src/limits.rs", "PORT.turns.each", COUNT),
        ("readers of the stream", "host/server/src/limits.rs", "PORT.streams.all", COUNT),
        ("answers that are not read", "host/server/src/limits.rs", "PORT.answers.all", BYTES),
        ("head of a request", "host/server/src/limits.rs", "MAX_HEAD", BYTES),
        ("body of a request", "host/server/src/limits.rs", "MAX_BODY", BYTES),
        ("wait for a turn", "host/server/src/limits.rs", "QUEUE_TIME", TIME),
        ("TLS handshake", "host/server/src/limits.rs", "HANDSHAKE_TIME", TIME),
        ("time of a head", "host/server/src/limits.rs", "HEAD_TIME", TIME),
        ("time of a body", "host/server/src/limits.rs", "BODY_TIME", TIME),
        ("idle connection", "host/server/src/limits.rs", "IDLE_TIME", TIME),
        ("client that does not read", "host/server/src/limits.rs", "STALL_TIME", TIME),
        ("requests at the end", "host/server/src/limits.rs", "DRAIN_TIME", TIME),
        ("checks at the end", "host/src/daemon.rs", "STOP_WAIT", TIME),
        ("characters of a token, at least", "host/server/src/token.rs", "SHORTEST", COUNT),
        ("certificate or key", "host/server/src/tls.rs", "MAX_PEM_BYTES", BYTES),
        ("page of the history", "host/store/src/timeline.rs", "MAX_PAGE", COUNT),
    ],
    "Exports": [
        ("exports of one file", "host/exports/src/config/mod.rs", "MAX_EXPORTS", COUNT),
        ("memory of one queue", "host/exports/src/queue.rs", "MAX_BYTES", BYTES),
        ("spool, at least", "host/exports/src/spool/mod.rs", "LEAST_BYTES", BYTES),
        ("wait that an engine asks for", "host/exports/src/retry.rs", "LONGEST_ASKED", TIME),
    ],
    "Log and commands": [
        ("log file", "host/src/logging/rotating_file.rs", "LIMIT", BYTES),
        ("older log files", "host/src/logging/rotating_file.rs", "KEPT", COUNT),
        ("log lines that wait", "host/src/logging/writer.rs", "QUEUE", COUNT),
        ("events of a component in the log", "host/component/src/health_log.rs", "EVENTS_PER_WINDOW", COUNT),
        ("`gpud scan`", "host/src/cli/scan/mod.rs", "LIMIT", TIME),
        ("answer to a command", "host/src/cli/client/mod.rs", "TIME_LIMIT", TIME),
        ("size of such an answer", "host/src/cli/client/mod.rs", "MAX_ANSWER", BYTES),
        ("`gpud plugin build`", "host/author/src/build.rs", "DEADLINE", TIME),
    ],
}

# Where the fields of bounds in parts are declared, with their doc comments.
FIELDS = ["host/server/src/shares.rs", "host/server/src/fair_queue.rs"]

DOC = re.compile(r"^\s*/// ?(.*)$")
# The unit of a doc comment, which the bound has already.
IN_BYTES = re.compile(r",? (?:in )?bytes(?=[.,:;]| \()")
TIMES = {"from_millis": 1, "from_secs": 1_000, "from_mins": 60_000, "from_hours": 3_600_000}
OPERATORS = {ast.Mult: operator.mul, ast.LShift: operator.lshift, ast.Add: operator.add, ast.Sub: operator.sub}


class Problem(Exception):
    """Why a bound cannot be read."""


def read(file: str, name: str) -> tuple[int, str]:
    """A bound's value, times in milliseconds, and its doc comment in one line."""
    path = ROOT / file
    if not path.is_file():
        raise Problem("no such file")
    text = path.read_text(encoding="utf-8")
    first, *inside = name.split(".")
    if first.isupper():
        found = re.search(rf"^\s*(?:pub(?:\([a-z]+\))? )?const {first}: [^=]+ = ([^;]+);", text, re.MULTILINE)
        expression, start = (found[1], found.start()) if found else ("", 0)
        for part in inside:
            found = re.search(rf"\b{part}: (?:\w+ (\{{.*?\}})|([^,{{}}]+),)", expression, re.DOTALL)
            expression = (found[1] or found[2]) if found else ""
    else:
        default = re.search(rf"impl Default for {first} \{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
        found = default and re.search(rf"^\s*{inside[0]}: (.+),$", default[1], re.MULTILINE)
        declared = re.search(rf"^    pub {inside[0]}: ", text, re.MULTILINE)
        expression, start = (found[1], declared.start()) if found and declared else ("", 0)
    if not expression:
        raise Problem("no such constant")
    meaning = " ".join(field_doc(part) for part in inside) if first.isupper() and inside else doc(text[:start])
    return value(expression.strip(), text), meaning


def field_doc(name: str) -> str:
    """The doc comment of a field of the server's bounds."""
    for file in FIELDS:
        text = (ROOT / file).read_text(encoding="utf-8")
        if found := re.search(rf"^    pub(?:\([a-z]+\))? {name}: ", text, re.MULTILINE):
            return doc(text[: found.start()])
    raise Problem(f"no field `{name}` with a doc comment")


def doc(before: str) -> str:
    """The doc comment at the end of a text, in one line and without the links of rustdoc."""
    lines: list[str] = []
    for line in reversed(before.rstrip().splitlines()):
        if not (found := DOC.match(line)):
            break
        lines.insert(0, found[1])
    if not lines:
        raise Problem("no doc comment")
    return re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", " ".join(lines)).replace("|", "\\|")


def value(expression: str, text: str) -> int:
    """The value of an expression of numbers, other constants of the file, and `Duration::from_…`."""
    unit = 1
    if found := re.fullmatch(r"Duration::(\w+)\((.+)\)", expression):
        if found[1] not in TIMES:
            raise Problem(f"`{expression}` is not understood")
        unit, expression = TIMES[found[1]], found[2]

    def number(node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](number(node.left), number(node.right))
        if isinstance(node, ast.Name):
            other = re.search(rf"const {node.id}: \w+ = ([^;]+);", text)
            if other:
                return value(other[1], text)
        raise Problem(f"`{expression}` is not understood")

    try:
        return unit * number(ast.parse(expression, mode="eval").body)
    except SyntaxError:
        raise Problem(f"`{expression}` is not understood") from None


def shown(amount: int, unit: str) -> str:
    """A value as people read it: exact, in the largest unit that divides it."""
    if unit == BYTES:
        scales = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1)]
    elif unit == TIME:
        scales = [("days", 86_400_000), ("h", 3_600_000), ("minutes", 60_000), ("s", 1_000), ("ms", 1)]
    else:
        return f"{amount:,}"
    for name, scale in scales:
        # One of the larger unit reads as one more of the smaller: 60 s.
        if amount % scale == 0 and (amount > scale or name not in ("days", "minutes")):
            return f"{amount // scale:,} {name}"
    raise Problem(f"{amount} cannot be shown")


def page() -> str:
    """The text of the page; ends the program with all that is wrong."""
    out, problems = [HEAD], []
    for heading, bounds in BOUNDS.items():
        out.append(f"\n## {heading}\n\n| what | bound | meaning | constant |\n|---|---|---|---|\n")
        for what, file, name, unit in bounds:
            try:
                amount, meaning = read(file, name)
                if unit == BYTES:
                    meaning = IN_BYTES.sub("", meaning)
                out.append(f"| {what} | {shown(amount, unit)} | {meaning} | `{name}` in `{file}` |\n")
            except Problem as problem:
                problems.append(f"{file}: `{name}`: {problem}")
    if problems:
        sys.exit("\n".join([*problems, "docs/limits.py lists bounds that the code has not"]))
    return "".join(out)


def main() -> None:
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE} is not what the code says: run docs/limits.py")
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
