/** The pages of the site, driven in Chromium as people use them: training, the camera, times, and what holds for all of them. */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Page } from "playwright-core";
import { PAGES as SITE_PAGES } from "../../examples/site/pages.ts";
import { HEADERS, serveSite } from "../../tools/site.ts";
import { effort, some } from "../effort.ts";
import { packedBytes } from "../packed.ts";
import { folder, home, runProgram, test, textOf, write } from "./served.ts";

const PAGES = SITE_PAGES.map(({ name }) => name);
const PHONE = { viewport: { width: 360, height: 740 } };
/** Most KiB of a page, compressed by brotli, without its data. */
const WEIGHT = 400;
/** Data: digits, a trained network, texts of lessons. */
const DATA = /\.bin$|\/models\/|\/lessons\//;

const number = async (page: Page, id: string): Promise<number> =>
  Number((await page.textContent(`#${id}`))!.replaceAll(",", ""));

/** Pages to read, which compute nothing. */
const READ = ["index", "guides", "ops", "reference"];

/** Waits until a page has done what it does by itself. */
async function begun(page: Page, name: string): Promise<void> {
  if (name === "train") await textOf(page, "images", /\d/);
  else if (name === "camera") await textOf(page, "found", /sure/);
  else if (name === "playground" || name === "inside") await textOf(page, "status", / ms on /);
  else if (name === "speed") await textOf(page, "machine", /threads$/);
}

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
    await write(page, body, "body");
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
  await write(page, "function forever(images) { for (;;); }", "body");
  const learnt = await number(page, "images");
  await page.click("#apply");
  await textOf(
    page,
    "body-state",
    /^“forever” did not return within 3 s and was stopped\. Training/,
  );
  await page.waitForFunction(
    (n) => Number(document.getElementById("images")!.textContent!.replaceAll(",", "")) > n,
    learnt,
  );
  assert(await number(page, "loss-now") < before / 2);
  assertStringIncludes((await page.textContent("#body-state"))!, "“forever”");
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

test("training goes on where the GPU is lost [webgpu]", async (page) => {
  await page.goto(`${home}/train.html?device=webgpu`);
  await textOf(page, "images", /\d{3}/);
  // The function runs in the worker that trains: it ends the device that next records a command there.
  await write(
    page,
    `(images) => {
      const { prototype } = GPUDevice, { createCommandEncoder } = prototype;
      if (!globalThis.isLost) {
        globalThis.isLost = true;
        prototype.createCommandEncoder = function (...args) {
          prototype.createCommandEncoder = createCommandEncoder;
          this.destroy();
          return createCommandEncoder.apply(this, args);
        };
      }
      return images;
    }`,
    "body",
  );
  await page.click("#apply");
  const status = await textOf(page, "status", /lost/);
  const images = Number(
    /^The GPU was lost. Training on .* from image ([\d,]+) on$/.exec(status)![1],
  );
  await page.waitForFunction(
    (n) => Number(document.getElementById("images")!.textContent!.replaceAll(",", "")) > n,
    images,
  );
  assertEquals(await page.locator("#body-state.error").count(), 0);
});

/** Percent of the test images. */
const RECOGNISED = effort(90, 97);
test(`${RECOGNISED} % of the test images are recognised after some passes`, async (page) => {
  await page.goto(`${home}/train.html?device=cpu`);
  await page.waitForFunction(
    (wanted) => parseFloat(document.getElementById("accuracy")!.textContent!) >= wanted,
    RECOGNISED,
  );
  // It rests after a dozen passes.
  assert(await number(page, "images") <= 100_064);
});

for (const [device, where] of [["cpu", "the CPU"], ["webgpu", "WebGPU"]] as const) {
  const tag = device === "webgpu" ? " [webgpu]" : "";
  test(`a still picture goes through the graph on ${where}, and a face is found in it${tag}`, async (page) => {
    await page.goto(`${home}/camera.html?device=${device}`);
    const sure = /(\d+) % sure/.exec(await textOf(page, "found", /^A face: /))![1];
    assert(Number(sure) > 80, `${sure} % sure`);
    assertEquals(await page.textContent("#status"), `A still picture, on ${where}`);
    // A point lies on the nose: a third of the picture's height above its lower border at least.
    const nose = page.locator("#faces circle").nth(2);
    assertMatch((await nose.getAttribute("cx"))!, /^2[234]\d/);
    assertMatch((await nose.getAttribute("cy"))!, /^(18|19|20)\d/);
    assertEquals(await page.locator("#picture g.script").count(), 1);
    for (
      const [body, state] of [
        ["(image) => { throw new RangeError('no ' + image.shape) }", /^RangeError: no 360,480/],
        ["(image) => ({ shape: image.shape, data: image.data.map(() => 1) })", /^In use$/],
      ] as const
    ) {
      await write(page, body, "body");
      await page.click("#apply");
      await textOf(page, "body-state", state);
    }
    // Ink everywhere has the lines' colour.
    await page.waitForFunction(() => {
      const canvas = document.getElementById("view") as HTMLCanvasElement;
      const pixel = canvas.getContext("2d")!.getImageData(5, 5, 1, 1).data;
      return pixel.join() === "45,212,191,255";
    });
  });
}

