"""Looks at a plugin before it is built: run in a process of its own, prints one JSON document.

The capabilities that a plugin imports are those modules of `gpud_sdk` that importing it brings in.
"""

from __future__ import annotations

import importlib
import json
import sys

CAPABILITIES = ("config", "exec", "history", "kmsg", "net", "nvml", "state", "sysfs")


def look(plugin: str) -> dict[str, object]:
    """What `module:Class` is, or what is wrong with it (under `problem`)."""
    module_name, _, class_name = plugin.partition(":")
    module = importlib.import_module(module_name)
    loaded = [name for name in CAPABILITIES if f"gpud_sdk.{name}" in sys.modules]
    from gpud_sdk import bounds, checker  # not before the look at what the plugin brought in

    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, checker.Checker)):
        return {"problem": f"{module_name}.{class_name} is no class that extends gpud_sdk.Checker"}
    if not isinstance(getattr(found, "descriptor", None), checker.Descriptor):
        return {"problem": f"{module_name}.{class_name} has no `descriptor = Descriptor.of(…)`"}
    missing = getattr(found, "__abstractmethods__", frozenset())
    if missing:
        return {"problem": f"{module_name}.{class_name} lacks {', '.join(sorted(missing))}"}
    problems = bounds.of_descriptor(found.descriptor)
    if problems:
        return {"problem": f"the descriptor: {'; '.join(problems)}"}
    exports = ["checker"]
    if issubclass(found, checker.Scanner):
        exports.append("scanner")
    if issubclass(found, checker.KmsgWatcher):
        exports.append("kmsg-watcher")
        loaded = sorted({*loaded, "kmsg"})
    return {"capabilities": loaded, "exports": exports}


if __name__ == "__main__":
    print(json.dumps(look(sys.argv[1])))
