// What happens to each file, in a worker: its bytes become pixels, and the scene is mirrored and lit at random with its boxes.

import type { NdArray, ScriptContext } from "@weft/weft";
import { decodeImage } from "@weft/weft/image";

/** Pixels and boxes `[y, x, height, width]` of a file. What is random comes from the call's seed: it repeats with any number of workers. */
export function augment(
  contents: NdArray,
  boxes: NdArray,
  { seed }: ScriptContext,
): { image: Float32Array; boxes: { shape: number[]; data: Float32Array } } {
  const { data, shape: [height, width] } = decodeImage(contents.data[0] as Uint8Array, {
    channels: 1,
  });
  const isMirrored = (seed & 1n) === 1n;
  const light = 0.7 + Number(seed >> 8n & 0xffffn) / 0xffff * 0.6;
  const image = new Float32Array(height * width);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = y * width + (isMirrored ? width - 1 - x : x);
      image[y * width + x] = Math.min(1, light * Number(data[from]) / 255);
    }
  }
  const moved = Float32Array.from(boxes.data as Float32Array);
  for (let i = 0; isMirrored && i < moved.length; i += 4) {
    moved[i + 1] = width - moved[i + 1] - moved[i + 3];
  }
  return { image, boxes: { shape: [...boxes.shape], data: moved } };
}
