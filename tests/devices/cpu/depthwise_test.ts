/** Depthwise convolutions and their gradients in vector code, against the ops' own loops. */

import { assert, assertEquals, fail } from "@std/assert";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import type { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { ENGINES, randomSource, threadedEngine } from "./engines.ts";
import { ints, op, runFast, runLoops, runSparsely } from "./kernel_runs.ts";

const random = randomSource(12);
function make(...shape: number[]): NdArray {
  const x = NdArray.zeros("float32", shape);
  (x.data as Float32Array).forEach((_, i, d) => d[i] = random() - 0.5);
  return x;
}

function assertClose(got: NdArray, want: NdArray, text: string): void {
  for (let i = 0; i < want.size; i++) {
    const [a, b] = [got.data[i] as number, want.data[i] as number];
    if (!(Math.abs(a - b) <= 1e-5 * (1 + Math.abs(b)))) {
      fail(`${text}: element ${i} is ${a}, wanted ${b}`);
    }
  }
}

function compare(
  engine: Engine,
  name: string,
  inputs: NdArray[],
  attrs: Record<string, unknown>,
): NdArray {
  const text = `${name} of ${inputs.map((x) => `[${x.shape}]`)} ${JSON.stringify(attrs)}`;
  const got = runFast(engine, op(name), inputs, attrs), [want] = runLoops(op(name), inputs, attrs);
  assert(got !== null, `no vector code for ${text}`);
  assertClose(got[0], want, text);
  return want;
}

const CASES: readonly [
  x: number[],
  window: [number, number],
  stride: number,
  padding: string,
  dilation: number,
  multiplier?: number,
][] = [
  [[1, 1, 1, 1], [1, 1], 1, "VALID", 1],
  [[2, 6, 7, 5], [3, 3], 1, "SAME", 1],
  [[2, 6, 7, 16], [3, 3], 2, "SAME", 1],
  [[1, 9, 9, 21], [3, 2], 1, "VALID", 2],
  [[3, 8, 8, 4], [5, 5], 3, "SAME", 1],
  [[0, 8, 8, 4], [3, 3], 1, "SAME", 1],
  [[2, 7, 6, 6], [4, 3], 1, "VALID", 1],
  [[1, 3, 3, 4], [5, 5], 1, "SAME", 1],
  [[2, 6, 7, 5], [3, 3], 1, "SAME", 1, 2],
  [[2, 9, 8, 3], [3, 2], 2, "SAME", 2, 3],
  [[1, 5, 6, 1], [2, 3], 1, "VALID", 1, 2],
  [[1, 7, 7, 7], [3, 3], 2, "VALID", 1, 5],
  [[1, 9, 40, 6], [3, 3], 1, "SAME", 1],
  [[1, 12, 12, 3], [9, 9], 1, "SAME", 1, 2],
  [[1, 2, 40, 300], [2, 3], 1, "SAME", 1],
  [[2, 6, 6, 53], [5, 4], 1, "SAME", 1],
  [[2, 7, 9, 44], [3, 2], 3, "SAME", 2],
  [[1, 5, 9, 258], [2, 2], 2, "VALID", 1],
  // Places that are taken one by one: few of a row are inside, or so far apart that they meet in the cache.
  [[1, 3, 3, 36], [3, 3], 1, "SAME", 1],
  [[1, 5, 9, 516], [3, 3], 2, "SAME", 1],
  [[1, 5, 9, 512], [3, 3], 2, "SAME", 1],
  // The gradient of the filter in parts: rows of images, and some images each.
  [[1, 64, 70, 40], [3, 3], 1, "SAME", 1],
  [[2, 61, 60, 21], [5, 5], 2, "SAME", 1, 2],
  [[7, 20, 21, 64], [3, 3], 1, "VALID", 1],
];

for (const [name, engine] of ENGINES) {
  Deno.test(`depthwise convolutions and their gradients agree with the loops: ${name}`, () => {
    for (const [shape, [h, w], stride, padding, dilation, multiplier = 1] of CASES) {
      const attrs = {
        strides: [1, stride, stride, 1],
        dilations: [1, dilation, dilation, 1],
        padding,
      };
      const x = make(...shape), filter = make(h, w, shape[3], multiplier);
      const y = compare(engine, "DepthwiseConv2dNative", [x, filter], attrs);
      const dy = make(...y.shape);
      compare(engine, "DepthwiseConv2dNativeBackpropInput", [ints(...shape), filter, dy], attrs);
      // Large windows are left to the loops.
      if (h * w <= 49) {
        compare(
          engine,
          "DepthwiseConv2dNativeBackpropFilter",
          [x, ints(...filter.shape), dy],
          attrs,
        );
      }
    }
  });

  Deno.test(`depthwise convolutions with bias and activation are their parts: ${name}`, () => {
    const attrs = { strides: [1, 1, 1, 1], padding: "SAME" };
    for (const [channels, multiplier, size] of [[7, 1, 1], [7, 1, 7], [5, 2, 10], [37, 1, 37]]) {
      const x = make(2, 4, 4, channels), filter = make(3, 3, channels, multiplier);
      const bias = make(size);
      const got = runFast(engine, op("_FusedDepthwiseConv2dNative"), [x, filter, bias], {
        ...attrs,
        fused_ops: ["BiasAdd", "Relu6"],
        num_args: 1,
      });
      assert(got !== null);
      const [y] = runLoops(op("DepthwiseConv2dNative"), [x, filter], attrs);
      assertClose(got[0], runLoops(op("Relu6"), runLoops(op("AddV2"), [y, bias]))[0], "fused");
    }
  });
}

Deno.test("DepthwiseConv2dNative reads images of more than 2 GiB to their ends", () => {
  const attrs = { strides: [1, 1000, 1000, 1], padding: "SAME" };
  const filter = NdArray.zeros("float32", [2, 2, 100, 1]);
  (filter.data as Float32Array).fill(3);
  const image = [1, 3001, 2001, 100];
  assertEquals(runSparsely("DepthwiseConv2dNative", { image, rest: [filter], attrs }), 3 * 0.5);
});

Deno.test("gradients of depthwise filters are the same bits for any number of threads", async () => {
  const threaded = await threadedEngine();
  if (threaded === null) return;
  threaded.worthSharing = 1;
  const [[, alone]] = ENGINES, name = "DepthwiseConv2dNativeBackpropFilter";
  for (const [shape, [h, w], stride, padding, dilation, multiplier = 1] of CASES) {
    if (h * w > 49) continue;
    const steps = { strides: [1, stride, stride, 1], dilations: [1, dilation, dilation, 1] };
    const attrs = { ...steps, padding }, filter = [h, w, shape[3], multiplier];
    const x = make(...shape);
    const [y] = runLoops(op("DepthwiseConv2dNative"), [x, make(...filter)], attrs);
    const inputs = [x, ints(...filter), make(...y.shape)];
    const [one, two] = [alone, threaded].map((engine) =>
      runFast(engine, op(name), inputs, attrs)![0].data
    );
    assertEquals(one, two, `${shape} by ${filter}`);
  }
});
