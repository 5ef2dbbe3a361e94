/** tfjs-vis in a page, unmodified over Weft: it shows what it shows over TensorFlow.js. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import { assert, assertEquals } from "@std/assert";
import { stop } from "esbuild";
import { findChromium, type PageFile, runPage } from "../../tools/browser.ts";
import { npmFolder } from "../../tools/npm.ts";
import { fromFileUrl } from "../../tools/paths.ts";
import { bundlePackages, type CoreFor, theirCore } from "../../tools/tfjs_packages.ts";
import { putPackage } from "../built.ts";
import { some } from "../effort.ts";

const chromium = await findChromium();

/** Runs in the page, whose query says on which device. */
const PROGRAM = `
import { tf, tfl, vis } from "/packages.js";
const send = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
const values = (shape, seed) => tf.tensor(
  Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(1.7 * i + seed)),
  shape,
);
async function show() {
  await tf.setBackend(DEVICE);
  const model = tfl.sequential({
    layers: [
      tfl.layers.dense({ units: 4, activation: "relu", inputShape: [3] }),
      tfl.layers.dense({ units: 2, activation: "softmax" }),
    ],
  });
  model.setWeights(model.getWeights().map((w, i) => values(w.shape, i)));
  model.compile({ optimizer: tf.train.sgd(0.1), loss: "categoricalCrossentropy", metrics: ["accuracy"] });
  const at = (name) => ({ name, tab: "tab" });
  await vis.show.modelSummary(at("summary"), model);
  await vis.show.layer(at("layer"), model.layers[0]);
  await vis.show.valuesDistribution(at("distribution"), values([5, 5], 3));
  const labels = tf.tensor1d([0, 1, 2, 2, 1, 0, 2], "int32");
  const predictions = tf.tensor1d([0, 2, 2, 2, 1, 1, 0], "int32");
  const matrix = await vis.metrics.confusionMatrix(labels, predictions, 3);
  const accuracy = await vis.metrics.accuracy(labels, predictions);
  const perClass = await vis.metrics.perClassAccuracy(labels, predictions, 3);
  await vis.render.confusionMatrix(at("matrix"), { values: matrix });
  await vis.show.perClassAccuracy(at("classes"), perClass, ["a", "b", "c"]);
  await vis.render.heatmap(at("heat"), { values: tf.tensor2d([[1, 2, 3], [4, 5, 6]]) }, { rowMajor: true });
  await vis.render.barchart(at("bars"), [{ index: 0, value: 3 }, { index: 1, value: 5 }]);
  const { history } = await model.fit(values([12, 3], 5), tf.oneHot(tf.tensor1d([...Array(12).keys()].map((i) => i % 2), "int32"), 2).cast("float32"), {
    epochs: 3,
    batchSize: 4,
    shuffle: false,
    callbacks: vis.show.fitCallbacks(at("fit"), ["loss", "acc"], { callbacks: ["onEpochEnd"] }),
  });
  const shown = {};
  for (const name of ["summary", "layer", "distribution", "matrix", "classes", "heat", "bars", "fit"]) {
    const { drawArea } = vis.visor().surface(at(name));
    const canvas = drawArea.querySelector("canvas");
    shown[name] = {
      tags: [...drawArea.querySelectorAll("*")].map((e) => e.tagName).join(" "),
      cells: [...drawArea.querySelectorAll("td, th")].map((e) => e.innerText),
      // Charts of numbers that are the same to the last bit.
      picture: ["matrix", "heat", "bars"].includes(name) ? canvas.toDataURL() : "",
    };
  }
  return { backend: tf.getBackend(), shown, matrix, accuracy, perClass, history };
}
await send(await show().catch((error) => ({ error: String(error.stack) })));
await send(null);
`;

/** A page's report. */
interface Shown {
  readonly error?: string;
  readonly backend: string;
  readonly shown: Readonly<Record<string, { tags: string; cells: string[]; picture: string }>>;
  readonly matrix: number[][];
  readonly accuracy: number;
  readonly perClass: { accuracy: number; count: number }[];
  readonly history: Readonly<Record<string, number[]>>;
}

