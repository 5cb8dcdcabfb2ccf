// In a component: the import itself.
// @ts-ignore: known to the componentizer alone.
import imported from "gpud:plugin/history@0.1.0";
import { warmable } from "../warm.ts";
import type { Wit } from "../wit.ts";

export default /* @__PURE__ */ warmable("history", imported as Wit["history"]);
