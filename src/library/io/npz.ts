/** NumPy's npz files: zip archives of npy files. */
import { wantObject } from "../../engine/core/arguments.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { type Bytes, hostArray, type Writable } from "./bytes.ts";
import { npyBytes, readNpy } from "./npy.ts";
import { readZip, writeZip } from "./zip.ts";

/**
 * Reads an npz file, compressed or not: arrays by name.
 * Rejects with `DataLossError` for a damaged file, `UnimplementedError` for object arrays and other compressions.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = await tf.io.writeNpz({ w: tf.tensor([1, 2]), b: tf.scalar(3) });
 * const { w, b } = await tf.io.readNpz(bytes);
 * console.log([w.toArray(), b.toArray()]); // [[1, 2], 3]
 * ```
 */
export async function readNpz(bytes: Uint8Array): Promise<Record<string, NdArray>> {
  const arrays = new Map<string, NdArray>();
  for await (const [file, data] of readZip(bytes, "npz file")) {
    const name = file.replace(/\.npy$/, "");
    if (arrays.has(name)) {
      throw new DataLossError(`Cannot read npz file: two of its arrays are called "${name}"`);
    }
    arrays.set(name, readNpy(data, `entry "${file}" of the npz file`));
  }
  return Object.fromEntries(arrays);
}

/**
 * Writes an npz file, uncompressed as `numpy.savez` does. Rejects with `TypeError` for dtypes that NumPy lacks.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = await tf.io.writeNpz({ x: tf.zeros([2, 2]) });
 * console.log(Object.keys(await tf.io.readNpz(bytes))); // ["x"]
 * ```
 */
export async function writeNpz(arrays: Readonly<Record<string, Writable>>): Promise<Bytes> {
  wantObject(arrays, "arrays", "writeNpz", "an object of arrays");
  const entries: [string, Uint8Array][] = [];
  for (const [name, value] of Object.entries(arrays)) {
    entries.push([`${name}.npy`, npyBytes(await hostArray(value))]);
  }
  return writeZip(entries);
}
