/** The pages that `deno task site` builds, driven in Chromium as people use them. `WEFT_CHROMIUM=none` skips them. */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delimiter } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { LESSONS } from "../examples/site/lessons.ts";
import { findChromium } from "../tools/browser.ts";
import { exists, list, read } from "../tools/files.ts";
import { buildSite, serveSite } from "../tools/site.ts";

const found = await findChromium();
const ignore = found === null && Deno.env.get("WEFT_REQUIRE_WEBGPU") !== "1";

/** The machine may be busy: what takes so long hangs. */
const TIMEOUT_MS = 120_000;

const PAGES = ["index", "playground", "train", "inside"];
const PHONE = { viewport: { width: 360, height: 740 } };
/** Bytes of a page, compressed by brotli, digits and programs apart. */
const WEIGHT = 400_000;

let folder = "", home = "";
let server: Deno.HttpServer<Deno.NetAddr>;
let browser: Browser;

/** Where a program is, given its name or its path. */
function pathOf(name: string): string {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  const paths = name.includes("/") ? [name] : folders.map((folder) => `${folder}/${name}`);
  const path = paths.find((path) => exists(path, "isFile"));
  if (path === undefined) throw new Error(`Cannot find ${name}`);
  return path;
}

if (!ignore) {
  Deno.test.beforeAll(async () => {
    if (found === null) throw new Error("Cannot find Chromium: WEFT_REQUIRE_WEBGPU wants it");
    folder = await Deno.makeTempDir({ prefix: "weft-site-" });
    await buildSite(folder);
    server = serveSite(folder);
    home = `http://127.0.0.1:${server.addr.port}`;
    browser = await chromium.launch({
      executablePath: pathOf(found),
      args: ["--no-sandbox", "--enable-unsafe-webgpu", "--disable-dev-shm-usage"],
    });
  });

  Deno.test.afterAll(async () => {
    await browser.close();
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  });
}

/** Tests a page; it must write no error to its console. The browser is a process that all tests share. */
function test(
  name: string,
  fn: (page: Page) => Promise<unknown>,
  options: BrowserContextOptions = {},
): void {
  const run = async (): Promise<void> => {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("response", (r) => r.ok() || errors.push(`${r.status()} ${r.url()}`));
    try {
      await fn(page);
      assertEquals(errors, []);
    } finally {
      await context.close();
    }
  };
  Deno.test({ name, fn: run, ignore, sanitizeOps: false, sanitizeResources: false });
}

/** Waits until an element's text matches; gives the text. */
async function textOf(page: Page, id: string, wanted: RegExp): Promise<string> {
  const handle = await page.waitForFunction(
    ([id, source]) => {
      const text = document.getElementById(id!)!.textContent!;
      return new RegExp(source!).test(text) && text;
    },
    [id, wanted.source],
  );
  return String(await handle.jsonValue());
}

const number = async (page: Page, id: string): Promise<number> =>
  Number((await page.textContent(`#${id}`))!.replaceAll(",", ""));

/** Runs what is in the playground's editor. */
async function runProgram(page: Page, program: string): Promise<void> {
  await page.fill("#code", program);
  await page.click("#run");
}

