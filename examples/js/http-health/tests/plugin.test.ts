// The checker on a machine made of plain values: `npm test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CheckFailed, Denied, TimedOut } from "gpud-sdk";
import { FakeHost, type FakeResponse, type Given } from "gpud-sdk/testing";
import { wordOf } from "../src/judge.ts";
import plugin from "../src/plugin.ts";

function host(answer: Given<FakeResponse> | undefined, service: object = {}): FakeHost {
  const config = { services: { api: { port: 8000, failures: 1, ...service } } };
  return new FakeHost({ config, http: answer === undefined ? {} : { "8000/health": answer } });
}

const SLOW = new TimedOut("GET /health", 2_000);
const VERDICTS: [answer: Given<FakeResponse> | undefined, service: object, health: string, reason: string][] = [
  [{ status: 200, body: '{"status": "UP"}' }, {}, "healthy", "the service is well"],
  [{ status: 200, body: '{"a": {"b": true}}' }, { field: "a.b", healthy: ["true"] }, "healthy", "the service is well"],
  [{ status: 204 }, { field: "" }, "healthy", "the service is well"],
  [{ status: 200, body: '{"status": "warn"}' }, {}, "degraded", "api: status is warn"],
  [{ status: 200, body: "<html>" }, {}, "degraded", "api: HTTP status 200 without `status`"],
  [{ status: 200, body: '{"status": "down"}' }, {}, "unhealthy", "api: status is down"],
  [{ status: 503, body: '{"status": "ok"}' }, {}, "unhealthy", "api: status is ok, HTTP status 503"],
  [{ status: 503, body: '{"status": "degraded"}' }, {}, "degraded", "api: status is degraded"],
  [{ status: 404 }, {}, "unhealthy", "api: HTTP status 404"],
  [{ status: 500 }, { field: "" }, "unhealthy", "api: HTTP status 500"],
  [SLOW, {}, "unhealthy", "api: GET /health: no answer for 2000 ms"],
  [undefined, {}, "unhealthy", "api: GET 8000/health: not found"],
];

for (const [answer, service, health, reason] of VERDICTS) {
  test(`${JSON.stringify(answer)} with ${JSON.stringify(service)} is ${health}`, () => {
    const { states, metrics = [] } = host(answer, service).check(plugin);
    assert.deepEqual([states[0]?.health, states[0]?.reason], [health, reason]);
    assert.deepEqual(metrics[0]?.value, health === "unhealthy" ? 0 : 1);
  });
}

test("down after failures in a row", () => {
  const machine = host(SLOW, { failures: 2 });
  const steps: [answer: Given<FakeResponse>, health: string, events: string[]][] = [
    [SLOW, "degraded", ["service_failed"]],
    [SLOW, "unhealthy", ["service_down"]],
    [SLOW, "unhealthy", []],
    [{ status: 200, body: '{"status": "ok"}' }, "healthy", ["service_down_cleared"]],
    [SLOW, "degraded", ["service_failed"]],
  ];
  for (const [answer, health, names] of steps) {
    machine.machine.http = { "8000/health": answer };
    const { states, events = [] } = machine.check(plugin);
    assert.equal(states[0]?.health, health);
    assert.deepEqual(
      events.map(({ name }) => name),
      names,
    );
  }
});

test("trouble that is not the service's", () => {
  assert.equal(new FakeHost().check(plugin).supported, false);
  const denied = host({ status: 200 });
  denied.machine.denied = ["net"];
  assert.throws(() => denied.check(plugin), Denied);
  for (const api of [
    3,
    {},
    { port: "x" },
    { port: 70_000 },
    { socket: "x" },
    { port: 1, failures: 0 },
    { port: 1, path: 2 },
  ]) {
    assert.throws(() => new FakeHost({ config: { services: { api } } }).check(plugin), CheckFailed);
  }
});

test("any body is survived", () => {
  for (const body of [
    "",
    "null",
    "[]",
    '"x"',
    '{"status": {}}',
    '{"status": null}',
    "{",
    '{"__proto__": 1}',
    "\u0000",
  ]) {
    assert.equal(wordOf(body, "status"), undefined);
    const { states } = host({ status: 200, body }).check(plugin);
    assert.equal(states[0]?.health, "degraded");
  }
  assert.equal(wordOf('{"toString": "x"}', "constructor.name"), undefined);
});
