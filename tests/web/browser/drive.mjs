// Drives a browser for tests: a line of JSON says what to do, a line of JSON answers.
//
//   node drive.mjs FOLDER_OF_NODE_MODULES CHROMIUM
//
// What a page says besides is kept for `noise`: errors, dialogs, and requests to elsewhere.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, chromium] = process.argv.slice(2);
const playwright = await import(pathToFileURL(`${modules}/playwright-core/index.mjs`));
const axe = readFileSync(`${modules}/axe-core/axe.min.js`, "utf8");
const browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });
const pages = [];
const noise = [];

const deeds = {
  async open({ url, cookie, width = 1280, height = 800, scheme = "light", scripts = true, lang = "en", motion = "reduce" }) {
    const context = await browser.newContext({
      viewport: { width, height }, colorScheme: scheme, javaScriptEnabled: scripts, locale: lang,
      reducedMotion: motion,
    });
    context.setDefaultTimeout(15000);
    const [name, ...value] = cookie.split("=");
    await context.addCookies([{ name, value: value.join("="), url }]);
    const page = await context.newPage();
    const said = [];
    const host = new URL(url).host;
    page.on("console", (one) => { if (one.type() === "error") said.push(`console: ${one.text()}`); });
    page.on("pageerror", (one) => said.push(`error: ${one.message}`));
    page.on("dialog", (one) => { said.push(`dialog: ${one.message()}`); one.dismiss(); });
    page.on("request", (one) => {
      const to = new URL(one.url());
      if (to.protocol !== "data:" && to.host !== host) said.push(`request: ${one.url()}`);
    });
    pages.push(page);
    noise.push(said);
    return pages.length - 1;
  },
  async page({ page, method, args = [] }) {
    const answer = await pages[page][method](...args);
    return method === "goto" ? answer.status() : answer;
  },
  async on({ page, css, method, args = [], nth = 0 }) {
    const found = pages[page].locator(css);
    return method === "count" ? found.count() : found.nth(nth)[method](...args);
  },
  async press({ page, key }) { await pages[page].keyboard.press(key); },
  async type({ page, text }) { await pages[page].keyboard.type(text); },
  // Not waitForFunction: what that runs by itself inside the page our policy forbids.
  async wait({ page, expression, timeout }) {
    for (const ends = Date.now() + timeout; Date.now() < ends;) {
      try {
        if (await pages[page].evaluate(`Boolean(${expression})`)) return Date.now();
      } catch { /* it is on its way to another page */ }
      await new Promise((done) => setTimeout(done, 15));
    }
    throw new Error(`it did not come true: ${expression}`);
  },
  async axe({ page }) {
    await pages[page].evaluate(axe);
    const told = await pages[page].evaluate("axe.run({ resultTypes: ['violations'] })");
    return told.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join("; ")} — ${one.nodes[0].failureSummary}`);
  },
  async noise({ page }) { return noise[page].splice(0); },
  async close({ page }) { await pages[page].context().close(); },
};

for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await deeds[told.deed](told)) ?? null };
  } catch (error) {
    answer = { error: String(error.message || error).slice(0, 2000) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
