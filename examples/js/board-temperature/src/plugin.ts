/**
 * board-temperature: temperatures of boards and devices against limits of the operator. This file asks; `judge`
 * decides.
 */

import { config, definePlugin, state, sysfs } from "gpud-sdk";
import { SCHEMA, parse } from "./config.ts";
import { METRIC, judge, restore, save } from "./judge.ts";
import { find } from "./sensors.ts";

const HWMON = "/sys/class/hwmon/hwmon*";
/** Longest content of a sensor's file, bytes. */
const MAX_FILE = 256;
/** Key of the sensors that were too hot at the last check. */
const HOT = "hot";

export default definePlugin({
  components: [
    {
      name: "board-temperature",
      description: "Temperatures of boards and devices against limits",
      metrics: [{ name: METRIC, help: "Temperature by chip and sensor (degrees Celsius)" }],
      configSchema: SCHEMA,
    },
  ],

  check(context) {
    const settings = parse(config.document());
    const sensors = find(
      sysfs.readGlob(`${HWMON}/temp*_input`, MAX_FILE),
      sysfs.readGlob(`${HWMON}/temp*_label`, MAX_FILE),
      sysfs.readGlob(`${HWMON}/name`, MAX_FILE),
    );
    const before = restore(state.getText(HOT));
    const { report, hot } = judge(context, settings, sensors, before);
    if (save(hot) !== save(before)) state.set(HOT, save(hot));
    return report;
  },
});
