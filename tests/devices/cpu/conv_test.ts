/** Convolutions and their gradients in vector code, against the ops' own loops. */

import { assert, fail } from "@std/assert";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { ENGINES, randomSource } from "./engines.ts";
import { ints, op, runFast, runLoops } from "./kernel_runs.ts";

const random = randomSource(6);
function make(shape: readonly number[]): NdArray {
  const x = NdArray.zeros("float32", [...shape]);
  (x.data as Float32Array).forEach((_, i, d) => d[i] = random() - 0.5);
  return x;
}

/** Compares what each engine computes with what the loops do, once for all of them: they take most of the time. */
function compare(
  name: string,
  inputs: NdArray[],
  attrs: Record<string, unknown>,
  terms = 0,
): NdArray {
  const want = runLoops(op(name), inputs, attrs)[0];
  for (const [engineName, engine] of ENGINES) {
    const got = runFast(engine, op(name), inputs, attrs)?.[0];
    const text = `${name} of ${inputs.map((x) => `[${x.shape}]`)} ${JSON.stringify(attrs)}`;
    assert(got !== undefined, `no vector code for ${text}: ${engineName}`);
    for (let i = 0; i < want.size; i++) {
      const [a, b] = [got.data[i] as number, want.data[i] as number];
      // Each of many terms adds its rounding.
      if (!(Math.abs(a - b) <= 1e-5 * (1 + Math.abs(b)) + 1e-9 * terms)) {
        fail(`${text}: ${engineName}: element ${i} is ${a}, wanted ${b}`);
      }
    }
  }
  return want;
}

interface Case {
  readonly x: number[];
  readonly filter: number[];
  readonly attrs: Record<string, unknown>;
}
const attrs = (
  stride: number,
  padding: string,
  dilation = 1,
  more = {},
): Record<string, unknown> => ({
  strides: [1, stride, stride, 1],
  dilations: [1, dilation, dilation, 1],
  padding,
  ...more,
});
const CASES: readonly Case[] = [
  { x: [1, 1, 1, 1], filter: [1, 1, 1, 1], attrs: attrs(1, "VALID") },
  { x: [2, 5, 6, 3], filter: [1, 1, 3, 4], attrs: attrs(1, "SAME") },
  { x: [2, 5, 6, 3], filter: [1, 1, 3, 4], attrs: attrs(2, "SAME") },
  { x: [1, 7, 9, 1], filter: [3, 3, 1, 5], attrs: attrs(1, "SAME") },
  { x: [2, 8, 7, 3], filter: [3, 2, 3, 9], attrs: attrs(1, "VALID") },
  { x: [3, 9, 9, 5], filter: [3, 3, 5, 17], attrs: attrs(2, "SAME") },
  { x: [1, 12, 11, 2], filter: [5, 4, 2, 3], attrs: attrs(3, "SAME") },
  { x: [1, 12, 11, 2], filter: [5, 4, 2, 3], attrs: attrs(3, "VALID") },
  { x: [2, 9, 8, 4], filter: [3, 3, 4, 6], attrs: attrs(1, "SAME", 2) },
  { x: [1, 9, 8, 4], filter: [2, 3, 4, 6], attrs: attrs(1, "VALID", 3) },
  {
    x: [1, 5, 5, 2],
    filter: [3, 3, 2, 4],
    attrs: attrs(2, "EXPLICIT", 1, { explicit_paddings: [0, 0, 2, 1, 0, 3, 0, 0] }),
  },
  { x: [1, 3, 3, 300], filter: [3, 3, 300, 8], attrs: attrs(1, "SAME") },
  { x: [1, 4, 4, 8], filter: [3, 3, 8, 530], attrs: attrs(1, "SAME") },
  { x: [0, 4, 4, 2], filter: [3, 3, 2, 3], attrs: attrs(1, "SAME") },
  { x: [40, 40, 40, 3], filter: [3, 3, 3, 4], attrs: attrs(2, "SAME") },
  { x: [1, 2, 2, 3], filter: [1, 1, 3, 4], attrs: attrs(3, "VALID") },
  // One to three places.
  { x: [1, 5, 5, 6], filter: [5, 5, 6, 40], attrs: attrs(1, "VALID") },
  { x: [3, 2, 3, 7], filter: [2, 3, 7, 33], attrs: attrs(1, "VALID") },
  { x: [1, 2, 5, 7], filter: [3, 3, 7, 33], attrs: attrs(2, "SAME") },
  // Few outputs of many inputs, sides padded by themselves.
  { x: [2, 40, 37, 10], filter: [3, 3, 10, 1], attrs: attrs(1, "SAME") },
  { x: [1, 41, 64, 12], filter: [5, 3, 12, 2], attrs: attrs(2, "SAME") },
  { x: [1, 33, 44, 9], filter: [3, 5, 9, 3], attrs: attrs(1, "SAME", 2) },
  { x: [1, 30, 50, 8], filter: [3, 1, 8, 4], attrs: attrs(1, "SAME") },
  { x: [25, 40, 40, 2], filter: [3, 3, 2, 3], attrs: attrs(1, "SAME") },
  { x: [2, 50, 30, 6], filter: [2, 2, 6, 8], attrs: attrs(1, "SAME") },
  {
    x: [1, 36, 48, 5],
    filter: [3, 4, 5, 11],
    attrs: attrs(2, "EXPLICIT", 1, { explicit_paddings: [0, 0, 2, 0, 1, 3, 0, 0] }),
  },
  // Many outputs of short runs.
  { x: [2, 9, 11, 1], filter: [3, 3, 1, 64], attrs: attrs(1, "SAME", 2) },
  { x: [3, 14, 15, 10], filter: [3, 3, 10, 72], attrs: attrs(1, "SAME") },
  { x: [1, 20, 15, 30], filter: [3, 7, 30, 50], attrs: attrs(2, "VALID") },
  { x: [30, 32, 33, 3], filter: [2, 2, 3, 48], attrs: attrs(1, "SAME") },
  // Gradients of images whose windows are not in memory all at once.
  { x: [1, 70, 61, 5], filter: [5, 3, 5, 6], attrs: attrs(1, "SAME") },
  { x: [2, 101, 90, 6], filter: [5, 5, 6, 4], attrs: attrs(2, "SAME") },
  { x: [1, 70, 50, 12], filter: [3, 3, 12, 16], attrs: attrs(1, "VALID") },
  { x: [1, 90, 80, 1], filter: [7, 7, 1, 9], attrs: attrs(3, "VALID") },
  // Padding that is wider than the windows: the first places of the result see zeros alone.
  ...[[1, 1], [1, 3], [3, 1], [2, 2]].map(([height, width]) => ({
    x: [2, 6, 7, 3],
    filter: [height!, width!, 3, 5],
    attrs: attrs(1, "EXPLICIT", 1, { explicit_paddings: [0, 0, height!, 2, width! + 1, 1, 0, 0] }),
  })),
  // Windows that do not meet.
  { x: [2, 11, 12, 3], filter: [2, 2, 3, 7], attrs: attrs(4, "VALID") },
];

