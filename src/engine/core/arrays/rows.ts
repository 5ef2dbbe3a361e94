/** Rows of host arrays along their first axis: views and concatenation. */
import type { HostData } from "../dtype.ts";
import { InvalidArgumentError } from "../errors.ts";
import { NdArray } from "../nd_array.ts";
import { sameShape, shapeText } from "../shape.ts";

/** Returns the rows `from` to before `to`, not copied. */
export function spanOf(array: NdArray, from: number, to: number): NdArray {
  const { data, shape, dtype } = array;
  const step = shape[0] === 0 ? 0 : data.length / shape[0];
  const part = ArrayBuffer.isView(data)
    ? (data as Float32Array).subarray(from * step, to * step)
    : (data as readonly unknown[]).slice(from * step, to * step);
  return new NdArray(dtype, [to - from, ...shape.slice(1)], part as HostData);
}

/** Returns row `i`, not copied. */
export function rowOf(array: NdArray, i: number): NdArray {
  const { dtype, shape, data } = spanOf(array, i, i + 1);
  return new NdArray(dtype, shape.slice(1), data);
}

/** Returns the rows, not copied. */
export function unstackRows(array: NdArray): NdArray[] {
  return Array.from({ length: array.shape[0] }, (_, i) => rowOf(array, i));
}

/** Copies `from` into `to` at an offset, for typed arrays and lists alike. */
export function putAt(to: HostData, from: HostData, offset: number): void {
  if (ArrayBuffer.isView(to)) (to as Float32Array).set(from as Float32Array, offset);
  else for (let i = 0; i < from.length; i++) (to as unknown[])[offset + i] = from[i];
}

/** Concatenates arrays along their first axis. Throws `InvalidArgumentError` where other dimensions differ. */
export function concatRows(parts: readonly NdArray[]): NdArray {
  const [{ dtype, shape }] = parts, inner = shape.slice(1);
  const other = parts.find((p) => !sameShape(p.shape.slice(1), inner));
  if (other) {
    throw new InvalidArgumentError(
      `Cannot batch rows of values ${shapeText(shape)} and ${
        shapeText(other.shape)
      }: dimensions below the ragged ones must be equal`,
    );
  }
  const rows = parts.reduce((n, p) => n + p.shape[0], 0);
  const out = NdArray.zeros(dtype, [rows, ...inner]);
  let at = 0;
  for (const { data } of parts) {
    putAt(out.data, data, at);
    at += data.length;
  }
  return out;
}
