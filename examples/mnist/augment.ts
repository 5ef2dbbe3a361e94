// The host's part in training: moves each image by a few pixels, so that the network never sees the same one twice.
// It is the body of a `tf.numpyFunction`: a node of the graph like any other, whose kernel is this function.

import * as tf from "@weft/weft";
import type { Random } from "./random.ts";

/** A body that moves images [n, height, width] or [n, height, width, channels] by up to `most` pixels along each axis; what comes in is 0. */
export function shiftBy(most: number, random: Random): (images: tf.NdArray) => tf.NdArray {
  const step = () => Math.floor(random() * (2 * most + 1)) - most;
  return (images) => {
    const out = tf.NdArray.zeros(images.dtype, images.shape);
    const size = images.size / images.shape[0];
    for (let i = 0; i < images.shape[0]; i++) shift(images, out, i * size, step(), step());
    return out;
  };
}

/** Copies the image that starts at `offset`, moved down and to the right; row by row. */
function shift(
  from: tf.NdArray,
  to: tf.NdArray,
  offset: number,
  down: number,
  right: number,
): void {
  const [, height, width, channels = 1] = from.shape;
  const row = width * channels;
  const source = from.data as Uint8Array, target = to.data as Uint8Array;
  const move = right * channels;
  const kept = row - Math.abs(move);
  for (let y = Math.max(0, -down); y < Math.min(height, height - down); y++) {
    const start = offset + y * row + Math.max(0, -move);
    target.set(
      source.subarray(start, start + kept),
      offset + (y + down) * row + Math.max(0, move),
    );
  }
}
