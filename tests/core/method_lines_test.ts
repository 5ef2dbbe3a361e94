/** Errors of methods are the library's and begin at the caller. */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { fileName } from "../devices.ts";
import { before, beginsHere, ENGINE, errorOf, KINDS, TELLING } from "./wrong_values.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

const HERE = fileName(import.meta.url);

/** Makes an object of each class whose methods users call. */
const OBJECTS: Readonly<Record<string, () => object>> = {
  Tensor: () => tf.tensor([[1, 2], [3, 4]]),
  Variable: () => tf.variable([[1, 2], [3, 4]]),
  NdArray: () => new tf.NdArray("float32", [2], Float32Array.of(1, 2)),
  TensorArray: () => new tf.TensorArray("float32", 2, { elementShape: [2] }),
  TensorBuffer: () => tf.buffer([2, 2]),
  RaggedTensor: () => tf.ragged.constant([[1], [2, 3]]),
  SparseTensor: () => new tf.SparseTensor([[0, 1]], [5], [2, 3]),
  IndexedSlices: () => new tf.IndexedSlices([[1, 2]], [0], [2, 2]),
  Dataset: () => tf.data.fromTensorSlices([[1, 2], [3, 4]]),
  GradientTape: () => new tf.GradientTape({ persistent: true }),
  Graph: () => new tf.Graph(),
  Session: () => new tf.Session({ graph: new tf.Graph() }),
  "a function": () => tf.function((x: tf.Tensor) => tf.square(x)),
  sgd: () => tf.train.sgd(0.1),
  adam: () => tf.train.adam(0.1),
  momentum: () => tf.train.momentum(0.1, 0.9),
};

/** Names of the methods of an object. */
function methodsOf(of: object): string[] {
  const names = new Set<string>();
  for (
    let o = of;
    o !== null && o !== Object.prototype && o !== Function.prototype;
    o = Object.getPrototypeOf(o)
  ) {
    for (const [name, d] of Object.entries(Object.getOwnPropertyDescriptors(o))) {
      if (typeof d.value === "function" && name !== "constructor") names.add(name);
    }
  }
  return [...names];
}

/** Calls with arguments of every kind. */
function calls(good: readonly Any[][]): [kind: string, args: Any[]][] {
  return [
    ...Object.entries(KINDS).map(([kind, v]): [string, Any[]] => [kind, [v, v, v]]),
    ...good.flatMap((args) =>
      TELLING.map((kind): [string, Any[]] => [kind, [...args, KINDS[kind]]])
    ),
  ];
}

/** Methods that print or wait for what never comes, and those that the library calls. */
const LEFT_OUT =
  /^(print|then|toString|toJSON|inspect|valueOf|close|dispose|applyOp|addOp|convertInput|capture|foreign|resource|onResource|onOperation|array|save|addedTo|preventFeeding|isFeedable)$/;

async function faultsOf(
  name: string,
  call: (...args: Any[]) => unknown,
): Promise<{ wrong: string[]; refused: number }> {
  const wrong: string[] = [];
  let refused = 0;
  for (const [kind, args] of calls(before())) {
    const e = await errorOf(() => call(...args));
    if (!(e instanceof Error)) continue;
    refused++;
    if (!beginsHere(e, HERE) || ENGINE.test(e.message)) {
      wrong.push(`${name} of ${kind}, argument ${args.length}: ${e.stack}`);
    }
  }
  return { wrong, refused };
}

for (const [name, make] of Object.entries(OBJECTS)) {
  Deno.test(`errors of the methods of ${name} are the library's and begin at the caller`, async () => {
    await tf.setBackend("cpu");
    const wrong: string[] = [];
    let refused = 0;
    for (const method of methodsOf(make())) {
      if (LEFT_OUT.test(method)) continue;
      const found = await faultsOf(
        `${name}.${method}`,
        (...args) => (make() as Any)[method](...args),
      );
      wrong.push(...found.wrong);
      refused += found.refused;
    }
    assertEquals(wrong, []);
    assert(refused > 0);
  });
}
