"""Reads the document of `gpud scan --json`.

  states.py DOCUMENT                               prints each component with its health
  states.py DOCUMENT COMPONENT HEALTH FIELD TEXT   fails unless its only state has this health and the text in a field

A component that does not apply to the machine has no state, the health `-`, and a reason. An empty text stands for a field
without one. No state may say that its checker failed.
"""

import json
import sys


def states(document):
    """Yields component, health and fields of each state."""
    for component in document["components"]:
        for state in component["states"] or []:
            data = (state.get("extra_info") or {}).get("data", "")
            yield component["component"], state["health"], {**state, "data": data}
    for absent in document["summary"]["absent"]:
        yield absent["component"], "-", absent


def main():
    path, *wanted = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        found = sorted(states(json.load(file)), key=lambda state: state[:2])
    for component, _, fields in found:
        if "checker itself failed" in fields["reason"]:
            sys.exit(f"{component}: {fields['reason']}")
    if not wanted:
        print("\n".join(f"{component} {health}" for component, health, _ in found))
        return
    name, health, field, text = wanted
    for component, is_now, fields in found:
        if component != name:
            continue
        value = fields.get(field) or ""
        if is_now == health and (text in value if text else field != "error" or not value):
            return
        sys.exit(f"{component} is {is_now}, {field}: {value}")
    sys.exit(f"there is no state of {name}")


main()
