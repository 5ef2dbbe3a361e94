/** A page that trains TensorFlow.js's layers on Weft by one line of its import map, and keeps models in the browser's stores. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.
import { putPackage } from "../built.ts";

import { assert, assertEquals } from "@std/assert";
import { findChromium, type PageFile, runPage } from "../../tools/browser.ts";
import { npmFolder } from "../../tools/npm.ts";

const chromium = await findChromium();

const IMPORTS = {
  "@tensorflow/tfjs-core": "/weft/tfjs-core.js",
  "@tensorflow/tfjs-layers": "/layers.js",
};

const PROGRAM = `
import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";
const send = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
async function train(device) {
  if (!await tf.setBackend(device)) return { device, missing: true };
  const model = tfl.sequential({
    layers: [
      tfl.layers.conv2d({ filters: 2, kernelSize: 3, activation: "relu", inputShape: [6, 6, 1] }),
      tfl.layers.flatten(),
      tfl.layers.dense({ units: 1 }),
    ],
  });
  model.compile({ optimizer: "adam", loss: "meanSquaredError" });
  const xs = tf.randomNormal([32, 6, 6, 1], 0, 1, "float32", 3), ys = tf.mean(xs, [1, 2]);
  const { history } = await model.fit(xs, ys, { epochs: 6, batchSize: 8, verbose: 0 });
  const wanted = await model.predict(xs).data();
  const same = [];
  for (const url of ["indexeddb://net", "localstorage://net"]) {
    await model.save(url);
    const known = Object.keys(await tf.io.listModels());
    const loaded = await tfl.loadLayersModel(url);
    const found = await loaded.predict(xs).data();
    same.push(known.includes(url) && found.every((v, i) => v === wanted[i]));
    await tf.io.moveModel(url, url + "2");
    const moved = Object.keys(await tf.io.listModels());
    same.push(moved.includes(url + "2") && !moved.includes(url));
    await tf.io.removeModel(url + "2");
  }
  same.push(Object.keys(await tf.io.listModels()).length === 0);
  return { device, backend: tf.getBackend(), first: history.loss[0], last: history.loss.at(-1), same };
}
for (const device of ["cpu", "webgpu"]) {
  await send(await train(device).catch((error) => ({ device, error: String(error.stack) })));
}
await send(null);
`;

/** The page's report on a device. */
interface Trained {
  readonly device: string;
  readonly missing?: boolean;
  readonly error?: string;
  readonly backend: string;
  readonly first: number;
  readonly last: number;
  readonly same: readonly boolean[];
}

async function pageFiles(): Promise<Map<string, PageFile>> {
  const script = (body: string): PageFile => ({ type: "text/javascript", body });
  const files = new Map<string, PageFile>();
  const folder = await Deno.makeTempDir({ prefix: "weft-page-" });
  try {
    await putPackage(folder, { types: false });
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".js")) continue;
      files.set(`/weft/${name}`, script(await Deno.readTextFile(`${folder}/${name}`)));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const layers = new URL("dist/tf-layers.fesm.js", await npmFolder("@tensorflow/tfjs-layers"));
  files.set("/layers.js", script(await Deno.readTextFile(layers)));
  files.set("/main.js", script(PROGRAM));
  const map = JSON.stringify({ imports: IMPORTS });
  const body =
    `<!doctype html><script type="importmap">${map}</script><script type="module" src="/main.js"></script>`;
  files.set("/", { type: "text/html", body });
  return files;
}

Deno.test({
  name: "a page trains layers, and keeps models in its database and its local storage",
  ignore: chromium === null,
  async fn(t) {
    const told: Trained[] = [];
    await runPage(chromium!, { files: await pageFiles(), isolated: false }, (message) => {
      if (message !== null) told.push(message as Trained);
    });
    assertEquals(told.map(({ device }) => device), ["cpu", "webgpu"]);
    for (const trained of told) {
      await t.step({
        name: trained.device,
        ignore: trained.missing === true,
        fn() {
          assertEquals(trained.error, undefined);
          assertEquals(trained.backend, trained.device);
          assert(
            trained.last < trained.first,
            `the loss went from ${trained.first} to ${trained.last}`,
          );
          assertEquals(trained.same, [true, true, true, true, true]);
        },
      });
    }
  },
});
