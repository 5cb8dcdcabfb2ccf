// The page in Chromium against the real daemon: what is shown is what the API says.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { Machine, eventually } from './machine.mjs';
import { inTerminal, terminalPage, writeSmall } from './pictures.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env.GPUD_PAGE_SHOTS;
const SHAPES = [
  ['light', 1440],
  ['dark', 1440],
  ['light', 390],
  ['dark', 390],
];

let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.GPUD_CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
});
after(async () => {
  await browser?.close();
  await (await plain)?.end();
});

let plain;

/** A machine without GPUs, for tests that leave it as it is. */
async function plainMachine() {
  plain ??= Machine.start().then(async (machine) => {
    await machine.settled();
    return machine;
  });
  return plain;
}

/** Opens a view of a machine. Whatever the console complains of is a failure, unless it is expected. */
async function open(machine, hash = '', { scheme = 'light', width = 1440, expected = [], prepare } = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, colorScheme: scheme, viewport: { width, height: width < 600 ? 844 : 900 }, timezoneId: 'Europe/Berlin', serviceWorkers: 'block' });
  const page = await context.newPage();
  page.complaints = [];
  const complain = (text) => {
    if (!expected.some((part) => text.includes(part))) page.complaints.push(text);
  };
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complain(message.text());
  });
  page.on('pageerror', (error) => complain(String(error.stack)));
  page.on('request', (asked) => {
    if (!asked.url().startsWith(`${machine.url}/`) && !asked.url().startsWith('data:')) complain(`asks elsewhere: ${asked.url()}`);
  });
  if (prepare) await prepare(page);
  if (process.env.GPUD_PAGE_DIST) await page.route((url) => url.pathname === '/' || url.pathname.startsWith('/page/'), fromFolder);
  await page.goto(`${machine.url}/${hash}`);
  return page;
}

const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };

/** Answers with a file of the page as it was built last, in place of the one in the binary. */
async function fromFolder(route) {
  const { pathname } = new URL(route.request().url());
  const name = pathname === '/' ? 'index.html' : pathname.slice('/page/'.length);
  await route.fulfill({ body: readFileSync(join(process.env.GPUD_PAGE_DIST, name)), contentType: TYPES[name.split('.').pop()] });
}

async function close(page) {
  assert.deepEqual(page.complaints, [], 'the console complains of nothing');
  await page.context().close();
}

/** Looks at a view in every shape: a picture of each, and no fault that keeps somebody out. */
async function look(machine, name, hash = '', ready = '[data-verdict]', options = {}) {
  for (const [scheme, width] of SHAPES) {
    const page = await open(machine, hash, { ...options, scheme, width });
    await page.waitForSelector(ready);
    await page.waitForTimeout(600);
    await page.screenshot({ path: join(shots, `${name}-${scheme}-${width}.png`), fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name} at ${width} is ${wide} pixels too wide`);
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    const serious = found.violations.filter((one) => one.impact === 'serious' || one.impact === 'critical');
    const faults = serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`);
    assert.deepEqual(faults, [], `${name} ${scheme} ${width}`);
    await close(page);
  }
}

const text = (page, selector) => page.locator(selector).first().innerText();

const HEALTHY = `product: h100-sxm
all:
  utilization: {gpu: 98, memory: 52}
  temperature: {gpu: 62, memory: 72, margin: 26}
  power: {usage: 548000}
  clocks: {event_reasons: 0}
  memory: {used: 71940702208}
  gpm: {metrics: {3: 64.0}}
`;
const XID_79 = 'NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.';
const LOST = `${HEALTHY}gpu:\n  3: {state: lost}\n`;