const script = (body: string): PageFile => ({ type: "text/javascript", body });

/** Files of Weft as it is published. */
async function weftFiles(folder: string): Promise<Map<string, PageFile>> {
  await putPackage(folder, { types: false });
  const files = new Map<string, PageFile>();
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".js")) continue;
    files.set(`/weft/${name}`, script(await Deno.readTextFile(`${folder}/${name}`)));
  }
  return files;
}

async function show(
  device: string,
  { core, files, folder }: {
    readonly core: CoreFor;
    readonly files: ReadonlyMap<string, PageFile>;
    readonly folder: string;
  },
): Promise<Shown> {
  const vis = fromFileUrl(new URL("dist/index.js", await npmFolder("@tensorflow/tfjs-vis")));
  const contents = `
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-backend-cpu";
export * as tf from "@tensorflow/tfjs-core";
export * as tfl from "@tensorflow/tfjs-layers";
export * as vis from ${JSON.stringify(vis)};`;
  const outfile = `${folder}/packages.js`;
  await bundlePackages(contents, outfile, { core, platform: "browser" });
  const page = new Map(files);
  page.set("/packages.js", script(await Deno.readTextFile(outfile)));
  page.set("/main.js", script(PROGRAM.replace("DEVICE", JSON.stringify(device))));
  const body = `<!doctype html><body><script type="module" src="/main.js"></script>`;
  page.set("/", { type: "text/html", body });
  let told: Shown | undefined;
  await runPage(chromium!, { files: page, isolated: false }, (message) => {
    if (message !== null) told = message as Shown;
  });
  assertEquals(told!.error, undefined);
  return told!;
}

/** A text without its numbers, and those. */
function parts(cells: readonly string[]): [string, number[]] {
  const text = cells.join("|"), pattern = /-?\d+(\.\d+)?(e[-+]?\d+)?/g;
  return [text.replace(pattern, "#"), (text.match(pattern) ?? []).map(Number)];
}

function assertClose(found: readonly number[], wanted: readonly number[], what: string): void {
  assertEquals(found.length, wanted.length, what);
  const at = found.findIndex((v, i) => !(Math.abs(v - wanted[i]) <= 1e-3));
  assert(at < 0, `${what} ${at} is ${found[at]}, over TensorFlow.js ${wanted[at]}`);
}

Deno.test({
  name: "tfjs-vis shows over Weft what it shows over TensorFlow.js",
  ignore: chromium === null,
  async fn(t) {
    const folder = await Deno.makeTempDir({ prefix: "weft-vis-" });
    try {
      const wanted = await show("cpu", { core: await theirCore(), files: new Map(), folder });
      const files = await weftFiles(`${folder}/weft`);
      const core: CoreFor = () => ({ path: "/weft/tfjs-core.js", external: true });
      for (const device of some(["cpu", "webgpu"], 1)) {
        await t.step(device, async () => {
          const found = await show(device, { core, files, folder });
          assertEquals(found.backend, device);
          for (const [name, { tags, cells, picture }] of Object.entries(wanted.shown)) {
            const shown = found.shown[name];
            assertEquals(shown.tags, tags, name);
            assert(tags.includes("CANVAS") || cells.length > 0, `${name} shows nothing`);
            const [text, numbers] = parts(cells), [ourText, ourNumbers] = parts(shown.cells);
            assertEquals(ourText, text, name);
            assertClose(ourNumbers, numbers, name);
            assertEquals(shown.picture, picture, name);
          }
          const { matrix, accuracy, perClass } = found;
          assertEquals({ matrix, perClass }, { matrix: wanted.matrix, perClass: wanted.perClass });
          assertClose([accuracy], [wanted.accuracy], "accuracy");
          for (const [key, list] of Object.entries(wanted.history)) {
            assertClose(found.history[key], list, key);
          }
        });
      }
    } finally {
      await stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
