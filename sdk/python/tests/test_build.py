"""What the build makes of a project, without running componentize-py."""

import dataclasses
import importlib
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from gpud_sdk import _heap
from gpud_sdk.build import BuildError, Plan, Project, plan

PYPROJECT = '[project]\nname = "fan-check"\n[tool.gpud]\nplugin = "fan:Fan"\n'
PLUGIN = """
from gpud_sdk import Checker, Component, Descriptor, HealthState, KmsgWatcher, Report, Scanner, net, sysfs

class Fan(Checker, Scanner, KmsgWatcher):
    descriptor = Descriptor.of(Component("fan", "Fans"))
    def check(self, context): return Report.of(HealthState.healthy(context, "fine"))
    scan = check
    def patterns(self, component): return []
    def on_messages(self, context, messages): return []
"""


class Build(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def project(self, pyproject: str = PYPROJECT, plugin: str = PLUGIN) -> Project:
        (self.root / "pyproject.toml").write_text(pyproject)
        (self.root / "fan.py").write_text(plugin)
        return Project.read(self.root)

    def test_what_is_imported_is_what_is_asked_for(self) -> None:
        planned = plan(self.project())
        self.assertEqual(planned, Plan(["kmsg", "net", "sysfs"], ["checker", "scanner", "kmsg-watcher"], ["fan"]))
        self.assertIn("    import net;\n    import sysfs;\n    export checker;\n", planned.world())
        entry = planned.entry("fan:Fan", True)
        compile(entry, "entry", "exec")
        self.assertIn("class KmsgWatcher(_guest.Exports)", entry)
        plain = PLUGIN.replace(", net, sysfs", "").replace(", Scanner, KmsgWatcher)", ")")
        self.assertEqual(plan(self.project(plugin=plain)), Plan([], ["checker"], ["fan"]))

    def test_modules_of_the_plugin_are_those_beside_it(self) -> None:
        (self.root / "shapes").mkdir()
        (self.root / "shapes" / "__init__.py").write_text("import json")
        (self.root / "blade.py").write_text("")
        (self.root / "unused.py").write_text("")
        planned = plan(self.project(plugin="import blade, shapes\n" + PLUGIN))
        self.assertEqual(planned.modules, ["blade", "fan", "shapes"])
        self.assertIn('"gpud_sdk", \'blade\', \'fan\', \'shapes\')', planned.entry("fan:Fan", True))

    def test_what_cannot_be_built_is_told(self) -> None:
        cases = [
            (PYPROJECT, "import nothing_of_this_name", "nothing_of_this_name"),
            (PYPROJECT, "Fan = 3", "no class that extends"),
            (PYPROJECT, PLUGIN.replace('"fan"', '"Fan!"'), "is not 1 to 128"),
            (PYPROJECT, PLUGIN.replace("    descriptor", "    other"), "has no `descriptor"),
            (PYPROJECT, PLUGIN.replace("def check", "def chek").replace("scan = check", ""), "lacks check"),
            (PYPROJECT, PLUGIN + "\nsysfs.read('/x')\n", "without a host"),
            (PYPROJECT.replace("fan:Fan", "fan"), PLUGIN, "module:Class"),
            (PYPROJECT.replace("fan:Fan", "fan:import os;x"), PLUGIN, "module:Class"),
            ("[project", PLUGIN, "pyproject.toml"),
        ]
        for pyproject, plugin, problem in cases:
            with self.subTest(problem=problem), self.assertRaisesRegex(BuildError, problem):
                plan(self.project(pyproject, plugin))
        with self.assertRaisesRegex(BuildError, "run this in the plugin's folder"):
            Project.read(self.root / "nowhere")


class Heap(unittest.TestCase):
    """What can be tried of `_heap` outside of a component."""

    def test_compiled_modules_are_imported_like_others(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder, "heap_package")
            (package / "inner").mkdir(parents=True)
            (package / "__init__.py").write_text("from .one import VALUE")
            (package / "one.py").write_text("from heap_alone import VALUE")
            (package / "inner" / "two.py").write_text("from ..one import VALUE as SAME")
            (package / "broken.py").write_text("this is no Python")
            (package / "self").symlink_to(package)
            Path(folder, "heap_alone.py").write_text("VALUE = __name__, __file__")
            Path(folder, "first", "heap_alone").mkdir(parents=True)  # data, not a module
            Path(folder, "heap_package.py").write_text("a package goes first")
            with patch("sys.path", [f"{folder}/first", folder, *sys.path]):
                compiled = _heap.Compiled("heap_package", "heap_alone", "heap_nowhere")
                names = ["heap_alone", "heap_package", "heap_package.inner", "heap_package.inner.two", "heap_package.one"]
                self.assertEqual(sorted(compiled.modules), names)
                with patch("sys.meta_path", [compiled, *sys.meta_path]), patch.dict("sys.modules"):
                    two = importlib.import_module("heap_package.inner.two")
                    self.assertEqual(two.SAME, ("heap_alone", f"{folder}/heap_alone.py"))
                    self.assertIs(sys.modules["heap_package"].__spec__.loader, compiled)
                    with self.assertRaises(SyntaxError):
                        importlib.import_module("heap_package.broken")

    def test_thawed_classes_compare_and_hash_as_frozen_ones(self) -> None:
        with patch("dataclasses.dataclass", dataclasses.dataclass):
            _heap.thaw()

            @dataclasses.dataclass(frozen=True)
            class Point:
                x: int
                y: int = 0

            self.assertEqual((Point(1), hash(Point(1))), (Point(1, 0), hash(Point(1, 0))))
            self.assertEqual(len({Point(1), Point(1), Point(2)}), 2)

    def test_gaps_are_filled_from_large_to_small(self) -> None:
        sizes = _heap.sizes()
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertEqual((sizes[0], sizes[-1]), (_heap.ROOM, 8))


if __name__ == "__main__":
    unittest.main()
