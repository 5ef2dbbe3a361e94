/** Stacks of errors beside what Vite's dev server bundles of packages: files in `.vite/deps`, asked for with a query. */

import { assertEquals } from "@std/assert";
import { build, stop } from "esbuild";
import { capture } from "../tools/command.ts";
import { putPackage } from "./built.ts";

/** Ends what hangs. */
const TIMEOUT_MS = 300_000;

/** A program that prints each error's first place where it is not the program, and each that shows Vite's folder. */
const PROGRAM = `
import * as tf from "./node_modules/.vite/deps/@weft_weft.js?v=1a2b3c";
await tf.setBackend("cpu");
const [a, b] = [tf.ones([2, 3]), tf.ones([4, 5])];
const mistakes = {
  matMul: () => tf.matMul(a, b),
  grad: () => tf.grad((x) => tf.concat([x, b], 0))(a),
  method: () => a.square().matMul(b),
  argument: () => tf.add(null, 1),
  compiled: () => tf.function((x) => tf.matMul(x, b))(a),
};
for (const [name, mistake] of Object.entries(mistakes)) {
  try {
    mistake();
    console.log(name, "no error");
  } catch ({ stack }) {
    const [, first] = stack.split("\\n");
    if (!first.includes("main.js") || stack.includes(".vite")) console.log(name, stack);
  }
}`;

Deno.test("errors begin at the user's line under Vite's dev server", async () => {
  const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft_vite_" }));
  try {
    await putPackage(`${home}/package`, { types: false });
    await build({
      absWorkingDir: home,
      entryPoints: { "@weft_weft": "package/mod.js" },
      bundle: true,
      splitting: true,
      format: "esm",
      outdir: `${home}/node_modules/.vite/deps`,
      logLevel: "error",
    });
    await Deno.writeTextFile(`${home}/main.js`, PROGRAM);
    const flags = ["run", "-A", "--no-config", "--no-lock", `${home}/main.js`];
    const options = { timeoutMs: TIMEOUT_MS };
    const { code, stdout, stderr } = await capture(Deno.execPath(), flags, options);
    assertEquals([code, stdout, stderr], [0, "", ""]);
  } finally {
    await stop();
    await Deno.remove(home, { recursive: true });
  }
});
