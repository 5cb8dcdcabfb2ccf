/** Keeps what `findings` has to remember among the component's values. Grant: `state: true`. */

import { type Finding, type Open, judge as judgeFindings, restore, save } from "./findings.ts";
import { getText, remove, set } from "./state.ts";
import type { CheckContext, Report } from "./types.ts";

const KEY = "open";

/** What was open at the last check. */
export function load(): Open {
  return restore(getText(KEY));
}

/** Stores what is open now, if it differs from what is stored. */
export function keep(open: Open, before: Open): void {
  const text = save(open);
  if (text === save(before)) return;
  if (text === undefined) remove(KEY);
  else set(KEY, text);
}

/** `findings.judge` with the memory of the last check. */
export function judge(context: CheckContext, reason: string, findings: readonly Finding[]): Report {
  const before = load();
  const { report, open } = judgeFindings(context, reason, findings, before);
  keep(open, before);
  return report;
}
