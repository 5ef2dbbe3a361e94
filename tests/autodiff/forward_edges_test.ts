/** Tangents through windows that are drawn or won, and through ops without a gradient. */

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Fn = (...xs: tf.Tensor[]) => tf.Tensor;

const numbers = (shape: number[], step: number): tf.Tensor => {
  const size = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Array.from({ length: size }, (_, i) => Math.sin(1 + step * i)), shape);
};

/** Tangents of a function, and differences of its values on both sides of the primals. */
async function bothOf(f: Fn, xs: tf.Tensor[]): Promise<[number[], number[]]> {
  const ways = xs.map((x, i) => numbers(x.shape as number[], 0.7 + i)), step = 1e-3;
  const [, tangent] = tf.jvp(f, xs, ways);
  const moved = (by: number): tf.Tensor => f(...xs.map((x, i) => tf.add(x, tf.mul(ways[i]!, by))));
  const slope = tf.div(tf.sub(moved(step), moved(-step)), 2 * step);
  return [[...await tangent.data()] as number[], [...await slope.data()] as number[]];
}

const image = (): tf.Tensor => numbers([2, 5, 6, 2], 2.3);
const CASES: readonly (readonly [string, Fn, () => tf.Tensor[]])[] = [
  ...(["same", "valid"] as const).map((pad) =>
    [
      `dilation2d() ${pad}`,
      (x: tf.Tensor, filter: tf.Tensor) =>
        pad === "same"
          ? tf.dilation2d(x, filter, [1, 2], pad)
          : tf.dilation2d(x, filter, 1, pad, [2, 1]),
      () => [image(), numbers([2, 3, 2], 1.1)],
    ] as const
  ),
  ["dilation2d() of one tap", (x, w) => tf.dilation2d(x, w, 1, "valid"), () => [
    image(),
    numbers([1, 1, 2], 1.1),
  ]],
  ...[false, true].flatMap((overlapping) => [
    [
      `nn.fractionalMaxPool() ${overlapping}`,
      (x: tf.Tensor) => tf.nn.fractionalMaxPool(x, 1.6, false, overlapping, 7)[0],
      () => [image()],
    ] as const,
    [
      `nn.fractionalAvgPool() ${overlapping}`,
      (x: tf.Tensor) => tf.nn.fractionalAvgPool(x, 1.6, true, overlapping, 7)[0],
      () => [image()],
    ] as const,
  ]),
];

for (const [name, f, inputs] of CASES) {
  testOnDevices(
    `${name}: tangents are slopes, eager, compiled, by ForwardAccumulator and in rows`,
    async () => {
      const xs = inputs(), ways = xs.map((x, i) => numbers(x.shape as number[], 0.7 + i));
      const [got, wanted] = await bothOf(f, xs);
      assertEquals(got.length, wanted.length);
      got.forEach((n, i) => assertAlmostEquals(n, wanted[i]!, 5e-3, `number ${i}`));
      const same = async (y: tf.Tensor): Promise<void> => {
        const numbers = [...await y.data()] as number[];
        numbers.forEach((n, i) => assertAlmostEquals(n, got[i]!, 1e-5, `number ${i}`));
      };
      const compiled = tf.function((...all: tf.Tensor[]) =>
        tf.jvp(f, all.slice(0, xs.length), all.slice(xs.length))[1]
      );
      await same(compiled(...xs, ...ways) as tf.Tensor);
      using accumulator = new tf.ForwardAccumulator(xs, ways);
      await same(accumulator.jvp(f(...xs)) as tf.Tensor);
      const [, push] = tf.linearize(f, xs);
      await same(push(ways));
      const rows = tf.vmap((x: tf.Tensor) =>
        tf.jvp(f, [x, ...xs.slice(1)], [ways[0]!, ...ways.slice(1)])[1]
      )(tf.stack([xs[0]!, xs[0]!])) as tf.Tensor;
      for (const row of tf.unstack(rows)) await same(row);
    },
  );
}

testOnDevices(
  "tangents through ops without a gradient are refused, unless these are constant",
  async () => {
    const x = tf.tensor([1.5, 2.5, 2.5]), way = tf.tensor([1, 1, 1]);
    const lost: readonly (readonly [string, Fn])[] = [
      ["UniqueV2", (x) => tf.unique(x).values],
      ["UniqueV2", (x) => tf.add(tf.sum(tf.square(tf.unique(x).values)), tf.sum(x))],
      [
        "ExtractGlimpseV2",
        (x) => tf.image.extractGlimpse(tf.reshape(x, [1, 3, 1, 1]), [2, 1], [[0, 0]]),
      ],
    ];
    for (const [op, f] of lost) {
      const text = `Cannot push tangents through ${op}: the op has no gradient`;
      assertThrows(
        () => tf.jvp(f, [x], [way]),
        tf.errors.LookupError,
        text,
      );
      const [, push] = tf.linearize(f, [x]);
      assertThrows(() => push([way]), tf.errors.LookupError, text);
      using accumulator = new tf.ForwardAccumulator(x, way);
      assertThrows(() => accumulator.jvp(f(x)), tf.errors.LookupError, text);
      const compiled = tf.function((x: tf.Tensor) => tf.jvp(f, [x], [way])[1]);
      assertThrows(() => compiled(x), Error, text);
    }
    const flat: readonly Fn[] = [
      (x) => tf.floor(x),
      (x) => tf.floorDiv(x, 2),
      (x) => tf.stopGradient(x),
      (x) => tf.onesLike(x),
      (x) => tf.cast(tf.argMax(x), "float32"),
      (x) => tf.cast(tf.less(x, 2), "float32"),
      () => tf.scalar(3),
      (x) => tf.mul(tf.onesLike(tf.unique(x).values), 2),
      (x) => tf.stopGradient(tf.unique(x).values),
    ];
    for (const f of flat) {
      const [y, tangent] = tf.jvp(f, [x], [way]);
      assertEquals(await tangent.array(), await tf.zerosLike(y).array());
    }
    const [, rest] = tf.jvp((x) => tf.mul(x, tf.floor(x)), [x], [way]);
    assertEquals(await rest.array(), [1, 2, 2]);
  },
);
