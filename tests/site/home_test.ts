/** The first page, driven in Chromium: its program runs as one edits it, beside its plan, and nothing is loaded for it before. */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { threadLine } from "../../examples/site/home/thread.ts";
import { home, runProgram, test, textOf, write } from "./served.ts";

/** Opens the page and turns to its program. */
async function turnTo(page: Page, device: string): Promise<void> {
  await page.goto(`${home}/index.html?device=${device}`);
  await page.focus("#code");
  await textOf(page, "status", / ms on /);
}

const count = (page: Page, what: string) => page.locator(`#picture ${what}`).count();

test("the first page loads the library when one turns to its program, which prints what was shown", async (page) => {
  const loaded: string[] = [];
  page.context().on("response", (response) => loaded.push(new URL(response.url()).pathname));
  await page.goto(`${home}/index.html?device=cpu`);
  await page.waitForSelector("#picture path.thread");
  const shown = await page.textContent("#output");
  assertEquals([await count(page, "g.script"), await count(page, "path.over")], [1, 1]);
  assertEquals(await page.textContent("#status"), "");
  assert(!loaded.includes("/program_worker.js"), loaded.join(" "));
  await page.hover("#picture");
  await textOf(page, "status", / ms on the CPU, CPU kernels: \d+, calls of your functions: 1$/);
  assert(loaded.includes("/program_worker.js"));
  assertEquals(await page.textContent("#output"), shown);
  assertEquals(shown, "[0, 0, 0, 20, 9]");
});

test("an edit of the first page's program runs by itself, and draws its plan", async (page) => {
  await turnTo(page, "cpu");
  const boxes = await count(page, "rect");
  const text = await page.inputValue("#code");
  await write(page, text.replace("tf.relu(tf.sub(y, m))", "tf.cumsum(tf.sub(y, m))"));
  await textOf(page, "output", /^\[0, -12, -19, 1, 10\]$/);
  await textOf(page, "status", / ms on /);
  assertEquals(await count(page, "rect"), boxes + 1);
  assertMatch(
    (await page.getAttribute("#picture", "aria-label"))!,
    /^Plan 1: 4 steps, .*1 script$/,
  );
  // What is half written is an error, and the last plan stays.
  await write(page, text.slice(0, -5));
  await textOf(page, "status", /^failed/);
  assertMatch((await page.textContent("#output .error"))!, /^SyntaxError: /);
  assertEquals(await count(page, "rect"), boxes + 1);
  await write(page, "console.log(1 + 1);");
  await textOf(page, "output", /^2$/);
  await textOf(page, "status", / ms on /);
  assertEquals([await count(page, "svg"), await page.isVisible("#no-plan")], [0, true]);
  await page.click("#open");
  await page.waitForURL(/playground\.html#code=/);
  await page.waitForFunction(() =>
    document.querySelector("textarea")!.value === "console.log(1 + 1);"
  );
});

test("an endless program of the first page is ended after three seconds, or by Stop", async (page) => {
  await turnTo(page, "cpu");
  await write(page, "while (true);");
  await textOf(page, "status", /^stopped: it took more than 3 s$/);
  assertEquals(await page.textContent("#output"), "");
  assertEquals(await page.isEnabled("#stop"), false);
  // Also one that waits for what never comes.
  await write(page, 'console.log("begun"); await new Promise(() => {});');
  await textOf(page, "output", /^begun$/);
  await textOf(page, "status", /^stopped: it took/);
  await runProgram(page, "setInterval(() => console.log('tick'), 1);");
  await textOf(page, "output", /tick/);
  await page.click("#stop");
  assertEquals(await page.textContent("#status"), "stopped: by you");
  await write(page, "console.log(3);");
  await textOf(page, "output", /^3$/);
});

test("the first page times five rows on this machine, and their results agree", async (page) => {
  await page.goto(`${home}/index.html?device=cpu`);
  await page.click("#time");
  await textOf(page, "timed", /^(Timed here and now on the CPU|Ended.*)$/);
  assertEquals(await page.textContent("#timed"), "Timed here and now on the CPU");
  const rows = await page.locator("#times tbody tr").allInnerTexts();
  assertEquals(rows.length, 5);
  for (const row of rows) assertMatch(row, /\t[\d.e+]+\t[\d.e+]+\t[\d.e+]+ × (as fast|slower)$/);
  assertEquals(await page.isEnabled("#time"), true);
});

test("the first page shows what is read back from the GPU, and the thread over the function [webgpu]", async (page) => {
  await turnTo(page, "webgpu");
  await textOf(page, "status", /on WebGPU, .*GPU dispatches: 2, readbacks: 2/);
  assertEquals([await count(page, "g.gpu"), await count(page, "path.readback")], [2, 2]);
  assertEquals([await count(page, "path.thread:not(.over)"), await count(page, "path.over")], [
    1,
    1,
  ]);
});

Deno.test("the thread goes through each layer once, to the right and to the left in turn", () => {
  const box = (x: number, y: number) => ({ x, y, width: 10 });
  const line = threadLine([box(0, 0), box(20, 0), box(5, 70), box(9, 140)]);
  assertEquals(
    line,
    "M-24 21.5H32C54 21.5 54 91.5 32 91.5H-2C-24 91.5 -24 161.5 -2 161.5H54",
  );
});
