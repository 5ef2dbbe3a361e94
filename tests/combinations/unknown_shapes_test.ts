/** Functions that ask for their argument's shape give the same where it is unknown, or say what they must know of it. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";

type Unary = (x: tf.Tensor) => tf.Tensor;
type Known = "rank" | "dims" | "whole";

/** A function, its argument's shape, and the least that must be known of that: nothing, its rank or inner extents too. */
interface Row {
  readonly name: string;
  readonly fn: Unary;
  readonly shape: readonly number[];
  /** An error's text where nothing is known of the shape. */
  readonly withoutRank?: RegExp;
  /** An error's text where only the rank is known. */
  readonly withoutDims?: RegExp;
}

const RANK = /wanted images of known rank, received shape <unknown>/;
const IMAGES = [2, 12, 13, 3];

const ROWS: readonly Row[] = [
  { name: "rot90", fn: (x) => tf.image.rot90(x), shape: IMAGES },
  { name: "rot90 thrice", fn: (x) => tf.image.rot90(x, 3), shape: [3, 4, 2] },
  { name: "transpose", fn: (x) => tf.image.transpose(x), shape: IMAGES },
  {
    name: "totalVariation",
    fn: (x) => tf.image.totalVariation(x),
    shape: IMAGES,
    withoutRank: RANK,
  },
  {
    name: "imageGradients",
    fn: (x) => tf.stack(Object.values(tf.image.imageGradients(x))),
    shape: IMAGES,
    withoutRank: RANK,
  },
  { name: "sobelEdges", fn: (x) => tf.image.sobelEdges(x), shape: IMAGES },
  { name: "ssim", fn: (x) => tf.image.ssim(x, tf.mul(x, 0.5), 1), shape: IMAGES },
  { name: "rgbToYiq", fn: (x) => tf.image.rgbToYiq(x), shape: IMAGES },
  { name: "yuvToRgb of a pixel", fn: (x) => tf.image.yuvToRgb(x), shape: [3] },
  { name: "randomCrop", fn: (x) => tf.shape(tf.image.randomCrop(x, [2, 5])), shape: [3, 9] },
  {
    name: "randomFlipLeftRight",
    // Sums of lines do not tell the way.
    fn: (x) => tf.sum(tf.image.randomFlipLeftRight(x), 2),
    shape: [3, 2, 2, 2],
  },
  {
    name: "tensordot",
    fn: (x) => tf.tensordot(x, x, [[0], [0]]),
    shape: [3, 2],
    withoutRank: /tensordot: wanted tensors of known ranks, received shapes <unknown>/,
  },
  {
    name: "gramSchmidt",
    fn: (x) => tf.stack(tf.linalg.gramSchmidt([tf.gather(x, 0), tf.gather(x, 1)]) as tf.Tensor[]),
    shape: [2, 3],
    withoutRank: /wanted vectors of one length that is known, received shapes <unknown>/,
    withoutDims: /wanted vectors of one length that is known, received shapes \[\?\]/,
  },
  { name: "layerNorm", fn: (x) => tf.layerNorm(x), shape: [2, 3] },
  { name: "layerNorm with a scale", fn: (x) => tf.layerNorm(x, [1, 2, 3]), shape: [2, 3] },
  { name: "euclideanNorm", fn: (x) => tf.euclideanNorm(x), shape: [2, 3] },
];

const SHAPES: Readonly<Record<Known, (shape: readonly number[]) => (number | null)[] | null>> = {
  whole: (shape) => [...shape],
  rank: (shape) => shape.map(() => null),
  dims: () => null,
};

for (const { name, fn, shape, withoutRank, withoutDims } of ROWS) {
  testOnDevices(`${name} of unknown shape gives the same or says what it wants`, async () => {
    const size = shape.reduce((a, b) => a * b, 1);
    using x = tf.tensor(Array.from({ length: size }, (_, i) => Math.sin(i)), [...shape]);
    using want = fn(x);
    const wanted = await want.array();
    for (const [known, shapeOf] of Object.entries(SHAPES)) {
      const text = known === "dims" ? withoutRank : known === "rank" ? withoutDims : undefined;
      const f = tf.function(fn, { inputSignature: [tf.TensorSpec(shapeOf(shape), "float32")] });
      const script = (x: tf.Tensor): tf.Tensor =>
        tf.ensureShape(
          tf.pyFunction((a: tf.Tensor) => tf.identity(a), [x], "float32"),
          shapeOf(shape),
        );
      const mapped = () => tf.data.fromTensors(x).map((x) => fn(script(x as tf.Tensor)));
      if (text !== undefined) {
        for (const run of [() => f(x), mapped]) {
          const error = assertThrows(run, tf.ValueError);
          assert(text.test(error.message), error.message);
        }
        continue;
      }
      near(await f(x).array(), wanted);
      for await (const y of mapped()) near(await (y as tf.Tensor).array(), wanted);
    }
  });
}

function near(have: unknown, want: unknown): void {
  const [a, b] = [have, want].map((x) => [x].flat(Infinity) as number[]);
  assertEquals(a.length, b.length);
  a.forEach((v, i) => assert(Math.abs(v - b[i]!) < 1e-4, `${v}, wanted ${b[i]}`));
}

testOnDevices("the norm of a scalar does not depend on what is known of its rank", async () => {
  const gradient = (x: tf.Tensor): tf.Tensor => tf.grad((x) => tf.euclideanNorm(x))(x);
  for (const shape of [[], null]) {
    const inputSignature = [tf.TensorSpec(shape, "float32")];
    const norm = tf.function((x: tf.Tensor) => tf.euclideanNorm(x), { inputSignature });
    const slope = tf.function(gradient, { inputSignature });
    const found = [];
    for (const v of [0, -3, 1e30, 1e-30]) {
      found.push(await norm(tf.scalar(v)).array(), await slope(tf.scalar(v)).array());
    }
    const want = [0, 0, 3, -1, Math.fround(1e30), 1, Math.fround(1e-30), 1];
    assertEquals(found, want as never, `shape ${shape}`);
  }
  // Of a vector it is NaN, as TensorFlow's.
  const inputSignature = [tf.TensorSpec(null, "float32")];
  assertEquals(await tf.function(gradient, { inputSignature })(tf.tensor([0, 0])).array(), [
    NaN,
    NaN,
  ]);
  assertEquals(tf.norm(tf.complex(3, 4)).dtype, "complex64");
});
