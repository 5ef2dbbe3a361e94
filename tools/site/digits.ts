/**
 * Some of MNIST in one file, as examples/site/digits.ts reads it.
 *
 * @module
 */

import { gzipSync } from "node:zlib";
import { type Digits, loadMnist } from "../../examples/mnist/files.ts";

/** Numbers of images in the file: some 900 kB. */
const TRAINED = 8000, TESTED = 1000;

const PIXELS = 28 * 28;

/** Grey values that are kept: a stroke's edge needs no more, and the file is smaller by a third. */
const GREYS = 0xf0;

/** The file. */
export async function packedDigits(): Promise<Uint8Array> {
  const { train, test } = await loadMnist();
  const counts = new Uint8Array(8), view = new DataView(counts.buffer);
  view.setUint32(0, TRAINED, true);
  view.setUint32(4, TESTED, true);
  const part = ({ images, labels }: Digits, count: number): Uint8Array[] => {
    // Evenly from the whole: writers differ from one half of the test set to the other.
    const chosen = Array.from({ length: count }, (_, i) => Math.floor(i * labels.size / count));
    const image = (i: number) => (images.data as Uint8Array).subarray(i * PIXELS, (i + 1) * PIXELS);
    return [
      ...chosen.map((i) => image(i).map((v) => v & GREYS)),
      Uint8Array.from(chosen, (i) => Number(labels.get(i))),
    ];
  };
  const bytes = new Blob([counts, ...part(train, TRAINED), ...part(test, TESTED)] as BlobPart[]);
  return gzipSync(await bytes.bytes(), { level: 9 });
}
