import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { lookupOp } from "../../src/engine/core/op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
// Brings the kernels, whether there is an adapter or not.
import "./gpu_kernels.ts";
import { testOnDevices } from "../devices.ts";
import { ofTheDay } from "../effort.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { noise, vector } from "./values.ts";

type Reducer = (x: tf.Tensor, axis?: number | number[] | null, keep?: boolean) => tf.Tensor;

/** Reduces in float64, element by element. */
function reference(
  values: ArrayLike<number>,
  shape: readonly number[],
  axes: readonly number[],
  start: number,
  fold: (a: number, b: number) => number,
): number[] {
  const kept = shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const out = new Array<number>(kept.reduce((a, b) => a * b, 1)).fill(start);
  const size = shape.reduce((a, b) => a * b, 1);
  for (let i = 0; i < size; i++) {
    let o = 0;
    for (let d = 0, rest = i, step = size; d < shape.length; d++) {
      step /= shape[d];
      const at = Math.floor(rest / step);
      rest -= at * step;
      o = o * kept[d] + (axes.includes(d) ? 0 : at);
    }
    out[o] = fold(out[o], values[i]);
  }
  return out;
}

const CASES: readonly { shape: number[]; axes: number[] }[] = [
  { shape: [], axes: [] },
  { shape: [5], axes: [0] },
  { shape: [3, 4], axes: [0] },
  { shape: [3, 4], axes: [1] },
  { shape: [3, 4], axes: [0, 1] },
  { shape: [3, 4], axes: [] },
  { shape: [2, 3, 5], axes: [1] },
  { shape: [2, 3, 5], axes: [0, 2] },
  { shape: [2, 1, 3, 1], axes: [1, 3] },
  { shape: [2, 3, 2, 3, 2, 2], axes: [1, 3, 5] },
  { shape: [2, 3, 2, 3, 2, 2], axes: [0, 2, 4] },
  { shape: [2, 2, 2, 2, 2, 2, 3], axes: [0, 3, 6] },
  { shape: [7, 129], axes: [1] },
  { shape: [129, 7], axes: [0] },
];

const REDUCERS: Readonly<
  Record<string, { fn: Reducer; start: number; fold: (a: number, b: number) => number }>
> = {
  sum: { fn: tf.sum, start: 0, fold: (a, b) => a + b },
  prod: { fn: tf.prod, start: 1, fold: (a, b) => a * b },
  max: { fn: tf.max, start: -Infinity, fold: Math.max },
  min: { fn: tf.min, start: Infinity, fold: Math.min },
};

for (const [name, { fn, start, fold }] of Object.entries(REDUCERS)) {
  testOnDevices(`${name}() reduces any axes of any rank`, () => {
    for (const { shape, axes } of CASES) {
      const host = noise("float32", shape, 3);
      const x = tf.tensor(host);
      const y = fn(x, axes);
      assertEquals(y.shape, shape.filter((_, i) => !axes.includes(i)), `${shape} over ${axes}`);
      assertEquals(fn(x, axes, true).shape, shape.map((d, i) => (axes.includes(i) ? 1 : d)));
      const wanted = reference(host.data as Float32Array, shape, axes, start, fold);
      const got = y.dataSync() as Float32Array;
      wanted.forEach((w, i) =>
        assertAlmostEquals(got[i], w, 1e-5 * Math.max(1, Math.abs(w)), `${shape} over ${axes}`)
      );
    }
  });
}

testOnDevices("mean() divides by the number of elements reduced", () => {
  assertEquals(tf.mean([[1, 2], [3, 6]], 0).arraySync(), [2, 4]);
  assertEquals(tf.mean([[1, 2], [3, 6]]).item(), 3);
  assertEquals(tf.mean(tf.tensor([1, 2], [2], "int32")).dtype, "float32");
  assertEquals(tf.mean(tf.tensor([true, false, true, true])).item(), 0.75);
});

testOnDevices("sum() and prod() of int32 are exact and wrap", () => {
  const x = tf.tensor([16777217, 16777219, 1], [3], "int32");
  assertEquals(tf.sum(x).item(), 33554437);
  assertEquals(tf.sum(tf.tensor([2147483647, 1], [2], "int32")).item(), -2147483648);
  assertEquals(tf.prod(tf.tensor([46341, 46337], [2], "int32")).item(), 2147302917 | 0);
  assertEquals(tf.max(tf.tensor([16777216, 16777217], [2], "int32")).item(), 16777217);
});

testOnDevices("max() and min() let NaN win, wherever it is", () => {
  for (const n of [1, 3, 4, 65, 1000]) {
    for (const at of [0, n >> 1, n - 1]) {
      const values = Array.from({ length: n }, (_, i) => i - 3);
      values[at] = NaN;
      assertEquals(tf.max(values).item(), NaN);
      assertEquals(tf.min(values).item(), NaN);
    }
  }
  assertEquals(tf.max([-Infinity, -Infinity]).item(), -Infinity);
});

testOnDevices("any() and all() of nothing, something and everything", () => {
  const x = tf.tensor([true, false, true, true], [2, 2]);
  assertEquals(tf.any(x, 1).arraySync(), [true, true]);
  assertEquals(tf.all(x, 1).arraySync(), [false, true]);
  assertEquals(tf.all(x).item() as unknown, false);
  const none = tf.tensor([], [2, 0], "bool");
  assertEquals(tf.any(none, 1).arraySync(), [false, false]);
  assertEquals(tf.all(none, 1).arraySync(), [true, true]);
  assertEquals(tf.any([1, 0]).item() as unknown, true);
  assertThrows(
    () => tf.any(tf.tensor([1, 0])),
    TypeError,
    "Input 'input' of 'Any' Op has type float32 that does not match",
  );
});

