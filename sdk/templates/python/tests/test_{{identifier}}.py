"""The checker on a machine made of plain values."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from gpud_sdk import Denied, Health, TimedOut
from gpud_sdk.testing import FakeHost
from {{identifier}} import FanCheck, speed

FAN = "/sys/class/hwmon/hwmon0/fan{}_input"


class FanCheckTest(unittest.TestCase):
    def test_slow_fans_are_named(self) -> None:
        cases = [
            ([], Health.HEALTHY, "this machine shows no fans"),
            (["900\n", "1200\n"], Health.HEALTHY, "2 fans turn"),
            (["900", "299"], Health.DEGRADED, f"1 of 2 fans are too slow: {FAN.format(1)} at 299 rpm"),
            (["900", TimedOut("read", 5_000)], Health.HEALTHY, "1 fans turn"),
            (["gone"], Health.DEGRADED, "no fan can be read"),
        ]
        for fans, health, reason in cases:
            with self.subTest(reason=reason):
                files = {FAN.format(index): text for index, text in enumerate(fans)}
                (state,) = FakeHost(files=files).check(FanCheck).states
                self.assertEqual((state.health, state.reason), (health, reason))

    def test_only_numbers_are_speeds(self) -> None:
        self.assertEqual(speed("1200"), 1200)
        for wrong in (None, "", "-1", "fast", "\N{SUPERSCRIPT TWO}", "9" * 5_000):
            self.assertIsNone(speed(wrong))

    def test_a_missing_grant_is_told(self) -> None:
        self.assertRaises(Denied, FakeHost(denied={"sysfs"}).check, FanCheck)


if __name__ == "__main__":
    unittest.main()
