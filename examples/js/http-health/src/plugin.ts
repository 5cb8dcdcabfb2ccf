/** http-health: services of this node that tell their health as JSON over HTTP. This file asks; `judge` decides. */

import { AccessError, Denied, OverBudget, config, definePlugin, memory, net, state } from "gpud-sdk";
import { SCHEMA, type Service, parse } from "./config.ts";
import { type Answer, METRIC, judge, restore, save } from "./judge.ts";

/** Longest answer, bytes. */
const MAX_BODY = 64 * 1024;
/** Key of the failures in a row. */
const FAILURES = "failures";

export default definePlugin({
  components: [
    {
      name: "http-health",
      description: "Services of this node that tell their health over HTTP",
      metrics: [{ name: METRIC, help: "Whether a service answers and is not unhealthy, by service (1 or 0)" }],
      configSchema: SCHEMA,
    },
  ],

  check(context) {
    const services = parse(config.document());
    const answers = services.map(ask);
    const before = restore(state.getText(FAILURES));
    const open = memory.load();
    const judged = judge(context, services, answers, before, open);
    if (save(judged.failures) !== save(before)) state.set(FAILURES, save(judged.failures));
    memory.keep(judged.open, open);
    return judged.report;
  },
});

function ask({ endpoint, path, timeoutMs }: Service): Answer {
  try {
    const response = net.httpGet(endpoint, path, {
      headers: { accept: "application/json" },
      maxBodyBytes: MAX_BODY,
      timeoutMs,
    });
    return { status: response.status, body: net.textOf(response) };
  } catch (error) {
    // A missing grant and a spent budget say nothing of the service.
    if (!(error instanceof AccessError) || error instanceof Denied || error instanceof OverBudget) throw error;
    return error;
  }
}
