/**
 * Temperature sensors out of the files of `/sys/class/hwmon` (kernel document
 * `Documentation/hwmon/sysfs-interface.rst`): `temp*_input` in thousandths of a degree Celsius, `temp*_label` and
 * `name` as text. Pure.
 */

import { sysfs } from "gpud-sdk";

/** A chip that does not answer shows 0 (as a negative overflow -128) or all bits set (127 or 255). */
const COLDEST = -50;
const HOTTEST = 126;
/** Longest label or driver name that is used, characters. */
const MAX_NAME = 64;
const MAX_SENSORS = 1_024;

const INPUT = /^(\/sys\/class\/hwmon\/hwmon([0-9]{1,9}))\/(temp([0-9]{1,9}))_input$/;
const THOUSANDTHS = /^-?[0-9]{1,7}$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** One sensor. */
export interface Sensor {
  /** Name of the chip's driver; with a number where there are several: `nvme`, `nvme.2`. */
  readonly chip: string;
  /** Its label, or else its file's name: `temp1`. */
  readonly name: string;
  /** Both, `nvme/Composite`: what the configuration calls it. */
  readonly key: string;
  /** The file. */
  readonly path: string;
  /** Degrees Celsius; left out where the file could not be read or shows no temperature. */
  readonly value: number | undefined;
}

interface Place {
  readonly folder: string;
  readonly chip: number;
  readonly base: string;
  readonly index: number;
  readonly file: sysfs.FileContent;
}

/** All sensors, in the kernel's order. Files that belong to no sensor are left out. */
export function find(
  inputs: readonly sysfs.FileContent[],
  labels: readonly sysfs.FileContent[],
  names: readonly sysfs.FileContent[],
): Sensor[] {
  const texts = new Map<string, string | undefined>();
  for (const file of labels.concat(names)) texts.set(file.path, oneLine(sysfs.textOf(file)));
  const places: Place[] = [];
  for (const file of inputs) {
    const match = INPUT.exec(file.path);
    if (match) places.push(place(file, match));
  }
  // By number, since hwmon10 comes before hwmon2 otherwise.
  places.sort((a, b) => a.chip - b.chip || a.index - b.index);
  const chips = new Map<string, string>();
  const drivers = new Map<string, number>();
  const sensors = new Map<string, Sensor>();
  for (const { folder, base, file } of places.slice(0, MAX_SENSORS)) {
    let chip = chips.get(folder);
    if (chip === undefined) {
      const driver = texts.get(`${folder}/name`) ?? "unknown";
      const count = (drivers.get(driver) ?? 0) + 1;
      drivers.set(driver, count);
      chip = count > 1 ? `${driver}.${count}` : driver;
      chips.set(folder, chip);
    }
    const label = texts.get(`${folder}/${base}_label`) ?? base;
    const name = sensors.has(`${chip}/${label}`) ? `${label} (${base})` : label;
    const key = `${chip}/${name}`;
    sensors.set(key, { chip, name, key, path: file.path, value: celsius(sysfs.textOf(file)) });
  }
  return [...sensors.values()];
}

// By the groups' numbers: a pattern that takes the match apart costs an iterator, and each step of it, in an interpreter.
function place(file: sysfs.FileContent, match: RegExpExecArray): Place {
  return { folder: match[1] ?? "", chip: Number(match[2]), base: match[3] ?? "", index: Number(match[4]), file };
}

/** A name that can be shown, or none. */
function oneLine(text: string | undefined): string | undefined {
  return text && text.length <= MAX_NAME && !CONTROL.test(text) ? text : undefined;
}

/** Degrees out of thousandths, where it is a temperature. */
function celsius(text: string | undefined): number | undefined {
  if (text === undefined || !THOUSANDTHS.test(text)) return undefined;
  const value = Number(text) / 1_000;
  return value > COLDEST && value < HOTTEST ? value : undefined;
}
