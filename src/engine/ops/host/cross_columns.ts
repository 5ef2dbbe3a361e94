/** Columns of a cross: the values of each row of several tensors, their combinations, texts and fingerprints. */
import { NdArray } from "../../core/nd_array.ts";
import { encodeString, joinBytes } from "../../core/text.ts";
import { fingerprint64 } from "../../kernels/host/text/string_hash.ts";
import { hostInts } from "../array/view.ts";
import { refuse, textsOf, wholeArray } from "./arrays.ts";

/** One tensor of a cross: the positions of each row's values. */
export interface Column {
  readonly rows: readonly (readonly number[])[];
  readonly values: NdArray;
}

/** Groups inputs of an op: indices, values and shapes of `count` sparse tensors, then dense matrices. */
export function columnsOf(inputs: readonly NdArray[], count: number): Column[] {
  const sparse = Array.from({ length: count }, (_, k): Column => {
    const [indices, values, dims] = [0, 1, 2].map((part) => inputs[part * count + k]);
    const at = hostInts(indices), [height] = hostInts(dims);
    if (indices.rank !== 2 || dims.size !== 2) {
      refuse(`shapes should imply a matrix, received ${dims.size} dimensions at index ${k}`);
    }
    const rows: number[][] = Array.from({ length: height }, () => []);
    for (let i = 0; i < values.size; i++) {
      if (!(at[2 * i] >= 0 && at[2 * i] < height)) {
        refuse(`Got invalid index at [${i}, 0]: ${at[2 * i]}, wanted a row below ${height}`);
      }
      rows[at[2 * i]].push(i);
    }
    return { rows, values };
  });
  const dense = inputs.slice(3 * count).map((values): Column => {
    if (values.rank !== 2) refuse(`Dense inputs should be a matrix, received [${values.shape}]`);
    const [height, width] = values.shape;
    const rows = Array.from(
      { length: height },
      (_, r) => Array.from({ length: width }, (_, c) => r * width + c),
    );
    return { rows, values };
  });
  const all = [...sparse, ...dense];
  const odd = all.find(({ rows }) => rows.length !== all[0].rows.length);
  if (odd !== undefined) {
    refuse(`Expected batch size ${all[0].rows.length}, received ${odd.rows.length}`);
  }
  return all;
}

/** Returns the combinations of a row, of which the last column's values change first. */
export function combined(columns: readonly Column[], row: number): number[][] {
  return columns.reduce<number[][]>(
    (all, { rows }) => all.flatMap((before) => rows[row].map((at) => [...before, at])),
    [[]],
  );
}

/** Crosses columns: `make` writes the element of a combination. */
export function crossed<V>(
  columns: readonly Column[],
  make: (at: readonly number[]) => V,
): { readonly indices: NdArray; readonly values: V[]; readonly shape: NdArray } {
  const places: number[] = [], values: V[] = [];
  let widest = 0;
  const height = columns[0]?.rows.length ?? 0;
  for (let row = 0; row < height; row++) {
    const all = combined(columns, row);
    widest = Math.max(widest, all.length);
    all.forEach((at, i) => {
      places.push(row, i);
      values.push(make(at));
    });
  }
  return {
    indices: wholeArray("int64", places, [values.length, 2]),
    values,
    shape: wholeArray("int64", [height, widest]),
  };
}

const MASK = (1n << 64n) - 1n, PRIME = 0xc6a4a7935bd1e995n;
/** The greatest int64, which bounds hashes of no number of buckets. */
export const LARGEST: bigint = (1n << 63n) - 1n;
const times = (x: bigint): bigint => (x * PRIME) & MASK;
const shiftMix = (x: bigint): bigint => x ^ (x >> 47n);

/** Combines two fingerprints, as TensorFlow's `FingerprintCat64` does. */
export function joined(a: bigint, b: bigint): bigint {
  const first = a ^ times(shiftMix(times(b))) ^ PRIME;
  return shiftMix(times(shiftMix(times(first))));
}

/** Returns the number that stands for a value in hashes. */
export const featureOf = ({ values }: Column, i: number): bigint =>
  values.dtype === "string"
    ? fingerprint64(textsOf(values)[i])
    : BigInt.asUintN(64, (values.data as BigInt64Array)[i]);

/** Returns a value as text. */
export function textOf({ values }: Column, i: number): Uint8Array {
  return values.dtype === "string" ? textsOf(values)[i] : encodeString(String(values.at(i)));
}

/** Joins the texts of combinations: their indices, texts and dense shape. */
export function joinedTexts(columns: readonly Column[], separator: Uint8Array): NdArray[] {
  const { indices, values, shape } = crossed(
    columns,
    (at) => joinBytes(at.map((i, k) => textOf(columns[k], i)), separator),
  );
  return [indices, new NdArray("string", [values.length], values), shape];
}