test("the playground runs every lesson on the CPU", async (page) => {
  await page.goto(`${home}/playground.html?device=cpu`);
  for (const { name } of LESSONS) {
    await page.evaluate((name) => location.hash = name, name);
    const text = read(`examples/site/lessons/${name}.js`);
    await page.waitForFunction(
      (text) => document.querySelector("textarea")!.value === text,
      text,
    );
    await textOf(page, "status", / ms on the CPU/);
    assertMatch((await page.textContent("#output"))!, /\d/, name);
    assertEquals(await page.locator("#output .error").count(), 0, name);
    const hasGraph = /tf\.(function|Graph)\(|numpyFunction/.test(text);
    assertEquals(await page.locator("#picture svg").count(), hasGraph ? 1 : 0, name);
  }
});

test("the playground shows what is read back from the GPU [webgpu]", async (page) => {
  await page.goto(`${home}/playground.html?device=webgpu#numpy_function`);
  assertMatch(await textOf(page, "status", / ms on /), /on WebGPU, .*readbacks: 2/);
  assertEquals(await page.locator("#picture path.readback").count(), 1);
  assertEquals(
    await page.locator("#picture g.script").textContent(),
    "PyFunc on CPUsortRows()PyFunc",
  );
});

test("Stop ends a program that never would, and the next one runs", async (page) => {
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  await runProgram(page, 'console.log("begun"); while (true);');
  await textOf(page, "output", /begun/);
  await page.click("#stop");
  await textOf(page, "status", /^stopped$/);
  await runProgram(page, 'let n = 0; setInterval(() => console.log("tick", n++), 1);');
  await textOf(page, "output", /tick 9/);
  await page.click("#stop");
  const ticks = await page.textContent("#output");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  assertEquals(await page.textContent("#output"), ticks);
  await runProgram(page, 'import { scalar } from "@weft/weft"; console.log(scalar(3));');
  await textOf(page, "output", /^Tensor\(float32\[\]\) 3$/);
});

test("the playground names the line of an error, and cuts endless output", async (page) => {
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  const bad = 'import * as tf from "@weft/weft";\n\ntf.add(tf.zeros([2]), tf.zeros([3]));';
  await runProgram(page, bad);
  await textOf(page, "status", /^failed/);
  assertMatch(await page.textContent("#output") ?? "", /\[2\].*\[3\].* \(line 3\)$/s);
  await runProgram(page, "for (let i = 0; i < 9999; i++) console.log(i);");
  await textOf(page, "status", / ms on /);
  assertEquals(await page.locator("#output div").count(), 2001);
});

test("a link holds a program, which waits to be read before it runs", async (page) => {
  const program = 'console.log("żółw", 1 + 1);\n';
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  await page.fill("#code", program);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#code="));
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await textOf(page, "status", /came with the link/);
  assertEquals(await page.inputValue("#code"), program);
  assertEquals(await page.textContent("#output"), "");
  await page.click("#run");
  await textOf(page, "output", /^żółw 2$/);
});

test("the editor indents with Tab, and the keyboard gets out of it", async (page) => {
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  await page.fill("#code", "");
  await page.focus("#code");
  for (const key of ["Tab", "a", "Enter", "b", "Shift+Tab"]) await page.keyboard.press(key);
  assertEquals(await page.inputValue("#code"), "  a\nb");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assertEquals(await page.evaluate(() => document.activeElement?.id), "output");
  await page.fill("#code", 'console.log("by key")');
  await page.focus("#code");
  await page.keyboard.press("Control+Enter");
  await textOf(page, "output", /^by key$/);
});

test("a network learns on the page, survives bad functions, and reads what is drawn", async (page) => {
  await page.goto(`${home}/train.html?device=cpu`);
  await page.waitForFunction(() => Number(document.getElementById("loss-now")!.textContent) > 0);
  const before = await number(page, "loss-now");
  await textOf(page, "accuracy", /%/);
  await page.waitForFunction(
    (before) => Number(document.getElementById("loss-now")!.textContent) < before / 3,
    before,
  );
  for (
    const [body, error] of [
      ["(images) => { throw new RangeError('no ' + images.shape) }", /^RangeError: no 64,28,28/],
      ["(images) => images.data.slice(1)", /^TypeError: Wanted .* 50176 numbers/],
      ["(images) => {", /^SyntaxError: /],
    ] as const
  ) {
    await page.fill("#body", body);
    await page.click("#apply");
    assertStringIncludes(await textOf(page, "body-state", error), "Training goes on");
    const images = await number(page, "images");
    await page.waitForFunction(
      (n) => Number(document.getElementById("images")!.textContent!.replaceAll(",", "")) > n,
      images,
    );
  }
  await page.selectOption("#preset", { label: "As they are" });
  await textOf(page, "body-state", /^In use$/);
  // A stroke from top to bottom.
  const box = (await page.locator("#pad").boundingBox())!;
  const x = box.x + box.width / 2;
  await page.mouse.move(x, box.y + 30);
  await page.mouse.down();
  for (let y = 30; y <= 160; y += 10) await page.mouse.move(x, box.y + y);
  await page.mouse.up();
  await textOf(page, "digits", /./);
  await page.waitForFunction(() => document.querySelector("#digits .best")?.textContent === "1");
  await page.click("#pause");
  await page.click("#clear");
  assertEquals(await page.locator("#digits .best").count(), 0);
  await page.click("#example");
  await page.waitForFunction(() => document.querySelector("#digits .best") !== null);
});

test("a network is trained on the GPU [webgpu]", async (page) => {
  await page.goto(`${home}/train.html?device=webgpu`);
  await textOf(page, "status", /^Training on WebGPU$/);
  await page.waitForFunction(() => Number(document.getElementById("loss-now")!.textContent) > 0);
  await page.click("details summary");
  assertEquals(await page.locator("#picture g.script").count(), 1);
  assert(await page.locator("#picture g.gpu").count() > 10);
});

const joined = (page: Page) => page.locator("#picture g.joined").count();

test("Inside shows a plan's joined ops and scripts on the CPU", async (page) => {
  await page.goto(`${home}/inside.html?device=cpu`);
  await textOf(page, "status", / ms on the CPU/);
  assertMatch((await page.textContent("#plans"))!, /^Plan 1: \d+ steps, all on the CPU, 1 script$/);
  assert(await joined(page) > 0);
  assertEquals(await page.locator("#picture g.script").count(), 1);
  assertMatch((await page.textContent("#text"))!, /PyFunc/);
});

test("Inside shows what runs on the GPU and what is read back [webgpu]", async (page) => {
  await page.goto(`${home}/inside.html?device=webgpu`);
  await textOf(page, "status", / ms on WebGPU/);
  const [gpu, reads] = /(\d+) on the GPU, 1 script, (\d+) values read back/
    .exec((await page.textContent("#plans"))!)!.slice(1);
  assertEquals(await page.locator("#picture g.gpu").count(), Number(gpu));
  assertEquals(await page.locator("#picture path.readback").count(), Number(reads));
  assert(await joined(page) > 0);
});

test("a page tells where there is no WebGPU", async (page) => {
  await page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "gpu", { value: undefined });
  });
  await page.goto(`${home}/playground.html#tensors`);
  await textOf(page, "status", / ms on the CPU/);
  assertStringIncludes((await page.textContent("#note"))!, "no WebGPU");
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`no page scrolls sideways on a phone, in ${colorScheme} colours`, async (page) => {
    for (const name of PAGES) {
      await page.goto(`${home}/${name}.html?device=cpu`);
      if (name === "train") await textOf(page, "images", /\d{3}/);
      else if (name !== "index") await textOf(page, "status", / ms on /);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assertEquals(over, 0, name);
      const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assertEquals(back, colorScheme === "dark" ? "rgb(11, 18, 32)" : "rgb(248, 250, 252)");
    }
  }, { ...PHONE, colorScheme });
}

Deno.test({
  name: "no page weighs more than one may, compressed and without the digits",
  ignore,
  fn: async () => {
    const files = [".js", ".css", ".html", ".svg"].flatMap((ending) => list(folder, ending));
    const weights = new Map<string, number>();
    for (const file of files) {
      weights.set(file, brotliCompressSync(await Deno.readFile(file)).length);
    }
    for (const page of PAGES) {
      const others = PAGES.filter((other) => other !== page);
      // What is shared counts whole, also what is loaded only when it is asked for.
      const own = [...weights].filter(([file]) =>
        !others.some((other) => file.startsWith(`${folder}/${other}`))
      );
      const weight = own.reduce((sum, [, n]) => sum + n, 0);
      assert(own.length > 10 && weight <= WEIGHT, `${page}: ${weight} bytes`);
    }
    assert((await Deno.stat(`${folder}/digits.bin`)).size <= 1e6);
  },
});