testOnDevices("reductions of no elements give the identity", () => {
  const x = tf.tensor([], [2, 0, 3]);
  assertEquals(tf.sum(x, 1).arraySync(), [[0, 0, 0], [0, 0, 0]]);
  assertEquals(tf.prod(x, [1, 2]).arraySync(), [1, 1]);
  assertEquals(tf.max(x, 1).arraySync(), [
    [-Infinity, -Infinity, -Infinity],
    [-Infinity, -Infinity, -Infinity],
  ]);
  assertEquals(tf.mean(x).item(), NaN);
  assertEquals(tf.sum(x, 0).shape, [0, 3]);
});

testOnDevices("reductions take negative and repeated axes, and refuse others", () => {
  const x = tf.tensor([[1, 2], [3, 4]]);
  assertEquals(tf.sum(x, [-1, 1]).arraySync(), [3, 7]);
  assertEquals(tf.sum(x, tf.tensor([0], [1], "int32")).arraySync(), [4, 6]);
  assertThrows(() => tf.sum(x, 2), tf.ValueError, "axis 2");
  assertThrows(
    () => tf.sum(["a"]),
    TypeError,
    "Value passed to parameter 'input' of 'Sum' Op has DataType string not",
  );
});

Deno.test("sum() computes the other dtypes on the host", () => {
  const big = tf.tensor(new BigInt64Array([2n ** 62n, 2n ** 62n, 1n]));
  assertEquals(tf.sum(big).scalar(), -(2n ** 63n) + 1n);
  assertEquals(tf.max(big).scalar(), 2n ** 62n);
  assertEquals(tf.mean(tf.tensor([1, 2, 4.5], [3], "float64")).item(), 2.5);
  assertEquals(
    tf.sum(tf.tensor(new tf.NdArray("uint8", [2], new Uint8Array([200, 100])))).item(),
    44,
  );
  const z = tf.tensor(
    new tf.NdArray("complex64", [2, 2], new Float32Array([1, 2, 3, 4, 5, 6, 7, 8])),
  );
  assertEquals(tf.sum(z, 0).ndarraySync().toArray(), [[6, 8], [10, 12]]);
  assertEquals(tf.prod(z, 1).ndarraySync().toArray(), [[-5, 10], [-13, 82]]);
});

testOnGpu("Sum, Max, Prod, Any: every variant equals the CPU", async () => {
  const ran = new Set<string>();
  const shapes: [number[], number[]][] = [
    [[1], [0]],
    [[13], [0]],
    [[4099], [0]],
    [[70000], [0]],
    [[65536], [0]],
    [[5, 1021], [1]],
    [[5, 1024], [1]],
    [[300, 64], [1]],
    [[1021, 5], [0]],
    [[4100, 68], [0]],
    [[30011, 9], [0]],
    [[1024, 8], [0]],
    [[70, 264], [0]],
    [[3, 41, 264], [1]],
    [[3, 257, 4], [1]],
    [[3, 257, 7], [1]],
    [[6, 5, 4, 3], [0, 2]],
    [[6, 5, 4, 3], [1, 3]],
    [[9, 0, 4], [1]],
    [[0, 3], [1]],
    [[3, 4], []],
  ];
  for (const [shape, axes] of ofTheDay(shapes, 2)) {
    for (const op of ["Sum", "Mean", "Max"]) {
      for (
        const v of await compareVariants(op, [noise("float32", shape), vector(...axes)], {}, {
          absolute: 2e-5,
        })
      ) ran.add(v);
    }
    if (shape.length > 3) continue;
    await compareVariants("Sum", [noise("int32", shape), vector(...axes)]);
    await compareVariants("Prod", [noise("int32", shape), vector(...axes)]);
    await compareVariants("Min", [noise("uint32", shape), vector(...axes)]);
    await compareVariants("Any", [noise("bool", shape), vector(...axes)]);
    await compareVariants("All", [noise("bool", shape), vector(...axes)]);
  }
  assertEquals([...ran].sort(), ["rows", "strided"]);
});

Deno.test("reductions plan no loop that a software adapter leaves early", () => {
  const profile = {
    barriers: false,
    subgroup: 0,
    subgroupDirective: false,
    lanes: 8,
    f16: false,
    words64: false,
    maxBinding: 2 ** 40,
    maxBuffers: 8,
    maxInvocations: 256,
    maxWorkgroupBytes: 0,
    maxGrid: 65535,
  } as const;
  const strided = gpuVariants(lookupOp("Sum")!).find((v) => v.name === "strided")!;
  for (const [shape, axis] of [[[100, 2000003], 1], [[2000003, 100], 0], [[3000001], 0]] as const) {
    const kept = shape.filter((_, i) => i !== axis);
    const plan = strided.plan({
      inputs: [{ dtype: "float32", shape }, { dtype: "int32", shape: [1] }],
      hosts: [undefined, vector(axis)],
      outputs: [{ dtype: "float32", shape: kept }],
      attrs: { keep_dims: false },
    }, profile);
    assert(plan.dispatches.length > 0);
    for (const { params } of plan.dispatches) {
      const [, , rows, parts, stripe, chunk] = params;
      assert(chunk / stripe / 4 + 4 < 65535, `${chunk} of ${rows} rows in ${parts} parts`);
      assert(Math.ceil(parts / stripe) * chunk >= rows, "every row is in some part");
    }
  }
});
