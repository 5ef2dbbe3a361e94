/**
 * The end of a detector: many overlapping boxes become few, on the host, between two parts that run on the GPU.
 * Browsers and Deno run the same functions: nothing here reads a GPU synchronously.
 *
 * `deno run examples/detector.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

const SIZE = 64, STRIDE = 4, BOX = 12;
const COLOURS = ["red", "green", "blue"];

/** Boxes `[top, left, bottom, right]`, in parts of the image, around every fourth pixel. */
const ANCHORS: tf.NdArray = (() => {
  const n = SIZE / STRIDE, data = new Float32Array(n * n * 4);
  for (let i = 0; i < n * n; i++) {
    const y = Math.floor(i / n) * STRIDE + STRIDE / 2, x = (i % n) * STRIDE + STRIDE / 2;
    data.set([y - BOX / 2, x - BOX / 2, y + BOX / 2, x + BOX / 2].map((v) => v / SIZE), 4 * i);
  }
  return new tf.NdArray("float32", [n * n, 4], data);
})();

/** The first part, in place of a network: how much brighter each box is than what is around it. */
function scoresOf(images: tf.Tensor): tf.Tensor {
  const brightness = tf.max(images, 3, true);
  const inside = tf.avgPool(brightness, BOX, STRIDE, "same");
  const around = tf.avgPool(brightness, 2 * BOX, STRIDE, "same");
  return tf.reshape(tf.sub(inside, around), [-1]);
}

function overlap(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const side = (k: number): number =>
    Math.max(0, Math.min(a[k + 2], b[k + 2]) - Math.max(a[k], b[k]));
  const area = (box: ArrayLike<number>): number => (box[2] - box[0]) * (box[3] - box[1]);
  const both = side(0) * side(1);
  return both / (area(a) + area(b) - both);
}

/**
 * Weighted box fusion (Solovyev et al., 2019), which TensorFlow has no op for: boxes that overlap the best one become one box, their
 * mean weighted by score. Returns as many as there are, or none.
 */
export function fuse(boxes: tf.NdArray, scores: tf.NdArray): [tf.NdArray, Float32Array] {
  const score = scores.data as Float32Array, data = boxes.data as Float32Array;
  const order = [...score.keys()].filter((i) => score[i] > 0.3).sort((a, b) => score[b] - score[a]);
  const fused: number[] = [], best: number[] = [], taken = new Set<number>();
  const box = (i: number): Float32Array => data.subarray(4 * i, 4 * i + 4);
  for (const i of order) {
    if (taken.has(i)) continue;
    const group = order.filter((j) => !taken.has(j) && overlap(box(i), box(j)) > 0.2);
    const weight = group.reduce((sum, j) => sum + score[j], 0);
    for (let k = 0; k < 4; k++) {
      fused.push(group.reduce((sum, j) => sum + score[j] * box(j)[k], 0) / weight);
    }
    best.push(score[i]);
    for (const j of group) taken.add(j);
  }
  return [
    new tf.NdArray("float32", [best.length, 4], new Float32Array(fused)),
    new Float32Array(best),
  ];
}

/** The last part: which colour each box has, from a crop of it. */
function coloursOf(images: tf.Tensor, boxes: tf.Tensor): tf.Tensor {
  const owner = tf.cast(tf.zerosLike(tf.sum(boxes, 1)), "int32");
  const crops = tf.image.cropAndResize(images, boxes, owner, [8, 8]);
  return tf.argMax(tf.mean(crops, [1, 2]), 1);
}

/** Boxes, their scores and their colours in an image of float32[64, 64, 3]. */
const detect = tf.function((image: tf.Tensor) => {
  const images = tf.expandDims(image, 0);
  const [boxes, scores] = tf.numpyFunction(fuse, [tf.constant(ANCHORS), scoresOf(images)], [
    tf.TensorSpec([null, 4], "float32"),
    tf.TensorSpec([null], "float32"),
  ]);
  return { boxes, scores, colours: coloursOf(images, boxes) };
});

/** A dark image with squares: `[top, left, colour]` each. */
export function paint(squares: readonly (readonly [number, number, number])[]): tf.Tensor {
  const data = new Float32Array(SIZE * SIZE * 3).fill(0.05);
  for (const [top, left, colour] of squares) {
    for (let i = 0; i < BOX * BOX; i++) {
      const y = top + Math.floor(i / BOX), x = left + i % BOX;
      data[3 * (SIZE * y + x) + colour] = 1 - 0.1 * colour;
    }
  }
  return tf.tensor(data, [SIZE, SIZE, 3]);
}

async function main(): Promise<void> {
  await tf.ready();
  const pictures = { "three squares": [[8, 6, 0], [30, 40, 1], [46, 12, 2]], nothing: [] } as const;
  for (const [name, squares] of Object.entries(pictures)) {
    using image = paint(squares);
    const { boxes, scores, colours } = await detect.async(image);
    console.log(`${name}: ${boxes.shape[0]} boxes`);
    const corners = await boxes.array() as number[][],
      score = Array.from(await scores.data(), Number);
    for (const [i, colour] of Array.from(await colours.data(), Number).entries()) {
      const [top, left] = corners[i].map((v) => Math.round(v * SIZE));
      console.log(`  ${COLOURS[colour]} at ${top}, ${left}, score ${score[i].toFixed(2)}`);
    }
    tf.dispose([boxes, scores, colours]);
  }
  using image = paint(pictures["three squares"]);
  const work = await tf.profile(async () => tf.dispose(await detect.async(image)));
  console.log(`On the ${tf.getBackend()}: ${work.readbacks} readbacks, ${work.bytesToHost} bytes`);
}

if (import.meta.main) await main();
