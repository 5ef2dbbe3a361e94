// Runs alone: `./tfjs-core` has TensorFlow.js' rules of integers for all of the process.
/** Every function of every entry is called with values of a wrong kind: it tells so in words of ours, and never in those of the engine. */
import * as tf from "@weft/weft";
import * as cluster from "@weft/weft/distribute";
import * as image from "@weft/weft/image";
import * as keras from "@weft/weft/keras";
import * as onnx from "@weft/weft/onnx";
import * as ops from "@weft/weft/ops";
import * as ort from "@weft/weft/ort";
import * as serving from "@weft/weft/serve";
import * as testing from "@weft/weft/testing";
import * as files from "@weft/weft/tf";
import * as core from "@weft/weft/tfjs-core";
import { assert, assertEquals } from "@std/assert";
import { some } from "../effort.ts";
import { KINDS, nativeError, SECOND, TEXT, type Untyped } from "./kinds.ts";

/** Arguments that are right for many functions, before one of a wrong kind. */
const BEFORE: Readonly<Record<string, () => unknown[]>> = {
  "a tensor": () => [tf.tensor([1, 2])],
  "two tensors": () => [tf.tensor([1, 2]), tf.tensor([1, 2])],
  "a matrix and two numbers": () => [tf.ones([2, 2]), 1, 1],
  "a text": () => [TEXT],
  "a function": () => [(x: unknown) => x],
  "a function and a list": () => [(x: unknown) => x, [tf.tensor([1, 2])]],
};

/** Entries, of which each is asked for what those before it have not. `./eager` has the main one's functions; those of `./numpy` and `./tfjs` are other packages'. */
const ENTRIES: Readonly<Record<string, object>> = {
  "": tf,
  "distribute": cluster,
  "image": image,
  "keras": keras,
  "onnx": onnx,
  "ops": ops,
  "ort": ort,
  "serve": serving,
  "testing": testing,
  "tf": files,
  "tfjs-core": core,
};

/** Functions that change the process, or wait for a device. */
const LEFT_OUT =
  /^(?:main|startWorker|disposeVariables|ready|setBackend|tuneKernels|nextFrame|print|(?:dis|en)able\w+)$/;

/** Functions of `./tfjs-core` for authors of kernels and backends, unchecked as in TensorFlow.js. */
const FOR_KERNELS =
  /util\.|kernel_impls|Kernel|Backend|Platform|^(?:un)?registerGradient|^(?:engine|env)$/;

function functionsOf(
  module: object,
  above: readonly object[] = [],
  prefix = "",
): [string, Untyped][] {
  return Object.entries(module).flatMap(([name, value]): [string, Untyped][] => {
    if (Object.prototype.toString.call(value) === "[object Module]") {
      return above.includes(value)
        ? []
        : functionsOf(value, [...above, value], `${prefix}${name}.`);
    }
    const isPlain = typeof value === "function" &&
      !/^class\b/.test(Function.prototype.toString.call(value)) && !LEFT_OUT.test(name);
    return isPlain ? [[prefix + name, value as Untyped]] : [];
  });
}

const seen = new Set<unknown>();

for (const [entry, module] of Object.entries(ENTRIES)) {
  Deno.test(`values of wrong kinds are refused in our words by every function of ${entry || "the main entry"}`, async () => {
    const functions = functionsOf(module, [module]).filter(([name, fn]) =>
      !seen.has(fn) && !FOR_KERNELS.test(name)
    );
    for (const [, fn] of functions) seen.add(fn);
    assert(functions.length > (entry === "" ? 400 : 0), `${functions.length} functions`);
    const found: string[] = [];
    for (const [name, fn] of functions) {
      for (const [kind, make] of Object.entries(KINDS)) {
        for (const second of SECOND) {
          const message = await nativeError(fn, [make(), second]);
          if (message) found.push(`${name}(${kind}, ${String(second)}): ${message}`);
        }
        for (const [before, begin] of some(Object.entries(BEFORE), 3)) {
          const message = await nativeError(fn, [...begin(), make()]);
          if (message) found.push(`${name}(${before}, ${kind}): ${message}`);
        }
      }
    }
    assertEquals(found, []);
  });
}
