"""The checker on a machine made of plain values."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from gpud_sdk import Denied, Health, TimedOut
from gpud_sdk.testing import FakeHost
from {{identifier}} import MemoryCheck, kibibytes

MEMINFO = "/proc/meminfo"
UNKNOWN = "/proc/meminfo does not say how much memory is available"


def memory(available: int) -> str:
    return f"MemTotal:        1000 kB\nMemFree:           5 kB\nMemAvailable:     {available} kB\n"


class MemoryCheckTest(unittest.TestCase):
    def test_too_little_memory_is_degraded(self) -> None:
        cases = [
            (memory(610), Health.HEALTHY, "61 % of memory is available"),
            (memory(290), Health.HEALTHY, "29 % of memory is available"),
            (memory(50), Health.HEALTHY, "5 % of memory is available"),
            (memory(49), Health.DEGRADED, "4 % of memory is available, less than 5 %"),
            ("", Health.DEGRADED, UNKNOWN),
            (memory(1001), Health.DEGRADED, UNKNOWN),
            ("MemTotal: 0 kB\nMemAvailable: 0 kB\n", Health.DEGRADED, UNKNOWN),
        ]
        for meminfo, health, reason in cases:
            with self.subTest(meminfo=meminfo):
                (state,) = FakeHost(files={MEMINFO: meminfo}).check(MemoryCheck).states
                self.assertEqual((state.health, state.reason), (health, reason))

    def test_only_numbers_are_sizes(self) -> None:
        self.assertEqual(kibibytes("MemTotal:  12 kB\n", "MemTotal"), 12)
        for wrong in ("", "-1 kB", "12", "much kB", "\N{SUPERSCRIPT TWO} kB", "9" * 5_000 + " kB"):
            self.assertIsNone(kibibytes(f"MemTotal: {wrong}\n", "MemTotal"))

    def test_trouble_with_a_source_is_passed_on(self) -> None:
        self.assertRaises(TimedOut, FakeHost(files={MEMINFO: TimedOut("read", 5_000)}).check, MemoryCheck)
        self.assertRaises(Denied, FakeHost(denied={"sysfs"}).check, MemoryCheck)


if __name__ == "__main__":
    unittest.main()
