/** Pages without modules: scripts that make globals, alone and under TensorFlow.js's layers. */

import { assert, assertEquals } from "@std/assert";
import { findChromium, runPage } from "../tools/browser.ts";
import { read } from "../tools/files.ts";
import { packageFolder } from "../tools/npm.ts";
import { builtPackage } from "./built.ts";
import { packedBytes } from "./packed.ts";

const chromium = await findChromium();
const ignore = chromium === null && Deno.env.get("WEFT_REQUIRE_WEBGPU") !== "1";

const GLOBAL_SCRIPTS = ["weft.min.js", "tf-core.min.js"];

const scripts = new Map<string, string>();

if (!ignore) {
  Deno.test.beforeAll(async () => {
    const folder = await builtPackage({ types: false });
    for (const name of GLOBAL_SCRIPTS) {
      scripts.set(name, await Deno.readTextFile(`${folder}/${name}`));
    }
    const layers = new URL("dist/tf-layers.min.js", await packageFolder("@tensorflow/tfjs-layers"));
    scripts.set("tf-layers.min.js", await Deno.readTextFile(layers));
  });
}

/** Loads scripts in a page, runs a program after them, and gives what it says. */
async function told(names: readonly string[], program: string): Promise<unknown[]> {
  const type = "text/javascript; charset=utf-8";
  const text = `<!doctype html><meta charset="utf-8">
${names.map((name) => `<script src="${name}"></script>`).join("\n")}
<script src="main.js"></script>`;
  // Errors are told as the others, with the lines of a stack that are the page's.
  const main = `"use strict";
const send = (m) => fetch("/message", { method: "POST", body: JSON.stringify(m) });
(async () => {
  try {
    await (async (say) => {${program}})(send);
  } catch (error) {
    await send(error.name + ": " + error.message);
  }
  await send(null);
})();`;
  const files = new Map([
    ["/", { type: "text/html", body: text }],
    ["/main.js", { type, body: main }],
    ...names.map((name) => [`/${name}`, { type, body: scripts.get(name)! }] as const),
  ]);
  const out: unknown[] = [];
  const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src blob:";
  await runPage(chromium!, { files, isolated: true, policy }, (message) => out.push(message));
  return out;
}

/** Programs, and what they tell. */
const PROGRAMS: Readonly<
  Record<string, readonly [scripts: readonly string[], program: string, told: readonly unknown[]]>
> = {
  "weft.min.js makes the globals weft and tf": [
    ["weft.min.js"],
    `await weft.setBackend("cpu");
    await say([tf === weft, typeof tf.function, tf.getBackend()]);
    const median = (a) => [...a.data].sort((p, q) => p - q)[a.size >> 1];
    const f = tf.function((x) => tf.sub(x, tf.numpyFunction(median, [x], "float32")));
    await say(Array.from(await (await f.async(tf.tensor([3, 1, 5]))).data()));
    await say(tf.grad((x) => x.square().sum())(tf.tensor([1, 2])).arraySync());
    await say([tf.variable([1]).constructor.name, tf.Graph.name]);`,
    [[true, "function", "cpu"], [0, -2, 2], [2, 4], ["Variable", "Graph"]],
  ],
  "weft.min.js leaves a page's own tf alone": [
    ["tf-core.min.js", "weft.min.js"],
    `await say([tf === weft, typeof tf.engine, typeof weft.engine]);`,
    [[false, "function", "undefined"]],
  ],
  "errors of weft.min.js begin at the page's own line": [
    ["weft.min.js"],
    `await tf.setBackend("cpu");
    try {
      tf.matMul(tf.ones([2, 3]), tf.ones([2, 3]));
    } catch (error) {
      const [first] = error.stack.slice(error.stack.indexOf(error.message) + error.message.length).trim().split("\\n");
      await say([error.name, /main\\.js:\\d+/.test(first)]);
    }`,
    [["InvalidArgumentError", true]],
  ],
  "WebGPU of weft.min.js computes": [
    ["weft.min.js"],
    `const hasGpu = await tf.setBackend("webgpu");
    await say(hasGpu ? Array.from(await tf.add([1, 2], 1).data()) : [2, 3]);`,
    [[2, 3]],
  ],
  "a program of TensorFlow.js's script tags trains on tf-core.min.js": [
    ["tf-core.min.js", "tf-layers.min.js"],
    `const model = tf.sequential();
    model.add(tf.layers.dense({ units: 1, inputShape: [1], kernelInitializer: "zeros" }));
    model.compile({ loss: "meanSquaredError", optimizer: tf.train.sgd(0.1) });
    const xs = tf.tensor2d([-1, 0, 1, 2], [4, 1]), ys = tf.tensor2d([-3, -1, 1, 3], [4, 1]);
    await model.fit(xs, ys, { epochs: 200, verbose: 0 });
    const y = model.predict(tf.tensor2d([10], [1, 1]));
    await say(Math.round(y.dataSync()[0]));
    await say(tf.tensor([[1, 2]]).toString().split("\\n")[0]);`,
    [19, "Tensor"],
  ],
};

for (const [name, [names, program, wanted]] of Object.entries(PROGRAMS)) {
  Deno.test({
    name,
    ignore,
    fn: async () => assertEquals(await told(names, program), wanted),
    sanitizeOps: false,
    sanitizeResources: false,
  });
}

Deno.test({
  name: "scripts that make globals weigh no more than the guide says",
  ignore,
  fn() {
    // The first numbers behind their names.
    const guide = read("docs/browsers_and_node.md");
    for (const name of GLOBAL_SCRIPTS) {
      const [, said] = new RegExp(`\`(?:dist/)?${name}\`[^]*?(\\d+) KiB`).exec(guide)!;
      const kib = packedBytes(scripts.get(name)!) / 1024;
      assert(kib <= 1.01 * Number(said), `${name}: ${kib.toFixed(1)} KiB, the guide says ${said}`);
    }
  },
});