test("the camera's frames are shown, and the still picture again after them", async (page) => {
  await page.context().grantPermissions(["camera"]);
  await page.goto(`${home}/camera.html?device=cpu`);
  await textOf(page, "found", /face/);
  await page.click("#camera");
  await textOf(page, "status", /^The camera, on the CPU$/);
  await textOf(page, "frames", /^[4-9]|\d\d/);
  await page.click("#still");
  await textOf(page, "found", /^A face: 9\d % sure$/);
});

test("without leave to use the camera the still picture stays", async (page) => {
  await page.addInitScript(() => {
    navigator.mediaDevices.getUserMedia = () =>
      Promise.reject(new DOMException("no", "NotAllowedError"));
  });
  await page.goto(`${home}/camera.html?device=cpu`);
  await textOf(page, "found", /^A face/);
  await page.click("#camera");
  await textOf(page, "note", /may not be used: the still picture/);
});

test("rows are timed beside TensorFlow.js and jax-js, and their results agree", async (page) => {
  await page.goto(`${home}/speed.html?device=cpu`);
  assertMatch(await textOf(page, "machine", /threads$/), /^This machine: /);
  await page.check("#jax");
  await page.click("#run");
  await textOf(page, "status", /^(Done|Ended.*)$/);
  assertEquals(await page.textContent("#status"), "Done");
  const rows = await page.locator("#table tbody tr").allTextContents();
  assertEquals(rows.length, 6);
  for (const row of rows) assertMatch(row, / ms.* ms.*(as fast|slower)$/);
});

test("the timing of systems can be stopped", async (page) => {
  await page.goto(`${home}/speed.html?device=cpu`);
  await page.click("#run");
  await textOf(page, "status", /^1 of 6$/);
  await page.click("#stop");
  assertEquals(await page.textContent("#status"), "Stopped");
  assertEquals(await page.isEnabled("#run"), true);
});

test("pages run under a policy that allows no text to be compiled", async (page) => {
  const response = (await page.goto(`${home}/playground.html?device=cpu#own_ops`))!;
  assertMatch((await response.headerValue("content-security-policy"))!, /^default-src 'self'; /);
  await textOf(page, "status", / ms on the CPU/);
  // The policy is in force, and worker threads share memory.
  await runProgram(page, 'console.log(crossOriginIsolated);\nnew Function("return 1")();');
  await textOf(page, "status", /^failed/);
  assertMatch((await page.textContent("#output"))!, /^true.*EvalError/s);
});

test("pages run where they are not isolated, and memory is not shared", async (page) => {
  const policy = "content-security-policy";
  const server = serveSite(folder, { headers: { [policy]: HEADERS[policy]! } });
  try {
    await page.goto(`http://127.0.0.1:${server.addr.port}/playground.html?device=cpu#training`);
    await textOf(page, "status", / ms on the CPU/);
    assertMatch((await page.textContent("#output"))!, /told apart: \d+/);
    await runProgram(page, "console.log(crossOriginIsolated);");
    await textOf(page, "output", /^false$/);
  } finally {
    await page.goto("about:blank");
    await server.shutdown();
  }
});

test("a page tells where there is no WebGPU", async (page) => {
  await page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "gpu", { value: undefined });
  });
  await page.goto(`${home}/playground.html#tensors`);
  await textOf(page, "status", / ms on the CPU/);
  assertStringIncludes((await page.textContent("#note"))!, "no WebGPU");
});

test("a picture is in sight at first where its text stays legible, is made larger and smaller, and fitted", async (page) => {
  await page.goto(`${home}/inside.html?device=cpu`);
  await begun(page, "inside");
  const below = () =>
    page.evaluate(() => {
      const { scrollHeight, clientHeight } = document.getElementById("picture")!;
      return scrollHeight - clientHeight;
    });
  assert(await below() <= 1);
  const width = () =>
    page.evaluate(() => document.querySelector("#picture svg")!.getBoundingClientRect().width);
  const first = await width();
  await page.click(".zoom button >> text=+");
  const larger = await width();
  assert(larger > first * 1.2, `${first} ${larger}`);
  await page.focus("#picture");
  for (let i = 0; i < 6; i++) await page.keyboard.press("+");
  const own = await page.evaluate(() =>
    document.querySelector<SVGSVGElement>("#picture svg")!.viewBox.baseVal.width
  );
  assert(await width() <= 4 * own + 1);
  await page.click(".zoom button >> text=Fit");
  assert(await below() <= 1);
});

