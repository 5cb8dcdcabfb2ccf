"""Writes `src/gpud_sdk/nvml.py` from the contract, by way of componentize-py's bindings. Run after a change of
`nvml.wit`.

python tools/generate_nvml.py
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "gpud_sdk"
HEAD = '''"""{doc}"""

# Written by tools/generate_nvml.py; not to be edited.

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Union

from gpud_sdk import _host
from gpud_sdk.errors import AccessError
'''


def docstring(node: ast.AST, indent: str) -> str:
    """The doc comment without the note on what is raised, which is the same everywhere."""
    text = (ast.get_docstring(node) or "").split("\n\nRaises:")[0].strip()  # type: ignore[arg-type]
    text = textwrap.indent(text, indent).strip()
    if not text:
        return ""
    if "\n" not in text:
        return f'{indent}"""{text}"""\n'
    return f'{indent}"""{text}\n{indent}"""\n'


def annotation(node: ast.expr | None) -> str:
    """A type in the spelling of the SDK."""
    text = ast.unparse(node) if node else "None"
    for old, new in (("List[", "list["), ("Tuple[", "tuple["), ("Self", "Device")):
        text = text.replace(old, new)
    if text.startswith("Optional["):
        text = text[len("Optional[") : -1] + " | None"
    if text.startswith("Result["):
        text = text[len("Result[") : -1].rsplit(", ", 1)[0] + " | AccessError"
    return text


def call(function: ast.FunctionDef, indent: str, resource: bool) -> str:
    """A function or method that asks the host."""
    arguments = [argument for argument in function.args.args if argument.arg != "self"]
    parameters = ", ".join(
        (["self"] if resource else []) + [f"{one.arg}: {annotation(one.annotation)}" for one in arguments]
    )
    given = "(" + "".join(f"{one.arg}, " for one in arguments).strip() + ")"
    target = (
        f'_host.method(self._resource, "{function.name}", ' if resource else f'_host.call("nvml", "{function.name}", '
    )
    head = f"{indent}def {function.name}({parameters}) -> {annotation(function.returns)}:\n"
    return head + docstring(function, indent + "    ") + f"{indent}    return {target}{given}, globals())\n"


def dataclass(node: ast.ClassDef) -> str:
    """A record, or a case of a variant."""
    lines = [f"@dataclass(frozen=True)\nclass {node.name}:\n", docstring(node, "    ")]
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            name = ast.unparse(item.target)
            lines.append(f"    {name}: {'dict[str, str]' if name == 'extra' else annotation(item.annotation)}\n")
    if len(lines) == 2 and not lines[1]:
        lines.append("    pass\n")
    return "".join(lines)


def resource(node: ast.ClassDef) -> str:
    """A resource: a wrapper around the contract's handle, or around a `FakeGpu`."""
    text = f"class {node.name}:\n{docstring(node, '    ')}\n"
    text += "    def __init__(self, resource: Any) -> None:\n        self._resource = resource\n"
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
            text += "\n" + call(method, "    ", resource=True)
    return text


# Asking all GPUs at once saves calls into the host, of which a check in Python notices little, and it would need a class for
# each kind of question and answer.
LEFT_OUT = re.compile("ask_all|nvlink_p2p_among|GpuAnswers|(Question|Answer)(_.*)?")


def module(source: str) -> str:
    """The SDK's module for a module of the bindings."""
    tree = ast.parse(source)
    parts = [HEAD.format(doc=(ast.get_docstring(tree) or "").strip() + "\n")]
    for node in tree.body:
        targets = [ast.unparse(one) for one in node.targets] if isinstance(node, ast.Assign) else []
        if any(LEFT_OUT.fullmatch(name) for name in [getattr(node, "name", ""), *targets]):
            continue
        if isinstance(node, ast.ClassDef):
            kinds = {ast.unparse(base) for base in node.bases}
            if "Enum" in kinds:
                members = "".join(f"    {ast.unparse(one)}\n" for one in node.body if isinstance(one, ast.Assign))
                parts.append(f"class {node.name}(Enum):\n{docstring(node, '    ')}\n{members}")
            elif node.decorator_list:
                parts.append(dataclass(node))
            else:
                parts.append(resource(node))
        elif isinstance(node, ast.Assign) and "Union" in ast.unparse(node.value):
            parts.append(ast.unparse(node) + "\n")
        elif isinstance(node, ast.FunctionDef):
            parts.append(call(node, "", resource=False))
    return "\n\n".join(parts)


def main() -> None:
    """Makes the bindings in a scratch folder and writes the module."""
    with tempfile.TemporaryDirectory() as scratch:
        tool = Path(sys.executable).with_name("componentize-py")
        command = [str(tool), "-q", "-d", str(PACKAGE / "wit"), "-w", "everything", "bindings", scratch]
        subprocess.run(command, check=True)
        source = Path(scratch, "wit_world", "imports", "nvml.py").read_text(encoding="utf-8")
    (PACKAGE / "nvml.py").write_text(module(source), encoding="utf-8")


if __name__ == "__main__":
    main()
