"""Temperature sensors out of the files of `/sys/class/hwmon` (kernel document
`Documentation/hwmon/sysfs-interface.rst`): `temp*_input` in thousandths of a degree Celsius, `temp*_label` and `name`
as text. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from gpud_sdk.sysfs import FileContent

# A chip that does not answer shows 0 (as a negative overflow -128) or all bits set (127 or 255).
COLDEST, HOTTEST = -50, 126
# Longest label or driver name that is used, characters.
MAX_NAME = 64
MAX_SENSORS = 1_024
# Compiled here, once, before the component's memory is snapshotted: every call starts from the snapshot.
PATH = re.compile(r"(/sys/class/hwmon/hwmon([0-9]{1,9}))/(temp([0-9]{1,9}))_input")
NUMBER = re.compile(r"-?[0-9]{1,7}")


@dataclass(frozen=True)
class Sensor:
    """One sensor."""

    #: Name of the chip's driver; with a number where there are several: `nvme`, `nvme.2`.
    chip: str
    #: Its label, or else its file's name: `temp1`.
    name: str
    #: The file.
    path: str
    #: Degrees Celsius; none where the file could not be read or shows no temperature.
    value: float | None

    @cached_property
    def key(self) -> str:
        """What the configuration calls it: `nvme/Composite`."""
        return f"{self.chip}/{self.name}"


def find(inputs: list[FileContent], labels: list[FileContent], names: list[FileContent]) -> list[Sensor]:
    """All sensors, in the kernel's order. Files that belong to no sensor are left out."""
    texts = {file.path: text for file in [*labels, *names] if (text := one_line(file.text()))}
    found = [(match, file) for file in inputs if (match := PATH.fullmatch(file.path))]
    # By number, since hwmon10 comes before hwmon2 otherwise.
    found.sort(key=lambda pair: (int(pair[0][2]), int(pair[0][4]), pair[1].path))
    chips: dict[str, str] = {}
    drivers: dict[str, int] = {}
    sensors: dict[str, Sensor] = {}
    for match, file in found[:MAX_SENSORS]:
        folder, base = match[1], match[3]
        if folder not in chips:
            driver = texts.get(f"{folder}/name", "unknown")
            count = drivers[driver] = drivers.get(driver, 0) + 1
            chips[folder] = f"{driver}.{count}" if count > 1 else driver
        name = texts.get(f"{folder}/{base}_label", base)
        if f"{chips[folder]}/{name}" in sensors:
            name = f"{name} ({base})"
        sensor = Sensor(chips[folder], name, file.path, celsius(file.text()))
        sensors[sensor.key] = sensor
    return list(sensors.values())


def one_line(text: str | None) -> str | None:
    """A name that can be shown, or none."""
    return text if text and len(text) <= MAX_NAME and text.isprintable() else None


def celsius(text: str | None) -> float | None:
    """Degrees out of thousandths, where it is a temperature."""
    if text is None or not NUMBER.fullmatch(text):
        return None
    value = int(text) / 1000
    return value if COLDEST < value < HOTTEST else None
