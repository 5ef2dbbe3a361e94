/** The page "Bring your model", driven in Chromium: models of three forms are opened, run on pictures, numbers and texts, and timed. */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import type { Page } from "playwright-core";
import { floats, model, node, tensor, value } from "../onnx/make_model.ts";
import { home, test, textOf } from "./served.ts";

/** A file to open. */
const file = (name: string, bytes: Uint8Array) => ({
  name,
  mimeType: "application/octet-stream",
  buffer: Buffer.from(bytes),
});

/** y = x · w with external data, and texts that are joined. */
const AFFINE = model({
  nodes: [node("Mul", ["x", "w"], ["y"]), node("StringConcat", ["s", "s"], ["t"])],
  inputs: [value("x", "float32", ["n", 3]), value("s", "string", ["m"])],
  outputs: [value("y", "float32", ["n", 3]), value("t", "string", ["m"])],
  initialisers: [tensor("w", [3], { location: "weights.data", offset: 0, length: 12 })],
});

/** y = x · 3, as a GraphModel. */
const GRAPH_MODEL = {
  modelTopology: {
    node: [
      {
        name: "x",
        op: "Placeholder",
        attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: { dim: [{ size: "2" }] } } },
      },
      { name: "w", op: "Const", attr: { dtype: { type: "DT_FLOAT" } } },
      { name: "y", op: "Mul", input: ["x", "w"], attr: { T: { type: "DT_FLOAT" } } },
    ],
  },
  weightsManifest: [{ paths: ["w.bin"], weights: [{ name: "w", shape: [], dtype: "float32" }] }],
};
const graphModelFiles = () => [
  file("model.json", new TextEncoder().encode(JSON.stringify(GRAPH_MODEL))),
  file("w.bin", new Uint8Array(floats(3).buffer as ArrayBuffer)),
];
const FIXTURES = new URL("../tf/fixtures/", import.meta.url).pathname;

/** A model in one file. */
const SQUARE = model({
  nodes: [node("Mul", ["x", "x"], ["y"])],
  inputs: [value("x", "float32", ["n", 3])],
  outputs: [value("y", "float32", ["n", 3])],
});

async function ran(page: Page): Promise<string> {
  await textOf(page, "time", /ms$/);
  return (await page.textContent("#outputs"))!;
}

for (const device of ["cpu", "webgpu"] as const) {
  const where = device === "cpu" ? "the CPU" : "WebGPU";
  test(`the example finds edges in a picture, and its ops are timed${device === "webgpu" ? " [webgpu]" : ""}`, async (page) => {
    await page.goto(`${home}/models.html?device=${device}`);
    await page.click("#example");
    assertMatch(await ran(page), /^edges: float32 \[1, 192, 256, 1\]/);
    assertMatch((await page.textContent("#status"))!, new RegExp(`^ONNX, on ${where}, loaded`));
    assertMatch((await page.textContent("#ops"))!, /conv/i);
    const { width, height } = (await page.locator("#outputs canvas").boundingBox())!;
    assert(width > 100 && height > 70);
  });
}

test("a model of ONNX with a file of data runs on numbers and texts, and anew", async (page) => {
  await page.goto(`${home}/models.html?device=cpu`);
  const data = new Uint8Array(floats(2, 3, 4).buffer as ArrayBuffer);
  await page.setInputFiles("#files", [file("m.onnx", AFFINE), file("weights.data", data)]);
  assertMatch(await ran(page), /y: float32 \[1, 3\]0 0 0t: string \[1\]"a texta text"$/);
  await page.fill("fieldset:nth-of-type(1) input >> nth=0", "2, 3");
  await page.fill("fieldset:nth-of-type(1) textarea", "1 2 3");
  await page.fill("fieldset:nth-of-type(2) textarea", "no");
  await page.click("#run");
  await textOf(page, "outputs", /y: float32 \[2, 3\]2 6 12 6 9 12t: string \[1\]"nono"$/);
  await page.fill("fieldset:nth-of-type(1) input >> nth=0", "2, x");
  await page.click("#run");
  await textOf(page, "status", /"2, x" is no shape of x/);
});

test("a SavedModel and a GraphModel run, and what is no model is refused", async (page) => {
  await page.goto(`${home}/models.html?device=cpu`);
  await page.setInputFiles("#folder", `${FIXTURES}/module`);
  await textOf(page, "status", /^SavedModel, on the CPU/);
  assertMatch(await ran(page), /float32/);
  await page.setInputFiles("#files", graphModelFiles());
  await textOf(page, "status", /^GraphModel, on the CPU/);
  await page.fill("fieldset textarea", "1 2");
  await page.click("#run");
  await textOf(page, "outputs", /float32 \[2\]3 6$/);
  await page.setInputFiles("#files", [file("a.txt", Uint8Array.of(1))]);
  await textOf(page, "status", /^Error: None of these files is a model/);
  assertEquals(await page.isDisabled("#run"), true);
});

for (const device of ["cpu", "webgpu"] as const) {
  const where = device === "cpu" ? "the CPU" : "WebGPU";
  test(`Inside shows the plans of models of three forms${device === "webgpu" ? " [webgpu]" : ""}`, async (page) => {
    await page.goto(`${home}/inside.html?device=${device}#functions`);
    await textOf(page, "status", / ms on /);
    const affine = [
      file("m.onnx", AFFINE),
      file("weights.data", new Uint8Array(floats(2, 3, 4).buffer as ArrayBuffer)),
    ];
    for (
      const [form, picker, files] of [
        ["ONNX", "#files", affine],
        ["SavedModel", "#folder", `${FIXTURES}/module`],
        ["GraphModel", "#files", graphModelFiles()],
      ] as const
    ) {
      const seen = page.evaluate((form) =>
        new Promise((resolve) => {
          const status = document.getElementById("status")!;
          new MutationObserver(() => {
            if (status.textContent!.startsWith(form)) resolve(status.textContent);
          }).observe(status, { childList: true });
        }), form);
      await page.setInputFiles(picker, files);
      assertMatch(await seen as string, new RegExp(`^${form}, on ${where}, running…$`));
      await textOf(page, "status", new RegExp(` ms on ${where}`));
      await page.waitForSelector("#picture svg");
      assertMatch((await page.textContent("#plans"))!, /^Plan 1: \d+ steps?/);
      assert(await page.locator("#timeline tbody tr").count() > 0, form);
      assertEquals(await page.inputValue("#lesson"), "model");
      assertEquals(await page.isVisible("#edit"), false);
    }
  });
}

test("Inside says what is wrong with a model, takes dropped files, and goes back to a program", async (page) => {
  await page.goto(`${home}/inside.html?device=cpu#functions`);
  await textOf(page, "status", / ms on /);
  await page.setInputFiles("#files", [file("a.onnx", Uint8Array.of(1, 2, 3))]);
  await textOf(page, "status", /Error: .*a\.onnx/);
  await page.evaluate((bytes) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(bytes)], "dropped.onnx"));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
  }, [...SQUARE]);
  await textOf(page, "status", / ms on the CPU/);
  assertMatch((await page.textContent("#plans"))!, /^Plan 1: \d+ steps?/);
  await page.selectOption("#lesson", "functions");
  // The status of the model still stands there until the program begins.
  await page.waitForSelector("#edit", { state: "visible" });
  await textOf(page, "status", / ms on the CPU/);
  assertEquals(await page.inputValue("#lesson"), "functions");
});
