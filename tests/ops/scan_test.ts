import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { noise, number } from "./values.ts";

/** Accumulates along an axis in float64. */
function reference(
  x: tf.NdArray,
  axis: number,
  exclusive: boolean,
  reverse: boolean,
  start: number,
  fold: (a: number, b: number) => number,
): number[] {
  const inner = x.shape.slice(axis + 1).reduce((a, b) => a * b, 1), length = x.shape[axis];
  const out = new Array<number>(x.size);
  for (let i = 0; i < x.size; i++) {
    const at = Math.floor(i / inner) % length;
    let acc = start;
    for (let l = 0; l < length; l++) {
      const inside = reverse ? l > at : l < at;
      if (inside || (!exclusive && l === at)) {
        acc = fold(acc, Number(x.data[i + (l - at) * inner]));
      }
    }
    out[i] = acc;
  }
  return out;
}

testOnDevices("cumsum() and cumprod() run along any axis, either way, with or without self", () => {
  for (const shape of [[1], [7], [3, 5], [2, 3, 4]]) {
    for (let axis = 0; axis < shape.length; axis++) {
      for (
        const [exclusive, reverse] of [[false, false], [true, false], [false, true], [true, true]]
      ) {
        const host = noise("float32", shape, 5);
        const cases = [
          [tf.cumsum, 0, (a: number, b: number) => a + b],
          [tf.cumprod, 1, (a: number, b: number) => a * b],
        ] as const;
        for (const [fn, start, fold] of cases) {
          const got = fn(tf.tensor(host), axis, exclusive, reverse).dataSync() as Float32Array;
          const wanted = reference(host, axis, exclusive, reverse, start, fold);
          const message = `${fn.name} [${shape}] axis ${axis} ${exclusive} ${reverse}`;
          wanted.forEach((w, i) => assertAlmostEquals(got[i], w, 1e-5, message));
        }
      }
    }
  }
});

testOnDevices("cumsum() of int32 wraps, of booleans counts, of nothing is nothing", () => {
  const big = tf.tensor([2147483647, 1, 5], [3], "int32");
  assertEquals(tf.cumsum(big).arraySync(), [2147483647, -2147483648, -2147483643]);
  assertEquals(tf.cumsum(tf.tensor([true, true, false])).arraySync(), [1, 2, 2]);
  assertEquals(tf.cumsum(tf.tensor([], [2, 0]), 1).shape, [2, 0]);
  assertThrows(() => tf.cumsum([1, 2], 1), tf.ValueError, "axis 1");
});

function gradientOf(fn: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor, dy?: tf.Tensor): tf.Tensor {
  const tape = new tf.GradientTape();
  tape.watch(x);
  const y = fn(x);
  return tape.gradient(y, x, dy ? { outputGradients: dy } : {}) as tf.Tensor;
}

testOnDevices("cumsum() has the right gradient on every axis", () => {
  const x = tf.tensor([[1, 2, 3], [4, 5, 6]]);
  const dy = tf.tensor([[1, 2, 4], [8, 16, 32]]);
  const grad = (axis: number, exclusive: boolean, reverse: boolean) =>
    gradientOf((t) => tf.cumsum(t, axis, exclusive, reverse), x, dy).arraySync();
  assertEquals(grad(1, false, false), [[7, 6, 4], [56, 48, 32]]);
  assertEquals(grad(0, false, false), [[9, 18, 36], [8, 16, 32]]);
  assertEquals(grad(0, true, false), [[8, 16, 32], [0, 0, 0]]);
  assertEquals(grad(1, true, true), [[0, 1, 3], [0, 8, 24]]);
});

/** d/dx_i of sum_j w_j prod(x over what j covers), by the definition. */
function productGradient(x: number[], w: number[], exclusive: boolean, reverse: boolean): number[] {
  return x.map((_, i) =>
    x.reduce((total, _, j) => {
      const covers = (k: number) => (reverse ? k > j : k < j) || (!exclusive && k === j);
      if (!covers(i)) return total;
      return total + w[j] * x.reduce((p, v, k) => (covers(k) && k !== i ? p * v : p), 1);
    }, 0)
  );
}

testOnDevices("cumprod() has the right gradient, zeros included", () => {
  for (const values of [[2, 3, 4, 5], [2, 0, 4, 5], [0, 3, 0, 5]]) {
    for (
      const [exclusive, reverse] of [[false, false], [true, false], [false, true], [true, true]]
    ) {
      const w = [1, 2, 4, 8];
      const got = gradientOf(
        (t) => tf.cumprod(t, 0, exclusive, reverse),
        tf.tensor(values),
        tf.tensor(w),
      );
      assertEquals(got.arraySync(), productGradient(values, w, exclusive, reverse));
    }
  }
});

testOnDevices("prod() has the right first and second gradient, zeros included", () => {
  const values = [2, 0, 4, 5];
  const x = tf.tensor(values, [2, 2]);
  const first = (t: tf.Tensor) => gradientOf((s) => tf.prod(s), t);
  assertEquals(first(x).arraySync(), [[0, 40], [0, 0]]);
  // d/dx of sum(d prod / dx): for each i the sum over j of the product of the rest.
  const second = gradientOf((t) => tf.sum(first(t)), x).arraySync() as number[][];
  const wanted = values.map((_, i) =>
    values.reduce(
      (
        s,
        _,
        j,
      ) => (j === i ? s : s + values.reduce((p, v, k) => (k === i || k === j ? p : p * v), 1)),
      0,
    )
  );
  assertEquals(second.flat(), wanted);
});

testOnGpu("Cumsum, Cumprod: every variant equals the CPU", async () => {
  const ran = new Set<string>();
  const cases: [number[], number][] = [
    [[1], 0],
    [[300], 0],
    [[70001], 0],
    [[3, 1025], 1],
    [[100, 130], 1],
    [[1031, 3], 0],
    [[2, 500, 3], 1],
    [[4, 0, 2], 1],
  ];
  for (const [shape, axis] of cases) {
    for (const [exclusive, reverse] of [[false, false], [true, true]]) {
      const attrs = { exclusive, reverse };
      const inputs = [noise("int32", shape), number(axis)];
      for (const v of await compareVariants("Cumsum", inputs, attrs)) ran.add(v);
    }
    const floats = [noise("float32", shape), number(axis)];
    await compareVariants("Cumsum", floats, { exclusive: true, reverse: false }, {
      absolute: 1e-3,
    });
    await compareVariants("Cumprod", [noise("int32", shape), number(axis)], {
      exclusive: false,
      reverse: true,
    });
  }
  assertEquals([...ran].sort(), ["chunked", "serial", "workgroup"]);
});

testOnGpu("_LinearScan, _Shift: every variant equals the CPU", async () => {
  for (const [shape, axis] of [[[9], 0], [[3, 50, 2], 1], [[0, 3], 1]] as [number[], number][]) {
    for (const [reverse, shift] of [[false, false], [true, false], [false, true], [true, true]]) {
      const inputs = [noise("float32", shape, 1), noise("float32", shape, 2), number(axis)];
      await compareVariants("_LinearScan", inputs, { reverse, shift }, { absolute: 1e-5 });
    }
    for (const by of [1, -1, 4]) {
      await compareVariants("_Shift", [noise("float32", shape), number(axis)], { by });
    }
  }
});
