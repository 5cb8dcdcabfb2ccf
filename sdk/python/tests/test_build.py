"""What the build makes of a project, without running componentize-py."""

import dataclasses
import importlib
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from gpud_sdk import _heap, _immortal
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

    def test_all_objects_are_found_once(self) -> None:
        seen: set[int] = set()

        def is_new(address: int) -> bool:
            new = address not in seen
            seen.add(address)
            return new

        found = {id(one) for one in _heap.everything(is_new)}
        for one in (_heap, _heap.sizes, _heap.sizes.__code__.co_consts, _heap.LIBRARY, str.__dict__["join"], str.__mro__):
            self.assertIn(id(one), found)
        self.assertEqual(len(found), len(seen))

    def test_what_was_seen(self) -> None:
        seen = _heap.Seen()
        for address, new in ((0, True), (4, True), (4, False), (32, True), (0, False), (_heap.MEMORY, False)):
            self.assertEqual(seen.is_new(address), new, address)
        seen.clear()
        self.assertFalse(any(seen.bits))
        self.assertTrue(seen.is_new(4))


def section(kind: int, content: bytes) -> bytes:
    """Of up to 16 KiB."""
    return bytes([kind, len(content) & 127 | 128, len(content) >> 7]) + content


def segment(base: int, content: bytes) -> bytes:
    """Data at an address below 64."""
    return bytes([0, _immortal.I32_CONST, base, _immortal.END, len(content) & 127 | 128, len(content) >> 7]) + content


def component(*segments: bytes) -> bytes:
    """With a module within a component within it; one with other data comes before."""
    other = _immortal.MODULE + section(_immortal.DATA, bytes([1]) + segment(0, b"\1\0\0\0"))
    module = _immortal.MODULE + section(1, b"\0") + section(_immortal.DATA, bytes([len(segments)]) + b"".join(segments))
    inner = _immortal.COMPONENT + section(1, module)
    return _immortal.COMPONENT + section(1, other) + section(7, b"\0") + section(4, inner)


def words(*numbers: int) -> bytes:
    """As they lie in memory."""
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def listing(*addresses: int, wrong: int = 0) -> bytes:
    """Of objects."""
    return _immortal.MARK + words(sum(addresses) + wrong, len(addresses), *addresses)


class Immortal(unittest.TestCase):
    def test_a_list_survives_that_zeros_are_left_out(self) -> None:
        small = type("Small", (), {})()
        with patch.object(_heap, "id", lambda _: 0x10000, create=True):
            text = bytes(_heap.addresses([small, small]))
        self.assertEqual(text, listing(0x10000, 0x10000) + b".")

    def test_both_sides_know_the_mark(self) -> None:
        self.assertEqual(_heap.MARK, _immortal.MARK)

    def test_counts_of_listed_objects_are_set(self) -> None:
        immortal = _immortal.IMMORTAL
        # Two at the ends, one without references, one that is immortal, two that are not whole or not there, an unlisted one.
        before, after = words(1, 0, 7 << 28, 5, 9), words(immortal, 0, 7 << 28, 5, immortal)
        addresses = listing(0, 4, 8, 16, 18, 60)
        passive = bytes([1, 2]) + b"xy"
        for rest in (addresses, _immortal.MARK + addresses, listing(12, wrong=1) + addresses):
            given = component(passive, segment(0, before), segment(20, rest))
            self.assertEqual(_immortal.apply(given), component(passive, segment(0, after), segment(20, rest)))

    def test_what_has_no_list_is_told(self) -> None:
        good = component(segment(0, words(1)), segment(4, listing(0)))
        _immortal.apply(good)
        cases = [good[:length] for length in range(len(good) - len(listing(0)))]
        cases += [b"", b"text, not WebAssembly", component(), component(segment(0, words(1)))]
        cases += [component(segment(0, words(1)), segment(4, listing(0, wrong=1)))]
        cases += [component(segment(0, words(1)), segment(4, _immortal.MARK + words(0, 1 << 31)))]
        for given in cases:
            with self.assertRaises(_immortal.Malformed):
                _immortal.apply(given)


if __name__ == "__main__":
    unittest.main()
