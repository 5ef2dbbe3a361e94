/** Poolings and their gradients in vector code, against the ops' own loops. */

import { assert, assertEquals, fail } from "@std/assert";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import type { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { ENGINES, randomSource } from "./engines.ts";
import { ints, op, runFast, runLoops, runSparsely } from "./kernel_runs.ts";

const random = randomSource(8);
function make(shape: readonly number[], value: () => number = () => random() - 0.5): NdArray {
  const x = NdArray.zeros("float32", [...shape]);
  (x.data as Float32Array).forEach((_, i, d) => d[i] = value());
  return x;
}

function compare(
  engine: Engine,
  name: string,
  inputs: NdArray[],
  attrs: Record<string, unknown>,
): NdArray {
  const got = runFast(engine, op(name), inputs, attrs)?.[0],
    want = runLoops(op(name), inputs, attrs)[0];
  const text = `${name} of ${inputs.map((x) => `[${x.shape}]`)} ${JSON.stringify(attrs)}`;
  assert(got !== undefined, `no vector code for ${text}`);
  for (let i = 0; i < want.size; i++) {
    const [a, b] = [got.data[i] as number, want.data[i] as number];
    if (!(a === b || Math.abs(a - b) <= 1e-6 * (1 + Math.abs(b)))) {
      fail(`${text}: element ${i} is ${a}, wanted ${b}`);
    }
  }
  return want;
}

const CASES: readonly [
  shape: number[],
  window: number,
  stride: number,
  padding: string,
  dilation?: number,
][] = [
  [[1, 1, 1, 1], 1, 1, "VALID"],
  [[2, 6, 6, 8], 2, 2, "VALID"],
  [[2, 7, 5, 3], 2, 2, "SAME"],
  [[1, 9, 8, 17], 3, 2, "SAME"],
  [[2, 5, 5, 5], 3, 1, "SAME"],
  [[1, 7, 7, 33], 7, 1, "VALID"],
  [[1, 9, 9, 2], 2, 1, "VALID", 3],
  [[1, 4, 4, 4], 3, 3, "SAME", 2],
  [[0, 4, 4, 4], 2, 2, "VALID"],
  [[1, 5, 6, 1], 2, 3, "SAME"],
];

for (const [name, engine] of ENGINES) {
  Deno.test(`poolings and their gradients agree with the loops: ${name}`, () => {
    for (const [shape, window, stride, padding, dilation = 1] of CASES) {
      const attrs = {
        ksize: [1, window, window, 1],
        strides: [1, stride, stride, 1],
        dilations: [1, dilation, dilation, 1],
        padding,
      };
      // Few values, so that there are ties; the first of them counts.
      for (const value of [() => random() - 0.5, () => Math.floor(3 * random())]) {
        const x = make(shape, value);
        const y = compare(engine, "MaxPool", [x], attrs);
        compare(engine, "AvgPool", [x], attrs);
        compare(engine, "MaxPoolGrad", [x, y, make(y.shape)], attrs);
        compare(engine, "AvgPoolGrad", [ints(...shape), make(y.shape)], attrs);
      }
    }
  });

  Deno.test(`poolings over three axes agree with the loops: ${name}`, () => {
    const attrs = { ksize: [1, 2, 3, 2, 1], strides: [1, 2, 1, 2, 1], padding: "SAME" };
    const x = make([2, 4, 5, 3, 6]);
    const y = compare(engine, "MaxPool3D", [x], attrs);
    compare(engine, "AvgPool3D", [x], attrs);
    compare(engine, "MaxPool3DGrad", [x, y, make(y.shape)], attrs);
    compare(engine, "AvgPool3DGrad", [ints(...x.shape), make(y.shape)], attrs);
  });

  Deno.test(`maxPool passes NaN over and takes infinities: ${name}`, () => {
    for (const [window, stride, padding] of [[2, 2, "VALID"], [3, 1, "SAME"], [7, 2, "SAME"]]) {
      const attrs = { ksize: [1, window, window, 1], strides: [1, stride, stride, 1], padding };
      const values = [NaN, 1, Infinity, -Infinity, -0, 2];
      const x = make([1, 8, 8, 5], () => values[Math.floor(random() * values.length)]);
      const y = compare(engine, "MaxPool", [x], attrs);
      compare(engine, "MaxPoolGrad", [x, y, make(y.shape)], attrs);
      for (const channels of [3, 7]) {
        const nothing = make([1, 9, 9, channels], () => NaN);
        const top = compare(engine, "MaxPool", [nothing], attrs);
        compare(engine, "MaxPoolGrad", [nothing, top, make(top.shape)], attrs);
      }
    }
  });
}

Deno.test("AvgPool reads images of more than 2 GiB to their ends", () => {
  const attrs = { ksize: [1, 2, 2, 1], strides: [1, 1000, 1000, 1], padding: "SAME" };
  assertEquals(runSparsely("AvgPool", { image: [1, 3001, 2001, 100], rest: [], attrs }), 0.5);
});
