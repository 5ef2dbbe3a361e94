/** Functions of images whose height, width, channels or rank are known only when the function runs. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { inSession } from "../in_session.ts";

const { image } = tf;
type Fn = (x: tf.Tensor) => tf.Tensor;

const SHAPES = { "one image": [4, 7, 3], "a batch": [2, 5, 6, 3] } as const;
const MOVES: Readonly<Record<string, Fn>> = {
  "crop": (x) => image.cropToBoundingBox(x, 1, 2, 3, 4),
  "middle": (x) => image.centralCrop(x, 0.6),
  "pad": (x) => image.padToBoundingBox(x, 1, 2, 8, 9),
  "crop or pad": (x) => image.resizeWithCropOrPad(x, 6, 5),
  "crop or pad, the other way": (x) => image.resizeWithCropOrPad(x, 3, 9),
  "resize with pad": (x) => image.resizeWithPad(x, 8, 8),
  "resize with pad, smaller": (x) => image.resizeWithPad(x, 3, 5, { method: "nearest" }),
};
const OF_ANY_RANK: Readonly<Record<string, Fn>> = {
  "transpose": (x) => image.transpose(x),
  "a quarter": (x) => image.rot90(x),
  "two quarters": (x) => image.rot90(x, 2),
  "three quarters": (x) => image.rot90(x, 3),
  "left to right": (x) => image.flipLeftRight(x),
  "upside down": (x) => image.flipUpDown(x),
  "left to right by chance": (x) => image.randomFlipLeftRight(x, 7),
  "upside down by chance": (x) => image.randomFlipUpDown(x, 7),
  "likeness": (x) => image.ssim(x, tf.square(x), 1, { filterSize: 3 }),
};
const SOBEL: Readonly<Record<string, Fn>> = { "edges": (x) => image.sobelEdges(x) };

function unknownDims(shape: readonly number[]): (number | null)[][] {
  const inner = shape.map((n, i) => i < shape.length - 3 || i === shape.length - 1 ? n : null);
  return [shape.map(() => null), inner];
}

function same(found: tf.Tensor, wanted: tf.Tensor, name: string): void {
  assertEquals(found.shape, wanted.shape, name);
  const [a, b] = [found, wanted].map((t) => t.dataSync() as Float32Array);
  a.forEach((x, i) => assertAlmostEquals(x, b[i], 1e-5, name));
}

/** Compares a function of known shapes with those of signatures, and their gradients. */
function compare(
  fn: Fn,
  x: tf.Tensor,
  shapes: readonly (readonly (number | null)[] | null)[],
  name: string,
): void {
  tf.random.setSeed(3);
  const wanted = fn(x);
  const grad: Fn = (y) => tf.grad((z) => tf.sum(tf.square(fn(z))))(y);
  const slope = name.includes("chance") ? null : grad(x);
  for (const shape of shapes) {
    const inputSignature = [tf.TensorSpec(shape, "float32")];
    tf.random.setSeed(3);
    same(tf.function(fn, { inputSignature })(x), wanted, `${name} of [${shape}]`);
    if (slope) {
      same(tf.function(grad, { inputSignature })(x), slope, `gradient, ${name} of [${shape}]`);
    }
  }
}

for (const [name, fn] of Object.entries({ ...MOVES, ...OF_ANY_RANK, ...SOBEL })) {
  testOnDevices(`images of unknown extents: ${name}`, () => {
    for (const [kind, shape] of Object.entries(SHAPES)) {
      if (name in SOBEL && shape.length === 3) continue;
      tf.tidy(() => {
        const x = tf.randomUniform([...shape], 0, 1, "float32", 5);
        // TensorFlow, too, takes images of unknown rank as one image where it moves them within their frame.
        const takesRank = name in OF_ANY_RANK || name in SOBEL || kind === "one image";
        compare(fn, x, [...unknownDims(shape), ...(takesRank ? [null] : [])], `${name}, ${kind}`);
      });
    }
  });
}

testOnDevices("images whose height is fed are moved in sessions", async () => {
  for (const [name, fn] of Object.entries({ ...MOVES, ...OF_ANY_RANK })) {
    if (name.includes("chance")) continue;
    using _ = tf.scope();
    const x = tf.randomUniform([...SHAPES["one image"]], 0, 1, "float32", 5);
    same(await inSession(fn, x), fn(x), name);
  }
});

testOnDevices("images that a box does not fit are refused when the function runs", () => {
  const run = (fn: Fn, shape: (number | null)[] | null, x: tf.Tensor): tf.Tensor =>
    tf.function(fn, { inputSignature: [tf.TensorSpec(shape, "float32")] })(x);
  tf.tidy(() => {
    const x = tf.ones([4, 4, 1]), batch = tf.ones([1, 4, 4, 1]), open = [null, null, 1];
    const { InvalidArgumentError } = tf.errors;
    assertThrows(
      () => run((x) => image.cropToBoundingBox(x, 2, 2, 3, 3), open, x),
      InvalidArgumentError,
    );
    assertThrows(() => run((x) => image.padToBoundingBox(x, 0, 0, 3, 3), open, x), tf.ValueError);
    assertThrows(() => image.cropToBoundingBox(x, -1, 0, 3, 3), tf.ValueError, "[-1,0,3,3]");
    assertThrows(() => run(MOVES.pad, null, batch), InvalidArgumentError, "[1,4,4,1]");
    assertThrows(() => image.flipLeftRight([[1]]), tf.ValueError, "rank 3 or more");
  });
});

testOnDevices("datasets crop and pad images of all extents to one", async () => {
  const sizes = tf.data.fromTensorSlices(tf.tensor([[3, 8], [6, 2], [5, 5]], [3, 2], "int32"));
  const images = sizes.map((size) => tf.fill(tf.concat([size as tf.Tensor, [1]], 0), 1));
  const alike = images.map((x) => image.resizeWithCropOrPad(x as tf.Tensor, 4, 4)).batch(3);
  const [all] = await alike.toArray() as tf.Tensor[];
  assertEquals(all.shape, [3, 4, 4, 1]);
  assertEquals(await tf.sum(all, [1, 2, 3]).array(), [12, 8, 16]);
});
