"""From a Python project to a WebAssembly component, with componentize-py.

`pyproject.toml` of the project says what the plugin is:

    [project]
    name = "fan-check"

    [tool.gpud]
    plugin = "fan_check:FanCheck"   # module and class
    source = "src"                  # where the module lies; `.` if left out
    warm_up = false                 # no trial runs before the snapshot is taken; true if left out
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ENTRY = '''"""Made by `python -m gpud_sdk build`."""

from gpud_sdk import _guest
from {module} import {plugin} as _Plugin
{classes}
_guest.start({interfaces!r})
if {warm_up}:
    _guest.warm_up(Checker(), _Plugin)
'''
CLASS = """

class {name}(_guest.Exports):
    def __init__(self):
        super().__init__(_Plugin)

"""


class BuildError(Exception):
    """Why there is no component, and what to do."""


@dataclass(frozen=True)
class Project:
    """What `pyproject.toml` says."""

    root: Path
    name: str
    plugin: str
    source: Path
    warm_up: bool

    @classmethod
    def read(cls, root: Path) -> Project:
        """Of a folder."""
        file = root / "pyproject.toml"
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BuildError(f"{file}: not found; run this in the plugin's folder") from None
        except (OSError, ValueError) as error:
            raise BuildError(f"{file}: {error}") from error
        name = document.get("project", {}).get("name")
        settings = document.get("tool", {}).get("gpud", {})
        plugin = settings.get("plugin")
        if not isinstance(name, str) or not isinstance(plugin, str) or plugin.count(":") != 1:
            raise BuildError(f'{file}: wants [project] name = "…" and [tool.gpud] plugin = "module:Class"')
        if not all(part.isidentifier() for part in plugin.replace(":", ".").split(".")):
            raise BuildError(f"{file}: plugin = {plugin!r} is not module:Class")
        return cls(root, name, plugin, root / settings.get("source", "."), bool(settings.get("warm_up", True)))

    @property
    def output(self) -> Path:
        """Where the component goes."""
        return self.root / "dist" / f"{self.name}.wasm"


@dataclass(frozen=True)
class Plan:
    """What the component imports and exports."""

    capabilities: list[str]
    exports: list[str]

    def world(self) -> str:
        """The world, to be laid beside the contract."""
        lines = [f"    import {name};" for name in ["log", *self.capabilities]]
        lines += [f"    export {name};" for name in self.exports]
        return "world gpud-sdk-plugin {\n" + "\n".join(lines) + "\n}\n"

    def entry(self, plugin: str, warm_up: bool) -> str:
        """The module that componentize-py takes."""
        module, _, name = plugin.partition(":")
        names = ["".join(part.capitalize() for part in export.split("-")) for export in self.exports]
        classes = "".join(CLASS.format(name=one) for one in names)
        interfaces = ["log", *self.capabilities]
        return ENTRY.format(interfaces=interfaces, module=module, plugin=name, classes=classes, warm_up=warm_up)


def plan(project: Project) -> Plan:
    """Imports the plugin, in a process of its own, and looks at it."""
    path = os.pathsep.join([str(project.source), str(PACKAGE.parent)])
    command = [sys.executable, "-m", "gpud_sdk.inspect_plugin", project.plugin]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=project.root)
    if done.returncode != 0:
        raise BuildError(f"{project.plugin} cannot be imported:\n{done.stderr.strip()}")
    answer = json.loads(done.stdout.splitlines()[-1])
    if "problem" in answer:
        raise BuildError(str(answer["problem"]))
    return Plan(answer["capabilities"], answer["exports"])


def build(root: Path) -> tuple[Path, Plan]:
    """Builds the component; gives its path and what it imports."""
    project = Project.read(root.resolve())
    planned = plan(project)
    tool = shutil.which(
        "componentize-py", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    )
    if tool is None:
        raise BuildError("componentize-py is not installed; `pip install gpud-sdk` brings it")
    with tempfile.TemporaryDirectory(prefix="gpud-build-") as scratch:
        wit, entry = Path(scratch, "wit"), Path(scratch, "entry")
        shutil.copytree(PACKAGE / "wit", wit)
        (wit / "gpud-sdk-plugin.wit").write_text(planned.world(), encoding="utf-8")
        entry.mkdir()
        (entry / "gpud_entry.py").write_text(planned.entry(project.plugin, project.warm_up), encoding="utf-8")
        # Only what the plugin needs of this package and its folder: not all of the virtual environment.
        shutil.copytree(PACKAGE, entry / "gpud_sdk", ignore=shutil.ignore_patterns("wit", "__pycache__"))
        made = Path(scratch, "plugin.wasm")
        command = [tool, "-q", "-d", str(wit), "-w", "gpud-sdk-plugin", "componentize", "gpud_entry"]
        command += ["--stub-wasi", "-p", str(entry), "-p", str(project.source), "-o", str(made)]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0 or not made.is_file():
            raise BuildError(f"componentize-py failed:\n{(done.stdout + done.stderr).strip()}")
        project.output.parent.mkdir(exist_ok=True)
        shutil.copyfile(made, project.output)
    return project.output, planned
