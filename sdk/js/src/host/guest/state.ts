// In a component: the import itself.
// @ts-ignore: known to the componentizer alone.
import imported from "gpud:plugin/state@0.1.0";
import type { Wit } from "../wit.ts";

export default imported as Wit["state"];
