"""What the build makes of a project, without running componentize-py."""

import tempfile
import unittest
from pathlib import Path

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
        self.assertEqual(planned, Plan(["kmsg", "net", "sysfs"], ["checker", "scanner", "kmsg-watcher"]))
        self.assertIn("    import net;\n    import sysfs;\n    export checker;\n", planned.world())
        entry = planned.entry("fan:Fan", True)
        compile(entry, "entry", "exec")
        self.assertIn("class KmsgWatcher(_guest.Exports)", entry)
        plain = PLUGIN.replace(", net, sysfs", "").replace(", Scanner, KmsgWatcher)", ")")
        self.assertEqual(plan(self.project(plugin=plain)), Plan([], ["checker"]))

    def test_a_plugin_that_cannot_be_built_is_refused_with_the_reason(self) -> None:
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


if __name__ == "__main__":
    unittest.main()
