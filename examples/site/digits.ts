/** The handwritten digits that tools/site.ts packs: counts of images, then images and labels of both parts, compressed. */

import * as tf from "@weft/weft";

/** Images [n, 28, 28] and what they show. */
export interface Digits {
  readonly count: number;
  readonly images: Uint8Array<ArrayBuffer>;
  readonly labels: Uint8Array<ArrayBuffer>;
}

/** Bytes of an image. */
export const PIXELS: number = 28 * 28;

/** Loads them. */
export async function loadDigits(): Promise<{ train: Digits; test: Digits }> {
  const response = await fetch(new URL("./digits.bin", import.meta.url));
  if (!response.ok || response.body === null) {
    throw new Error(`Cannot load the digits: ${response.status}`);
  }
  const stream = response.body.pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const counts = new DataView(bytes.buffer);
  let at = 8;
  const take = (n: number): Uint8Array<ArrayBuffer> => bytes.subarray(at, at += n);
  const part = (i: number): Digits => {
    const count = counts.getUint32(4 * i, true);
    return { count, images: take(count * PIXELS), labels: take(count) };
  };
  return { train: part(0), test: part(1) };
}

/** Some of them, as a session is fed. */
export function pick(
  { images, labels }: Digits,
  chosen: ArrayLike<number>,
): { images: tf.NdArray; labels: tf.NdArray } {
  const n = chosen.length;
  const pixels = new Uint8Array(n * PIXELS), names = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const j = chosen[i]!;
    pixels.set(images.subarray(j * PIXELS, (j + 1) * PIXELS), i * PIXELS);
    names[i] = labels[j]!;
  }
  return {
    images: new tf.NdArray("uint8", [n, 28, 28], pixels),
    labels: new tf.NdArray("uint8", [n], names),
  };
}
