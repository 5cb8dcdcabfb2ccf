"""The checker on a machine made of plain values: `python -m unittest discover -s tests`."""

import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from board_temperature import BoardTemperature
from gpud_sdk import CheckFailed, Denied, Health, TimedOut
from gpud_sdk.testing import FakeHost

HWMON = "/sys/class/hwmon/"


def chip(number: int, driver: str, label: str | None, reading: object) -> dict[str, object]:
    """The files of a chip with one sensor."""
    folder = f"{HWMON}hwmon{number}/"
    files = {f"{folder}name": f"{driver}\n", f"{folder}temp1_input": reading}
    return files | ({f"{folder}temp1_label": f"{label}\n"} if label else {})


class BoardTemperatureTest(unittest.TestCase):
    def test_verdicts(self) -> None:
        own = {"sensors": {"nvme/Composite": {"warn": 60, "critical": 70}}}
        cases = [
            ({}, "45500", Health.HEALTHY, "1 sensors, hottest is nvme/Composite with 45.5 °C", None),
            ({}, "-1500", Health.HEALTHY, "1 sensors, hottest is nvme/Composite with -1.5 °C", None),
            ({}, "95000", Health.DEGRADED, "nvme/Composite: 95.0 °C, warning is 95.0 °C", "temperature_warning"),
            ({}, "105000", Health.UNHEALTHY, "nvme/Composite: 105.0 °C, critical is 105.0 °C", "temperature_critical"),
            ({"warn": 40, "critical": 50.5}, "50400", Health.DEGRADED,
             "nvme/Composite: 50.4 °C, warning is 40.0 °C", "temperature_warning"),
            (own, "71000", Health.UNHEALTHY, "nvme/Composite: 71.0 °C, critical is 70.0 °C", "temperature_critical"),
            ({"sensors": {"a/b": {}}}, "45500", Health.DEGRADED, "a/b: no such sensor", None),
            ({"sensors": {"nvme/Composite": {}}}, "255000", Health.DEGRADED, "nvme/Composite: cannot be read", None),
            ({}, "255000", Health.DEGRADED, "none of 1 temperature sensors can be read", None),
            ({}, "warm", Health.DEGRADED, "none of 1 temperature sensors can be read", None),
        ]  # fmt: skip
        for config, reading, health, reason, event in cases:
            with self.subTest(config=config, reading=reading):
                report = FakeHost(files=chip(0, "nvme", "Composite", f"{reading}\n"), config=config).check(
                    BoardTemperature
                )
                (state,) = report.states
                self.assertEqual((state.health, state.reason), (health, reason))
                self.assertEqual([one.name for one in report.events], [event] if event else [])
                self.assertEqual(state.suggested_actions is not None, event is not None)

    def test_an_event_is_a_crossing(self) -> None:
        steps = [
            ("50000", None),
            ("96000", "temperature_warning"),
            ("97000", None),
            ("106000", "temperature_critical"),
            ("x", None),  # not readable this time: nothing is known, nothing is forgotten
            ("107000", None),
            ("96000", "temperature_warning"),
            ("50000", "temperature_normal"),
            ("50000", None),
        ]
        host = FakeHost(files=chip(4, "k10temp", None, "40000"))
        for reading, event in steps:
            host.files |= chip(3, "nvme", None, reading)
            events = host.check(BoardTemperature).events
            self.assertEqual([one.name for one in events], [event] if event else [])
            self.assertTrue(all(one.subject and one.subject.value == ("sensor", "nvme/temp1") for one in events))

    def test_names_and_metrics(self) -> None:
        files = chip(10, "nvme", None, "30000") | chip(2, "nvme", None, "20000") | chip(3, "two\nlines", None, "25000")
        files |= {
            f"{HWMON}hwmon2/temp2_input": "21000\n",
            f"{HWMON}hwmon2/temp2_label": "temp1\n",
            f"{HWMON}hwmon2/temp3_input": TimedOut("read", 5_000),
        }
        report = FakeHost(files=files).check(BoardTemperature)
        found = {(one.labels["chip"], one.labels["sensor"]): one.value for one in report.metrics}
        self.assertEqual(
            found,
            {("nvme", "temp1"): 20, ("nvme", "temp1 (temp2)"): 21, ("unknown", "temp1"): 25, ("nvme.2", "temp1"): 30},
        )
        self.assertEqual(report.states[0].extra_info, {"unreadable": "1 of 5"})

    def test_trouble(self) -> None:
        report = FakeHost().check(BoardTemperature)
        self.assertFalse(report.supported)
        self.assertEqual(report.states[0].reason, "no temperature sensor on this machine")
        with self.assertRaises(Denied):
            FakeHost(denied={"sysfs"}).check(BoardTemperature)
        for wrong in ("", "[]", {"warn": 200}, {"warn": "x"}, {"sensors": {"a/b": {"critical": 1}}}, {"sensors": 3}):
            with self.subTest(wrong=wrong), self.assertRaises(CheckFailed):
                FakeHost(config=wrong).check(BoardTemperature)

    def test_any_files_are_survived(self) -> None:
        letters = b'0123456789-. \n\t\\nvme\x80\xff\xc3\xa4{}":,'
        dice = random.Random(1)
        names = ["name", "temp1_input", "temp1_label", "temp2_input", "temp_input"]
        for _ in range(300):
            files = {
                f"{HWMON}hwmon{dice.randrange(4)}/{dice.choice(names)}": bytes(
                    dice.choices(letters, k=dice.randrange(16))
                )
                for _ in range(20)
            }
            report = FakeHost(files=files, state={"hot": bytes(dice.choices(letters, k=9))}).check(BoardTemperature)
            self.assertLessEqual(len(report.metrics), 20)


if __name__ == "__main__":
    unittest.main()