test('eight healthy GPUs', async (t) => {
  const machine = await Machine.start({ scenario: HEALTHY, flags: ['--components', 'all,-library,-accelerator-nvidia-peermem'] });
  t.after(() => machine.end());
  await machine.settled();
  const summary = await machine.json('/v1/summary');
  const info = await machine.json('/machine-info');
  const page = await open(machine);
  await page.waitForSelector('[data-link=live]');
  assert.equal(await page.getAttribute('[data-verdict]', 'data-verdict'), summary.verdict);
  assert.equal(await page.locator('[data-gpu]').count(), info.gpuInfo.gpus.length);
  for (const gpu of info.gpuInfo.gpus) {
    const card = await text(page, `[data-gpu="${gpu.uuid}"]`);
    for (const part of ['98 %', '67 / 80 GiB', '548 / 700 W', '62 / 87 °C', 'NVLink: 18 up', 'PCIe 5 x16', 'no ECC errors', gpu.busID.slice(5)]) assert.ok(card.includes(part), `${part} in ${card}`);
  }
  const timing = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  t.diagnostic(`first paint after ${Math.round(timing)} ms`);
  await close(page);
  await look(machine, 'healthy');
  // Samples are stored once a minute.
  for (let tries = 0; tries < 60; tries += 1) {
    const stored = await machine.json('/v1/metrics?components=accelerator-nvidia-power');
    if (JSON.stringify(stored).includes('accelerator_nvidia_power')) break;
    await new Promise((done) => setTimeout(done, 2000));
  }
  for (const [name, hash, ready] of [
    ['timeline', '#/timeline?range=6h', '#timeline'],
    ['charts', '#/metrics/accelerator-nvidia-power', '.chart canvas'],
    ['checks', '#/checks', '[data-check=disk]'],
    ['check', '#/check/disk', '.state'],
    ['plugins', '#/plugins', '#bill'],
    ['gpu', `#/gpu/${info.gpuInfo.gpus[2].uuid}`, '.gpu-bars'],
  ]) {
    await look(machine, name, hash, ready);
  }
});

test('a GPU is lost while the page is open', async (t) => {
  const machine = await Machine.start({ scenario: HEALTHY, flags: ['--components', 'all,-library,-accelerator-nvidia-peermem'] });
  t.after(() => machine.end());
  await machine.settled();
  const page = await open(machine);
  await page.waitForSelector('[data-link=live]');
  machine.scenario(LOST);
  machine.kernel(XID_79);
  // The stream brings it: the page is not loaded again.
  await page.waitForSelector('[data-verdict=Unhealthy]', { timeout: 240_000 });
  await eventually('all checks say so', async () => (await machine.json('/v1/summary')).troubles.some((one) => one.states.length > 5));
  await page.waitForTimeout(4000);
  const summary = await machine.json('/v1/summary');
  const info = await machine.json('/machine-info');
  const lost = info.gpuInfo.gpus[3];
  const [worst] = summary.troubles;
  assert.equal(worst.subject.kind, 'gpu');
  const row = await text(page, `[data-trouble="${worst.id}"]`);
  for (const part of [worst.subject.label, worst.action].filter(Boolean)) assert.ok(row.includes(part), `${part} in ${row}`);
  const verdict = await text(page, '[data-verdict]');
  const whole = verdict + (await text(page, `[data-gpu="${lost.uuid}"]`));
  // Somebody who has never seen gpud finds the GPU, its serial number and the action.
  for (const part of ['GPU 3', lost.sn, worst.action].filter(Boolean)) assert.ok(whole.includes(part), `${part} in ${whole}`);
  assert.equal(await page.locator('[data-trouble]').count(), summary.troubles.length);
  // Every change of health of a check that names the GPU is about it, and the timeline shows them as one row.
  const { entries } = await machine.json('/v1/history?limit=100');
  const changes = entries.filter((entry) => entry.kind === 'health' && worst.states.some((state) => state.component === entry.component));
  assert.ok(changes.length > 5, `${changes.length} changes`);
  for (const { component, subject } of changes) assert.deepEqual([component, subject?.label, subject?.uuid, subject?.serial], [component, 'GPU 3', lost.uuid, lost.sn]);
  await eventually('one row for all', async () => /GPU 3 .* \d+ checks say so/.test(await text(page, '.entries')), 30_000);
  // The row of the trouble has the kernel's own line.
  await eventually('the kernel line is there', async () => (await text(page, `[data-trouble="${worst.id}"]`)).includes(XID_79), 30_000);
  await close(page);
  const evidence = await open(machine, `#/trouble/${encodeURIComponent(worst.id)}`);
  await evidence.waitForSelector('.explanation dl');
  const explained = await text(evidence, '.explanation');
  for (const part of [XID_79, 'Likely causes', 'heat', 'Reboot the node.', 'docs.nvidia.com']) assert.ok(explained.includes(part), `${part} in ${explained}`);
  await evidence.click('.more[aria-expanded=true]');
  assert.equal(await evidence.locator('.explanation').count(), 0, 'it can be closed');
  await close(evidence);
  await look(machine, 'lost');
  await look(machine, 'lost-trouble', `#/trouble/${encodeURIComponent(worst.id)}`, '.state');
  await look(machine, 'lost-gpu', `#/gpu/${lost.uuid}`, '.gpu-bars');
  await pictures(machine);
});

