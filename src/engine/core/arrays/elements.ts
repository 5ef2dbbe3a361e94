/** Conversion of single elements between JavaScript's values and memory. */
import {
  codeOf,
  type DType,
  DTYPES,
  type HostData,
  INTEGER_ENDS,
  isBigInt,
  makeData,
} from "../dtype.ts";
import { TypeError } from "../throwing/builtin_errors.ts";
import { ValueError } from "../errors.ts";
import type { ElementValue } from "../nd_array.ts";
import { describe } from "../text.ts";
import { bytesOfText } from "./short_bytes.ts";

/** Returns one element as a JavaScript value. */
export function elementAt(
  { dtype, data }: { readonly dtype: DType; readonly data: HostData },
  flat: number,
): ElementValue {
  switch (DTYPES[dtype].kind) {
    case "bool":
      return data[flat] !== 0;
    case "complex":
      return [data[2 * flat] as number, data[2 * flat + 1] as number];
    default:
      return codeOf(dtype)?.decode(data[flat] as number) ?? data[flat] as ElementValue;
  }
}

/**
 * Which numbers a dtype takes. `fitting`: integers take whole numbers that they hold, as in TensorFlow. `exact`: and floats take no
 * bigints, as values of a dtype that was declared. `cut`: integers cut fractions off and take what they hold then, as in NumPy.
 * `wrapped`: integers wrap as typed arrays do, and fractions are cut off.
 */
export type NumberRule = "fitting" | "exact" | "cut" | "wrapped";

/** Stores many values in an array of this dtype; see {@linkcode elementWriter}. Throws `ValueError` for a bigint out of range. */
export function fillLeaves(leaves: readonly unknown[], dtype: DType, rule: NumberRule): HostData {
  const data = makeData(dtype, leaves.length) as unknown[];
  const isComplex = DTYPES[dtype].kind === "complex";
  const put = elementWriter(isComplex ? "float64" : dtype, rule);
  const range = rule === "exact" ? undefined : INTEGER_ENDS[dtype];
  for (let i = 0; i < leaves.length; i++) {
    const leaf = leaves[i];
    // A bigint is meant to be exact.
    if (typeof leaf === "bigint" && range !== undefined && (leaf < range[0] || leaf > range[1])) {
      throw outOfRange(leaf, dtype);
    }
    if (isComplex) {
      const [re, im] = Array.isArray(leaf) ? leaf : [leaf, 0];
      data[2 * i] = put(re);
      data[2 * i + 1] = put(im);
    } else data[i] = put(leaf);
  }
  return data as HostData;
}

export function outOfRange(value: number | bigint, dtype: DType): ValueError {
  return new ValueError(`Cannot convert ${value} to ${dtype}: it is out of range`);
}

/**
 * Returns the conversion of values to elements of this dtype. Throws `TypeError` for a value of another kind, and for numbers
 * that the rule refuses; `ValueError` for whole numbers out of range under the rule `fitting`.
 */
export function elementWriter(dtype: DType, rule: NumberRule): (leaf: unknown) => unknown {
  const strict = rule === "exact", wraps = rule === "wrapped", cuts = rule === "cut";
  const kind = DTYPES[dtype].kind;
  const fail = (leaf: unknown): never => {
    const isArray = typeof (leaf as { item?: unknown } | null | undefined)?.item === "function";
    throw new TypeError(
      `Cannot convert ${describe(leaf)} to ${dtype}${
        isArray ? ": of arrays in a list take item(), or join them by tf.stack()" : ""
      }`,
    );
  };
  const refuse = (value: number | bigint): never => {
    throw outOfRange(value, dtype);
  };
  if (kind === "handle") return (leaf) => leaf;
  if (kind === "string") {
    return (leaf) =>
      typeof leaf === "string" ? bytesOfText(leaf) : leaf instanceof Uint8Array ? leaf : fail(leaf);
  }
  if (kind === "bool") {
    // NaN is not zero.
    return (leaf) =>
      typeof leaf === "boolean" || typeof leaf === "number"
        ? (leaf === false || leaf === 0 ? 0 : 1)
        : fail(leaf);
  }
  if (isBigInt(dtype)) {
    const [lo, hi] = INTEGER_ENDS[dtype]!;
    return (leaf) => {
      if (typeof leaf === "boolean") return leaf ? 1n : 0n;
      if (typeof leaf === "number") {
        if (Number.isInteger(leaf)) return check(BigInt(leaf));
        if (cuts) return Number.isFinite(leaf) ? check(BigInt(Math.trunc(leaf))) : refuse(leaf);
        if (!wraps) return fail(leaf);
        if (Number.isFinite(leaf)) return BigInt(Math.trunc(leaf));
        return leaf > 0 ? hi : leaf < 0 ? lo : 0n;
      }
      return typeof leaf === "bigint" ? check(leaf) : fail(leaf);
      function check(v: bigint): bigint {
        if (wraps || v >= lo && v <= hi) return v;
        return strict ? fail(leaf) : refuse(v);
      }
    };
  }
  const range = INTEGER_ENDS[dtype], code = codeOf(dtype);
  return (leaf) => {
    if (typeof leaf === "boolean") return leaf ? 1 : 0;
    // A float may not hold it exactly.
    const given = typeof leaf === "bigint" && (range || !strict) ? Number(leaf) : leaf;
    if (typeof given !== "number") return fail(leaf);
    const n = cuts && range ? Math.trunc(given) : given;
    if (range === undefined) return code === null ? n : code.encode(n);
    if (wraps || Number.isInteger(n) && n >= range[0] && n <= range[1]) return n;
    return strict || !cuts && !Number.isInteger(n) ? fail(leaf) : refuse(given);
  };
}