test("the table of ops shows some rows, all when asked, and what is found", async (page) => {
  await page.goto(`${home}/ops.html`);
  const all = Number(/^(\d+) of \1 ops$/.exec(await textOf(page, "found", /./))![1]);
  const shown = () => page.locator("#ops tbody tr:visible").count();
  assert(all > 400 && await shown() === 40, `${all} ops`);
  assertEquals(await page.textContent("#more"), `Show all ${all}`);
  await page.fill("#filter", "abs");
  assertEquals([await shown(), await page.isVisible("#more")], [2, false]);
  await page.fill("#filter", "bf16");
  await page.focus("#more");
  await page.keyboard.press("Enter");
  assertMatch((await page.textContent("#found"))!, new RegExp(`^${await shown()} of ${all} ops$`));
  assertEquals(await page.isVisible("#more"), false);
  assertEquals(await page.evaluate(() => document.activeElement!.tagName), "A");
});

test("the reference finds a name, and leads to it and to its source", async (page) => {
  await page.goto(`${home}/reference.html`);
  await page.fill("#search", "singular value");
  await textOf(page, "found", /^\d+ found/);
  await page.click("#results a >> text=tf.linalg.svd");
  await page.waitForURL(/api_tf_linalg\.html#linalg\.svd$/);
  const svd = page.locator("section.name", { has: page.locator('[id="linalg.svd"]') });
  assertMatch((await svd.textContent())!, /function svd\(a: TensorLike.*tf\.linalg\.svd\(\[/s);
  const source = (await svd.locator("a >> text=decompositions.ts").getAttribute("href"))!;
  const response = await page.request.get(`${home}/${source.split("#")[0]}`);
  assertMatch(await response.text(), /export function svd\(/);
});

for (const colorScheme of some(["light", "dark"] as const, 1)) {
  test(`no page scrolls sideways on a phone, in ${colorScheme} colours`, async (page) => {
    for (const name of PAGES) {
      await page.goto(`${home}/${name}.html?device=cpu`);
      await begun(page, name);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assertEquals(over, 0, name);
      const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assertEquals(back, colorScheme === "dark" ? "rgb(11, 18, 32)" : "rgb(248, 250, 252)");
    }
  }, { ...PHONE, colorScheme });
}

test("the links of all pages take two lines on a phone", async (page) => {
  for (const width of [360, 390]) {
    await page.setViewportSize({ width, height: 844 });
    for (const name of ["index", "models", "ops"]) {
      await page.goto(`${home}/${name}.html?device=cpu`);
      const tops = await page.locator("header nav a").evaluateAll((links) =>
        links.map((link) => link.getBoundingClientRect().bottom)
      );
      const lines = new Set(tops.map((bottom) => Math.round(bottom / 8)));
      assert(lines.size <= 2, `${name}, ${width} pixels: ${tops}`);
      assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    }
  }
});

test("no page weighs more than one may on the GPU, compressed and without data [webgpu]", async (page) => {
  // A page and its worker may load the same.
  const loaded = new Set<string>();
  page.context().on("response", (response) => {
    const { pathname, protocol } = new URL(response.url());
    if (protocol !== "blob:" && !DATA.test(pathname)) loaded.add(pathname);
  });
  const sizes = new Map<string, number>();
  for (const name of PAGES) {
    loaded.clear();
    await page.goto(`${home}/${name}.html?device=webgpu`);
    await begun(page, name);
    for (const path of loaded) {
      if (sizes.has(path)) continue;
      sizes.set(path, packedBytes(Deno.readFileSync(folder + path)));
    }
    const weight = [...loaded].reduce((sum, path) => sum + sizes.get(path)!, 0);
    assert(loaded.size >= (READ.includes(name) ? 2 : 5), `${name}: ${loaded.size} files`);
    assert(
      weight <= 1024 * WEIGHT,
      `${name}: ${weight} bytes: ${[...loaded].map((p) => `${p} ${sizes.get(p)}`)}`,
    );
  }
  for (const [file, most] of [["digits.bin", 1e6], ["models/blazeface.bin", 6e5]] as const) {
    assert((await Deno.stat(`${folder}/${file}`)).size <= most, file);
  }
});
