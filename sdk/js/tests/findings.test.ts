import assert from "node:assert/strict";
import { test } from "node:test";
import { findings, memory } from "../src/index.ts";
import { FakeHost } from "../src/testing.ts";
import type { CheckContext } from "../src/types.ts";

const context: CheckContext = {
  component: "c",
  now: 1_000,
  trigger: "manual",
  bootId: "",
  bootTime: 0,
  previousCheck: null,
  extra: {},
};

function finding(key: string, health: findings.Finding["health"], event = "e"): findings.Finding {
  return { key, event, text: `${key} is ${health}`, health };
}

test("the worst decides, and the first few are named", () => {
  const many = Array.from({ length: 7 }, (_, index) => finding(`d${index}`, "degraded"));
  const state = findings.state(context, "fine", [...many, { ...finding("u", "unhealthy"), action: "reboot-system" }]);
  assert.equal(state.health, "unhealthy");
  assert.match(state.reason, /^u is unhealthy; d0 is degraded; .*; and 3 more$/);
  assert.deepEqual(state.suggestedActions?.repairActions, ["reboot-system"]);
  assert.equal(findings.state(context, "fine", [finding("n", "healthy")]).reason, "fine");
});

test("events are transitions", () => {
  const steps: [found: findings.Finding[], names: string[]][] = [
    [[finding("a", "degraded")], ["e"]],
    [[finding("a", "degraded"), finding("a", "degraded")], []],
    [[finding("a", "unhealthy", "worse")], ["worse"]],
    [[], ["worse_cleared"]],
    [[], []],
  ];
  let open: findings.Open = new Map();
  for (const [found, names] of steps) {
    const judged = findings.judge(context, "fine", found, open);
    assert.deepEqual(
      judged.report.events?.map(({ name }) => name),
      names,
    );
    open = findings.restore(findings.save(judged.open));
  }
});

test("stored memory is bounded, and garbage restores nothing", () => {
  for (const saved of [undefined, "", "[]", "3", "null", "{", '{"a": 1}'])
    assert.equal(findings.restore(saved).size, 0);
  const many = Array.from({ length: 600 }, (_, index) => finding(`${index}`, "degraded"));
  const { report, open } = findings.judge(context, "fine", many, new Map([["old", "e"]]));
  assert.equal(report.events?.length, 500);
  assert.equal(open.size, 500);
  const host = new FakeHost();
  host.run(() => memory.judge(context, "fine", many.slice(0, 2)));
  assert.ok(host.state.has("open"));
  host.run(() => memory.judge(context, "fine", []));
  assert.equal(host.state.size, 0);
});