Deno.test("convolutions and their gradients agree with the loops", () => {
  for (const { x: shape, filter: filterShape, attrs } of CASES) {
    const x = make(shape), filter = make(filterShape);
    const y = compare("Conv2D", [x, filter], attrs);
    const dy = make(y.shape);
    compare("Conv2DBackpropInput", [ints(...shape), filter, dy], attrs);
    const places = dy.size / filterShape[3];
    compare("Conv2DBackpropFilter", [x, ints(...filterShape), dy], attrs, places);
  }
});

Deno.test("convolutions of images without elements agree with the loops", () => {
  for (const shape of [[0, 4, 5, 2], [2, 0, 5, 2], [2, 4, 0, 2], [2, 0, 0, 2], [2, 4, 5, 0]]) {
    for (const [padding, size] of [["SAME", 3], ["SAME", 1], ["VALID", 1]] as const) {
      const x = make(shape), filter = make([size, size, shape[3]!, 3]), all = attrs(1, padding);
      const dy = make(compare("Conv2D", [x, filter], all).shape);
      compare("Conv2DBackpropInput", [ints(...shape), filter, dy], all);
      compare("Conv2DBackpropFilter", [x, ints(...filter.shape), dy], all);
    }
  }
});

Deno.test("convolutions of large images agree with the loops", () => {
  // More places than are prepared at once: bands of rows, of planes, or as the window wants it.
  compare("Conv2D", [make([2, 800, 701, 1]), make([3, 3, 1, 1])], attrs(1, "SAME"));
  compare("Conv2D", [make([1, 1400, 300, 1]), make([4, 2, 1, 3])], attrs(1, "SAME", 2));
  compare("Conv2D", [make([1, 1201, 1201, 1]), make([3, 2, 1, 2])], attrs(2, "VALID"));
  compare("Conv2D", [make([1, 1, 270000, 2]), make([1, 3, 2, 1])], attrs(1, "SAME"));
  compare("Conv2D", [make([1, 700, 500, 2]), make([1, 1, 2, 3])], attrs(1, "VALID"));
  const wide = attrs(1, "EXPLICIT", 1, { explicit_paddings: [0, 0, 300, 400, 1, 1, 0, 0] });
  compare("Conv2D", [make([1, 20, 500, 1]), make([3, 3, 1, 1])], wide);
  const deep = { strides: [1, 1, 1, 1, 1], padding: "SAME", dilations: [1, 1, 1, 1, 1] };
  compare("Conv3D", [make([1, 20, 120, 120, 1]), make([3, 2, 3, 1, 1])], deep);
});

Deno.test("convolutions over three axes and their gradients agree with the loops", () => {
  for (const [stride, padding] of [[1, "SAME"], [2, "VALID"], [2, "SAME"]]) {
    const all = { strides: [1, stride, 1, stride, 1], padding, dilations: [1, 1, 1, 1, 1] };
    const x = make([2, 5, 4, 6, 3]), filter = make([2, 3, 3, 3, 5]);
    const y = compare("Conv3D", [x, filter], all);
    const dy = make(y.shape);
    compare("Conv3DBackpropInputV2", [ints(...x.shape), filter, dy], all);
    compare("Conv3DBackpropFilterV2", [x, ints(...filter.shape), dy], all);
  }
});
