/** The ways to put Weft in the place of `@tensorflow/tfjs-core`: one line of an import map, and npm's `overrides`. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.
import { putPackage } from "../built.ts";

import { assertEquals } from "@std/assert";
import { buildTfjsCore } from "../../tools/package/stand_ins.ts";
import { capture } from "../../tools/command.ts";
import { npmFolder } from "../../tools/npm.ts";
import { fromFileUrl } from "../../tools/paths.ts";
import { findNode } from "../../tools/node.ts";

const PACKAGES = ["layers", "data", "converter"] as const;

/** A program as TensorFlow.js's users write it; its imports are all that says what it runs on. */
const PROGRAM = `
import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";
import * as data from "@tensorflow/tfjs-data";
import { loadGraphModel } from "@tensorflow/tfjs-converter";
const model = tfl.sequential({ layers: [tfl.layers.dense({ units: 1, inputShape: [2], useBias: false })] });
model.compile({ optimizer: tf.train.sgd(0.05), loss: "meanSquaredError" });
const xs = tf.tensor2d([[1, 0], [0, 1], [1, 1]]), ys = tf.tensor2d([[2], [-3], [-1]]);
await model.fit(xs, ys, { epochs: 200, verbose: 0, shuffle: false });
const [w] = model.getWeights();
console.log([...await w.data()].map(Math.round).join(" "));
console.log((await data.array([1, 2, 3]).map((x) => x * 2).toArray()).join(" "));
const { data: weightData, specs: weightSpecs } = await tf.io.encodeWeights({ w: tf.tensor2d([[1], [1]]) });
const T = { type: "DT_FLOAT" };
const node = [
  { name: "x", op: "Placeholder", attr: { dtype: T, shape: { shape: { dim: [{ size: "-1" }, { size: "2" }] } } } },
  { name: "w", op: "Const", attr: { dtype: T } },
  { name: "y", op: "MatMul", input: ["x", "w"], attr: { T, transpose_a: { b: false }, transpose_b: { b: false } } },
];
const graph = await loadGraphModel(tf.io.fromMemory({ modelTopology: { node, library: {}, versions: {} }, weightSpecs, weightData }));
console.log(graph.predict(tf.tensor2d([[3, 4]])).dataSync()[0], tf.engine().constructor.name);
`;
const WRITTEN = "2 -3\n2 4 6\n7 Engine";

/** The re-exports of `@tensorflow/tfjs`: Node finds the core's names by reading both files. */
const UNION = `
var tfjsCore = require("@tensorflow/tfjs-core");
Object.keys(tfjsCore).forEach(function (k) {
  if (k !== "default" && !exports.hasOwnProperty(k)) Object.defineProperty(exports, k, {
    enumerable: true,
    get: function () { return tfjsCore[k]; }
  });
});`;
const NAMES = `
import { scalar as one, util } from "./union.cjs";
console.log(one(1) instanceof tf.Tensor, util === tf.util);`;

/** The engine's class of TensorFlow.js has the name too: this says whose it is. */
const WHOSE = `console.log(tf.Tensor.prototype.ndarray !== undefined);`;

let home = "";

Deno.test.beforeAll(async () => {
  home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft-installed-" }));
  await putPackage(`${home}/built/weft`, { types: false });
  await buildTfjsCore(`${home}/built/tfjs-core`);
});
Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));

async function written(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await capture(program, args, { timeoutMs: 600_000 });
  assertEquals(code, 0, stderr);
  return stdout.trim();
}

Deno.test("one line of an import map is enough", async () => {
  const folder = `${home}/import_map`;
  await Deno.mkdir(folder);
  const imports: Record<string, string> = { "@tensorflow/tfjs-core": "../built/weft/tfjs-core.js" };
  for (const name of PACKAGES) {
    const file = `dist/tf-${name}.fesm.js`;
    const source = new URL(file, await npmFolder(`@tensorflow/tfjs-${name}`));
    await Deno.copyFile(source, `${folder}/tf-${name}.js`);
    imports[`@tensorflow/tfjs-${name}`] = `./tf-${name}.js`;
  }
  await Deno.writeTextFile(`${folder}/import_map.json`, JSON.stringify({ imports }));
  await Deno.writeTextFile(`${folder}/main.js`, PROGRAM + WHOSE);
  const args = ["run", "--no-config", "--allow-read", "--import-map", `${folder}/import_map.json`];
  const found = await written(Deno.execPath(), [...args, `${folder}/main.js`]);
  assertEquals(found, `${WRITTEN}\ntrue`);
});

/** A folder as npm makes it where package.json overrides `@tensorflow/tfjs-core`. */
async function install(folder: string): Promise<void> {
  const modules = `${folder}/node_modules`;
  await Deno.mkdir(`${modules}/@tensorflow`, { recursive: true });
  await Deno.mkdir(`${modules}/@weft`);
  await Deno.rename(`${home}/built/tfjs-core`, `${modules}/@tensorflow/tfjs-core`);
  await copyFolder(`${home}/built/weft`, `${modules}/@weft/weft`);
  for (const name of PACKAGES) {
    const source = fromFileUrl(await npmFolder(`@tensorflow/tfjs-${name}`));
    const target = `${modules}/@tensorflow/tfjs-${name}`;
    await Deno.mkdir(`${target}/dist`, { recursive: true });
    await Deno.copyFile(`${source}package.json`, `${target}/package.json`);
    await Deno.copyFile(`${source}dist/tf-${name}.node.js`, `${target}/dist/tf-${name}.node.js`);
  }
  const dependencies = [
    "@tensorflow/tfjs-core",
    ...PACKAGES.map((name) => `@tensorflow/tfjs-${name}`),
  ];
  await Deno.writeTextFile(
    `${folder}/package.json`,
    JSON.stringify({
      type: "module",
      dependencies: Object.fromEntries(dependencies.map((name) => [name, "*"])),
    }),
  );
  await Deno.writeTextFile(`${folder}/union.cjs`, UNION);
  await Deno.writeTextFile(`${folder}/main.js`, PROGRAM + WHOSE + NAMES);
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isFile } of Deno.readDir(from)) {
    if (isFile) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

Deno.test("npm's overrides are enough, in Deno and in Node", async (t) => {
  const folder = `${home}/overrides`;
  await install(folder);
  await t.step("Deno", async () => {
    const args = ["run", "--no-lock", "--node-modules-dir=manual", "--allow-read", "--allow-env"];
    const { code, stdout, stderr } = await capture(
      Deno.execPath(),
      [...args, `${folder}/main.js`],
      { timeoutMs: 600_000 },
    );
    assertEquals(code, 0, stderr);
    assertEquals(stdout.trim(), `${WRITTEN}\ntrue\ntrue true`);
  });
  const node = await findNode();
  await t.step({
    name: "Node",
    ignore: node === null,
    fn: async () =>
      assertEquals(await written(node!, [`${folder}/main.js`]), `${WRITTEN}\ntrue\ntrue true`),
  });
});
