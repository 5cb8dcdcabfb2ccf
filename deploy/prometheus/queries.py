#!/usr/bin/env python3
"""Asks a Prometheus every query of the rules and dashboards until each gives something.

  queries.py URL SECONDS [PREFIX…]

Metrics with one of these prefixes cannot be had on this machine: they must be among those that the built-in checks give.
"""

import json
import pathlib
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

DEPLOY = pathlib.Path(__file__).parents[1]
# What a healthy machine gives nothing for: conditions of alerts. Their parts are asked instead.
COMPARISON = re.compile(r"\s(?:==|>=|<=|>|<)\s(?!bool)")


def expressions():
    """Yields where each query is from, and the query."""
    for path in sorted((DEPLOY / "grafana").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                query = re.sub(r"\$(instance|uuid|bus_id)", ".*", target["expr"])
                yield f"{path.name}: {panel['title']}", query


def names_of_checks():
    """Returns all text literals of the built-in checks that may be names of metrics."""
    sources = (DEPLOY.parent / "builtin-plugins").glob("*/src/**/*.rs")
    return {name for source in sources for name in re.findall(r'"([a-z][a-z0-9_]+)"', source.read_text())}


def rules(url):
    """Yields the queries of the rules as Prometheus has read them; of a comparison, both sides that are no numbers."""
    for group in get(url, "/api/v1/rules", {})["data"]["groups"]:
        for rule in group["rules"]:
            for part in COMPARISON.split(rule["query"]):
                if not re.fullmatch(r"[\d.]+|max_over_time\(.*\[1d\]\)", part.strip()):
                    yield f"rule {rule['name']}", part.strip()


def incomplete_alerts(url):
    """Yields what an alert lacks: its severity, a text for people, or a line in the documentation."""
    page = (DEPLOY.parent / "docs/prometheus.md").read_text()
    for group in get(url, "/api/v1/rules", {"type": "alert"})["data"]["groups"]:
        for rule in group["rules"]:
            name = rule["name"]
            if rule["labels"].get("severity") not in ("critical", "warning"):
                yield f"{name}: no severity"
            for text in ("summary", "description", "runbook"):
                if not rule["annotations"].get(text, "").strip():
                    yield f"{name}: no {text}"
            if f"| `{name}` |" not in page:
                yield f"{name}: docs/prometheus.md does not have it"


def get(url, path, query):
    with urllib.request.urlopen(f"{url}{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
        return json.load(answer)


def gives_something(url, query):
    try:
        return bool(get(url, "/api/v1/query", {"query": query})["data"]["result"])
    except urllib.error.HTTPError as error:
        sys.exit(f"{query}: {error.read().decode()}")


def main():
    url, seconds, absent = sys.argv[1], float(sys.argv[2]), tuple(sys.argv[3:])
    end = time.monotonic() + seconds
    while True:
        try:
            queries = [*expressions(), *rules(url)]
            break
        except OSError:
            if time.monotonic() > end:
                sys.exit("Prometheus does not answer")
            time.sleep(0.5)
    if lacks := list(incomplete_alerts(url)):
        sys.exit("\n".join(lacks))
    names = names_of_checks()
    asked = []
    for place, query in queries:
        metrics = [name for name in re.findall(r"[a-z][a-z0-9_]+", query) if absent and name.startswith(absent)]
        if unknown := [name for name in metrics if name not in names]:
            sys.exit(f"{place}: no check gives {', '.join(unknown)}")
        if not metrics or " or " in query:
            asked.append((place, query))
    missing = asked
    while missing and time.monotonic() < end:
        time.sleep(2)
        missing = [(place, query) for place, query in missing if not gives_something(url, query)]
    for place, query in missing:
        print(f"{place}: no data for {query}", file=sys.stderr)
    if missing:
        sys.exit(1)
    print(f"all {len(asked)} queries of rules and dashboards give data, {len(queries) - len(asked)} could not be asked here")


main()
