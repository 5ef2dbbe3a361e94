/** Every name of `@tensorflow/tfjs-core` is there, of the same kind, in its namespaces too. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

// First: whichever is loaded first is the engine that bundled copies of TensorFlow.js find.
import * as tfjs from "@tensorflow/tfjs-core";
import * as entry from "@weft/weft/tfjs-core";
import * as tf from "@weft/weft";
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { npmFolder } from "../../tools/npm.ts";
import { exists } from "../../tools/files.ts";
import { moduleFor, SUBPATHS, TFJS_CORE } from "../../tools/tfjs_core.ts";

type Names = Record<string, unknown>;

/** Additional names of a CommonJS package. */
const OF_COMMONJS = ["default", "module.exports"];

Deno.test("every name of tfjs-core is exported, and is of the same kind", () => {
  const wanted: Names = { ...tfjs }, found: Names = { ...entry };
  for (const [name, value] of Object.entries(wanted)) {
    if (OF_COMMONJS.includes(name)) continue;
    assert(name in found, `tf.${name} is missing`);
    // tf.train is a class with static methods there.
    if (name === "train" || name === "OptimizerConstructors") continue;
    assertEquals(typeof found[name], typeof value, `tf.${name}`);
  }
});

Deno.test("every name in tfjs-core's namespaces is there", () => {
  for (const [space, names] of Object.entries({ ...tfjs } as Names)) {
    if (OF_COMMONJS.includes(space) || typeof names !== "object" || names === null) continue;
    const found = ({ ...entry } as Names)[space] as Names;
    for (const [name, value] of Object.entries(names)) {
      if (space === "ENV") continue;
      assertEquals(typeof found[name], typeof value, `tf.${space}.${name}`);
      if (typeof value === "object" && value !== null) {
        const missing = Object.keys(value).filter((key) => !(key in (found[name] as object)));
        assertEquals(missing, [], `tf.${space}.${name}`);
      }
    }
  }
});

Deno.test("names of the entry are those of tfjs-core, and the engine's classes", () => {
  const own = Object.keys(entry).filter((name) => !(name in tfjs));
  assertEquals(own, ["Engine", "EngineState"]);
});

Deno.test("kernels' names and constants are TensorFlow.js's", () => {
  for (const [name, value] of Object.entries({ ...tfjs } as Names)) {
    if (typeof value !== "string" && typeof value !== "number") continue;
    assertEquals((entry as Names)[name], value, name);
  }
  for (const [name, value] of Object.entries(tfjs.backend_util as Names)) {
    if (typeof value === "number") assertEquals((entry.backend_util as Names)[name], value, name);
  }
});

Deno.test("tensors, variables and optimizers are Weft's own classes", () => {
  using x = entry.tensor1d([1, 2]);
  assert(x instanceof tf.Tensor);
  assertStrictEquals(entry.Tensor, tf.Tensor);
  assertStrictEquals(entry.Variable, tf.Variable);
  assertStrictEquals(entry.AdamOptimizer, tf.AdamOptimizer);
});

Deno.test("each subpath leads to a module that has the names of TensorFlow.js's", async () => {
  for (const [subpath, source] of Object.entries(SUBPATHS)) {
    assert(exists(source, "isFile"), source);
    assertEquals(moduleFor(`${TFJS_CORE}/${subpath}`), source);
    assertEquals(moduleFor(`${TFJS_CORE}/${subpath}.js`), source);
    const file = await declarationOf(subpath);
    const wanted = [
      ...file.matchAll(/^export declare (?:function|const|class|enum|abstract class) (\w+)/gm),
    ].map(([, name]) => name);
    const found = await import(new URL(`../../${source}`, import.meta.url).href);
    const missing = wanted.filter((name) => !(name in found) && !NOT_OURS.has(name));
    assertEquals(missing, [], subpath);
  }
});

/** Names that only TensorFlow.js itself calls. */
const NOT_OURS = new Set([
  ...["getOrMakeEngine", "setTensorTracker", "setOpHandler", "setDeprecationWarningFn"],
  ...["getGlobalTensorClass", "isWebGLData", "isWebGPUData", "search"],
]);

async function declarationOf(subpath: string): Promise<string> {
  return await Deno.readTextFile(new URL(`${subpath}.d.ts`, await npmFolder(TFJS_CORE)));
}