/** Takes the pictures of the README. */
async function pictures(machine) {
  const folder = join(shots, 'readme');
  mkdirSync(folder, { recursive: true });
  for (const [scheme, name] of [
    ['light', 'page.png'],
    ['dark', 'page-dark.png'],
  ]) {
    const page = await open(machine, '', { scheme, width: 1200 });
    await page.waitForSelector('[data-link=live]');
    await page.waitForSelector('.trouble .evidence code');
    await page.waitForTimeout(600);
    const end = await page.evaluate(() => Math.round(document.querySelector('.absent').getBoundingClientRect().top + scrollY));
    const whole = await page.screenshot({ fullPage: true, clip: { x: 0, y: 0, width: 1200, height: end } });
    await close(page);
    await writePicture(whole, join(folder, name));
  }
  const driver = machine.flags[machine.flags.indexOf('--nvml-library') + 1];
  const output = await inTerminal(96, process.env.GPUD_BIN, ['scan', '--nvml-library', driver, '--components', 'all,-library,-accelerator-nvidia-peermem'], { KMSG_FILE_PATH: machine.log });
  const last = output.trimEnd().split('\n').pop().replace(/\u001b\[[0-9;]*m/g, '');
  assert.equal(last, 'Unhealthy: GPU 3 fell off the bus: Xid 79. Reboot the node.');
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
  const page = await context.newPage();
  await page.setContent(terminalPage('gpud scan', output));
  const terminal = await page.locator('#terminal').screenshot();
  await context.close();
  await writePicture(terminal, join(folder, 'terminal.png'));
}

async function writePicture(png, file) {
  const context = await browser.newContext();
  await writeSmall(await context.newPage(), png, file);
  await context.close();
  const { size } = statSync(file);
  assert.ok(size < 150 * 1024, `${file} has ${size} bytes`);
}

test('a storm of events', async (t) => {
  const machine = await Machine.start({ scenario: HEALTHY });
  t.after(() => machine.end());
  await machine.settled();
  const page = await open(machine, '#/timeline?range=30m');
  await page.waitForSelector('[data-link=live]');
  for (let number = 0; number < 3000; number += 1) {
    machine.kernel(`NVRM: Xid (PCI:0000:${['18', '2a', '3a', '5d', '9a', 'ab', 'ba', 'db'][number % 8]}:00): ${[13, 31, 43, 45, 63, 94][number % 6]}, pid=${number}, name=train, Ch 00000008`);
    machine.kernel(`EXT4-fs error (device nvme${number % 40}n1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0`);
  }
  await eventually('the events are stored', async () => (await machine.json('/v1/history?limit=1000&since=1h')).entries.length > 20);
  await page.waitForSelector('[data-entry]', { timeout: 60_000 });
  assert.equal(await page.getAttribute('[data-link]', 'data-link'), 'live');
  const shown = await page.locator('[data-entry]').count();
  assert.ok(shown > 0 && shown <= 200, `${shown} rows are drawn`);
  await close(page);
  await look(machine, 'storm', '#/timeline?range=30m', '[data-entry]');
});

test('72 GPUs', async (t) => {
  const scenario = 'product: gb200\ngpus: 72\nall: {utilization: {gpu: 90}}\n';
  const machine = await Machine.start({ scenario });
  t.after(() => machine.end());
  await machine.settled();
  machine.scenario(`${scenario}gpu:\n  17: {state: lost}\n`);
  await eventually('GPU 17 is in trouble', async () => (await machine.json('/v1/summary')).troubles.some((one) => one.subject.label === 'GPU 17'));
  const page = await open(machine);
  await page.waitForSelector('.tile');
  assert.equal(await page.locator('[data-gpu]').count(), 72);
  assert.equal(await page.locator('.gpu[data-gpu]').count(), 1, 'the one in trouble is enlarged');
  await close(page);
  await look(machine, '72-gpus');
});

test('a PCIe link with fewer lanes than it can have', async (t) => {
  const machine = await Machine.start({ scenario: `${HEALTHY}gpu:\n  5: {pci: {width: 8}}\n` });
  t.after(() => machine.end());
  await machine.settled();
  const { gpuInfo } = await machine.json('/machine-info');
  const page = await open(machine);
  await page.waitForSelector('.links.pcie');
  const drawn = (index) => page.locator(`[data-gpu="${gpuInfo.gpus[index].uuid}"] .links.pcie`);
  assert.equal(await drawn(4).getAttribute('aria-label'), 'PCIe link: 16 of 16 lanes, generation 5 of 5');
  assert.equal(await drawn(4).locator('.gone').count(), 0);
  assert.equal(await drawn(5).getAttribute('aria-label'), 'PCIe link: 8 of 16 lanes, generation 5 of 5, less than it can be');
  assert.equal(await drawn(5).locator('.gone').count(), 8);
  assert.equal(await drawn(5).innerText(), 'PCIe 5 x8 of x16');
  await close(page);
  await look(machine, 'narrow-pcie');
});

test('no GPU', async () => {
  const machine = await plainMachine();
  const page = await open(machine);
  await page.waitForSelector('[data-verdict]');
  assert.equal(await page.locator('#gpus').count(), 0, 'no empty section');
  assert.equal(await page.locator('.group h3', { hasText: 'GPUs' }).count(), 0, 'no group without anything in it');
  const summary = await machine.json('/v1/summary');
  assert.equal(await page.getAttribute('[data-verdict]', 'data-verdict'), summary.verdict);
  await close(page);
  await look(machine, 'no-gpu');
});

test('a cold start', async (t) => {
  const machine = await Machine.start({ scenario: HEALTHY });
  t.after(() => machine.end());
  const page = await open(machine);
  await page.waitForSelector('[data-verdict]');
  await page.screenshot({ path: join(shots, 'cold-light-1440.png'), fullPage: true });
  await machine.settled();
  await eventually('the page says what the API says', async () => (await page.getAttribute('[data-verdict]', 'data-verdict')) === (await machine.json('/v1/summary')).verdict);
  await close(page);
});

/** Answers some requests of the page with something else than the daemon. */
const instead = (answers) => async (page) => {
  for (const [path, answer] of Object.entries(answers)) {
    await page.route((url) => url.pathname === path, async (route) => {
      const body = typeof answer === 'function' ? await answer(route) : answer;
      if (body) await route.fulfill({ json: body });
    });
  }
};

const HOSTILE = [
  `<img src=x onerror="document.title='owned'">`,
  `"'><script>document.title='owned'</script>`,
  `\u0000\u001b[31m\u202egpj.exe`,
  `${'нода-機器-عقدة-🙂'.repeat(8)}`.slice(0, 60),
  'x'.repeat(128),
  '__proto__',
  '${alert(1)}{{7*7}}',
];

test('hostile names are text', async () => {
  const machine = await plainMachine();
  const summary = await machine.json('/v1/summary');
  const states = await machine.json('/v1/states');
  const now = new Date().toISOString();
  const bad = HOSTILE.map((name, index) => ({ id: name, subject: { kind: index % 2 ? 'gpu' : name, label: name, detail: name, uuid: name, serial: name, pci: name, index }, health: 'Unhealthy', since: now, sentence: name, action: name, repair_actions: [name], states: [{ component: name, name, health: 'Unhealthy', reason: name, time: now, evidence: [name, { [name]: name }] }] }));
  const answers = {
    '/v1/summary': { ...summary, verdict: 'Unhealthy', sentence: HOSTILE[0], since: now, machine: { ...summary.machine, hostname: HOSTILE[1], gpu_product: HOSTILE[0], driver_version: HOSTILE[2] }, troubles: bad, absent: HOSTILE.map((name) => ({ component: `absent ${name}`, reason: name })) },
    '/v1/states': [...states, ...HOSTILE.map((name) => ({ component: name, states: [{ time: now, name, health: 'Unhealthy', reason: name, error: name, extra_info: { [name]: name, data: JSON.stringify({ [name]: [{ [name]: name }], ports: name }) } }] }))],
    '/v1/history': { entries: HOSTILE.map((name, index) => ({ id: `e${index}`, time: now, kind: index % 2 ? 'event' : 'health', component: name, name, severity: name, from: name, to: 'Unhealthy', message: name, subject: { kind: 'gpu', label: name }, explained: true, count: 2 })), next: null },
    '/v1/history/event': { event: {}, explanation: { kernel_line: HOSTILE[0], meaning: HOSTILE[1], likely_causes: HOSTILE, actions: HOSTILE, advice: HOSTILE[2], facts: HOSTILE.map((name) => ({ name, value: name })), reference: `javascript:alert(1) ${HOSTILE[0]}` } },
    '/v1/metrics': [{ component: HOSTILE[0], metrics: HOSTILE.map((name) => ({ unix_seconds: Date.now() - 1000, name, labels: { [name]: name }, value: 1 })) }],
    '/v1/plugins': HOSTILE.map((name) => ({ plugin_name: name, plugin_type: 'wasm', path: name, grants: { exec: [name], [name]: name }, running_version: { digest: name, on_probation: true, rolled_back: { digest: name, reason: name, time: now } } })),
  };
  for (const hash of ['', '#/timeline', '#/checks', '#/plugins', `#/check/${encodeURIComponent(HOSTILE[0])}`, `#/metrics/${encodeURIComponent(HOSTILE[0])}`, `#/gpu/${encodeURIComponent(HOSTILE[1])}`, `#/trouble/${encodeURIComponent(HOSTILE[2])}`, `#/${HOSTILE[1]}`, `#/check/%zz`]) {
    for (const width of [1440, 390]) {
      const page = await open(machine, hash, { width, prepare: instead(answers) });
      await page.waitForSelector('main > *:not(.loading)');
      await page.waitForTimeout(500);
      assert.notEqual(await page.title(), 'owned', hash);
      assert.equal(await page.locator('main img, main script, main iframe').count(), 0, hash);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${hash} at ${width} is ${wide} pixels too wide`);
      if (hash === '#/timeline') {
        await page.click('.more');
        await page.waitForSelector('.explanation dl');
        assert.ok((await text(page, '.explanation')).includes('<img src=x onerror='), 'a kernel line is shown as it is');
        assert.equal(await page.locator('main a[href^="javascript:"]').count(), 0);
        assert.notEqual(await page.title(), 'owned');
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wider <= 0, `an explanation at ${width} is ${wider} pixels too wide`);
      }
      if (hash === '') {
        const shown = await text(page, 'main');
        assert.ok(shown.includes('<img src=x onerror='), 'it is shown as it is');
        assert.ok(shown.includes('\\u202egpj.exe'), 'control characters are shown');
        await page.screenshot({ path: join(shots, `hostile-light-${width}.png`), fullPage: true });
      }
      await close(page);
    }
  }
});

test('100,000 events, 2,000 series, values that are no numbers', async () => {
  const machine = await plainMachine();
  const begin = Date.now();
  const entries = Array.from({ length: 100_000 }, (_, index) => ({ id: `e${index}`, time: new Date(begin - index * 50).toISOString(), kind: 'event', component: ['disk', 'memory', 'os'][index % 3], name: 'storm', severity: ['Info', 'Warning', 'Critical'][index % 3], message: `event ${index}` }));
  const samples = Array.from({ length: 2000 }, (_, series) => Array.from({ length: 5 }, (_, at) => ({ unix_seconds: begin - 60_000 * at, name: 'many_series', labels: { series: `s${series}` }, value: series === 0 ? null : Math.sin(series + at) }))).flat();
  let pages = 0;
  const answers = {
    '/v1/history': (route) => {
      pages += 1;
      const url = new URL(route.request().url());
      const from = Number(url.searchParams.get('before') ?? 0);
      const limit = Number(url.searchParams.get('limit'));
      return { entries: entries.slice(from, from + limit), next: String(from + limit) };
    },
    '/v1/metrics': [{ component: 'disk', metrics: samples }],
  };
  let page = await open(machine, '#/timeline?range=14d', { prepare: instead(answers) });
  await page.waitForSelector('.note');
  assert.ok((await text(page, '.note')).includes('newest 5,000'), 'the bound is said');
  assert.ok(pages <= 6, `${pages} pages are read`);
  assert.ok((await page.locator('[data-entry]').count()) <= 200);
  await page.screenshot({ path: join(shots, 'many-events-light-1440.png') });
  await close(page);
  page = await open(machine, '#/metrics/disk', { prepare: instead(answers) });
  await page.waitForSelector('.chart canvas');
  const chart = await text(page, '[data-metric=many_series]');
  assert.ok(chart.includes('32 of 2,000 series are drawn'), chart);
  assert.ok(chart.includes('no number'), chart);
  await page.screenshot({ path: join(shots, 'many-series-light-1440.png') });
  await page.fill('input[type=search]', 'series=s1999');
  await page.press('input[type=search]', 'Enter');
  await eventually('one series is left', async () => !(await text(page, '[data-metric=many_series]')).includes('are drawn'));
  await close(page);
});

test('the daemon goes and comes back', async () => {
  const machine = await plainMachine();
  const page = await open(machine, '', { expected: ['Failed to load resource', 'net::ERR'] });
  await page.waitForSelector('[data-link=live]');
  const started = Date.now();
  await machine.down();
  assert.ok(Date.now() - started < 4000, 'an open page does not hold up the end');
  await page.waitForSelector('[data-link=lost]');
  assert.ok((await text(page, '.banner')).includes('gpud does not answer'));
  assert.ok(await page.isVisible('[data-verdict]'), 'what was known stays');
  await page.screenshot({ path: join(shots, 'gone-light-1440.png') });
  await machine.up();
  await page.waitForSelector('[data-link=live]', { timeout: 60_000 });
  await eventually('it says so no more', async () => (await page.locator('.banner').count()) === 0);
  await close(page);
});

test('a browser whose clock is wrong', async () => {
  const machine = await plainMachine();
  const page = await open(machine, '', { prepare: (one) => one.addInitScript('{ const real = Date.now; Date.now = () => real() + 3 * 3600_000; }') });
  await page.waitForSelector('.banner');
  const banner = await text(page, '.banner');
  assert.ok(banner.includes('3 h ahead'), banner);
  await close(page);
});

test('a token is asked for, and a wrong one is said to be wrong', async () => {
  const machine = await plainMachine();
  const asked = [];
  const answers = {
    '/v1/health-states/set-healthy': async (route) => {
      const header = route.request().headers().authorization ?? '';
      asked.push([route.request().method(), header]);
      if (header === 'Bearer right') return { code: 200, message: 'set healthy states completed' };
      await route.fulfill({ status: 401, json: { code: {}, message: header ? 'this is not the token of this gpud' : 'a bearer token is needed' } });
      return undefined;
    },
  };
  const page = await open(machine, '#/check/disk', { prepare: instead(answers), expected: ['401'] });
  await page.click('text=Set healthy…');
  assert.ok((await text(page, 'dialog')).includes('Nothing on the machine is repaired'), 'it says what it will do');
  await page.click('dialog .main');
  await page.fill('dialog input', 'wrong');
  await page.click('dialog .main');
  await eventually('it is said to be wrong', async () => (await text(page, 'dialog')).includes('not the token'));
  await page.screenshot({ path: join(shots, 'token-light-1440.png') });
  await page.fill('dialog input', 'right');
  await page.click('dialog .main');
  await eventually('it is done', async () => (await text(page, 'dialog')).includes('It is set healthy'));
  assert.deepEqual(asked, [['POST', ''], ['POST', 'Bearer wrong'], ['POST', 'Bearer right']]);
  await page.keyboard.press('Escape');
  await eventually('it is closed', async () => (await page.locator('dialog[open]').count()) === 0);
  await close(page);
});

test('the keyboard reaches everything, and views have addresses', async () => {
  const machine = await plainMachine();
  const page = await open(machine);
  await page.waitForSelector('[data-verdict]');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'To the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  for (const name of ['Timeline', 'Charts', 'Checks', 'Plugins', 'Overview']) {
    await page.getByRole('link', { name, exact: true }).first().focus();
    await page.keyboard.press('Enter');
    await eventually(name, async () => (await text(page, 'nav [aria-current=page]')) === name);
  }
  await page.goBack();
  await eventually('the view before', async () => (await text(page, 'nav [aria-current=page]')) === 'Plugins');
  // Times are in the viewer's zone or in UTC.
  assert.ok(/UTC\+[12]$/.test(await text(page, '.clock')), 'Berlin');
  await page.click('.clock');
  assert.ok((await text(page, '.clock')).endsWith(' UTC'), 'UTC');
  // The address holds what is chosen.
  await page.goto(`${machine.url}/#/timeline?range=1d&component=disk&least=1`);
  await page.waitForSelector('#timeline');
  assert.equal(await text(page, '[aria-pressed=true]'), '1 d');
  assert.equal(await page.inputValue('select'), 'disk');
  await close(page);
});

test('nothing can run in the page that is not its own', async () => {
  const machine = await plainMachine();
  const answer = await machine.ask('/');
  assert.equal(answer.status, 200);
  const policy = answer.headers['content-security-policy'];
  assert.ok(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'") && !policy.includes('unsafe'), policy);
  const again = await machine.ask('/', { 'if-none-match': answer.headers.etag });
  assert.equal(again.status, 304);
  const packed = await machine.ask('/page/app.js', { 'accept-encoding': 'gzip' });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  // Names that are not this machine's, and other sites, are refused as everywhere.
  assert.equal((await machine.ask('/', { host: 'evil.example' })).status, 403);
  assert.equal((await machine.ask('/v1/stream', { origin: 'https://evil.example' })).status, 403);
});
