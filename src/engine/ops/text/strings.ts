/** The namespace `tf.strings`: ops on each string, on the host; strings are bytes, by convention of UTF-8. */
import { apply, apply1, compose } from "../../core/apply.ts";
import { optionCheck, wrongArgument } from "../../core/arguments.ts";

import { asDType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, lookupOp, type OpDef } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { onesLike } from "../array/creation.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { rank, reshape } from "../array/view.ts";
import { asTensor, shapeOfInput, toIndexInput, toInput } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";
import { RaggedTensor } from "../ragged/ragged_tensor.ts";
import {
  DecodeBase64,
  EncodeBase64,
  StringToHashBucket,
  StringToHashBucketStrong,
} from "./text_codes.ts";
import { ReduceJoin, Substr } from "./text_parts.ts";
import {
  AsString,
  RegexReplace,
  StaticRegexFullMatch,
  StringJoin,
  StringLength,
  StringLower,
  StringSplitV2,
  StringStrip,
  StringToNumber,
  StringUpper,
} from "./text_ops.ts";
import { partsOf } from "./ragged_parts.ts";
import { texts } from "./text_input.ts";
import { stringNGrams, stringToHashBucketFast } from "../host/string.ts";
import { brief } from "../../core/text.ts";

/** The unit in which lengths and places are counted. */
export type StringUnit = "BYTE" | "UTF8_CHAR";

function map(op: OpDef, x: TensorLike, fn: string, attrs: Attrs = {}): Tensor {
  return apply1(op, [texts(x, fn)], attrs);
}

/**
 * Each string in lower case: of ASCII letters, or of all with encoding `"utf-8"`. TensorFlow op `StringLower`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.lower(["Ab", "ÄB"], "utf-8").array()); // ["ab", "äb"]
 * ```
 */
export function lower(input: TensorLike, encoding: "" | "utf-8" = ""): Tensor {
  return map(StringLower, input, "lower", { encoding });
}

/**
 * Each string in upper case: of ASCII letters, or of all with encoding `"utf-8"`. TensorFlow op `StringUpper`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.strings.upper(["weft"]).arraySync()); // ["WEFT"]
 * ```
 */
export function upper(input: TensorLike, encoding: "" | "utf-8" = ""): Tensor {
  return map(StringUpper, input, "upper", { encoding });
}

/**
 * Each string without the white space at its ends. TensorFlow op `StringStrip`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.strings.strip([" a b "]).arraySync()); // ["a b"]
 * ```
 */
export function strip(input: TensorLike): Tensor {
  return map(StringStrip, input, "strip");
}

/**
 * The length of each string, in bytes or in characters; int32. TensorFlow op `StringLength`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.length(["é"]).array(), await tf.strings.length(["é"], "UTF8_CHAR").array()); // [2] [1]
 * ```
 */
export function length(input: TensorLike, unit: StringUnit = "BYTE"): Tensor {
  return map(StringLength, input, "length", { unit });
}

/**
 * A part of each string: `len` units from `pos` on, which counts from the end where it is negative; a negative `len` of bytes takes the rest.
 * The three broadcast. TensorFlow op `Substr`. Throws `InvalidArgumentError` for a position outside of a string.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.substr(["hello", "world"], 1, 3).array()); // ["ell", "orl"]
 * ```
 */
export function substr(
  input: TensorLike,
  pos: TensorLike,
  len: TensorLike,
  unit: StringUnit = "BYTE",
): Tensor {
  const [from, count] = [
    toIndexInput(pos, "pos", "strings.substr"),
    toIndexInput(len, "len", "strings.substr"),
  ];
  return apply1(Substr, [texts(input, "substr"), from, count], { unit });
}

/**
 * Joins the strings at each place of some tensors; scalars are repeated. TensorFlow op `StringJoin`. Throws `ValueError` for shapes
 * that differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.join([["a", "b"], "x"], "-").array()); // ["a-x", "b-x"]
 * ```
 */
export function join(inputs: readonly TensorLike[], separator = ""): Tensor {
  if (!Array.isArray(inputs)) {
    throw wrongArgument(inputs, "inputs", "strings.join", "a list of tensors");
  }
  const all = inputs.map((x, i) => texts(x, "join", `inputs[${i}]`));
  return apply1(StringJoin, all, { separator });
}

/**
 * Joins the strings along axes; along all of them where none is named. TensorFlow op `ReduceJoin`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.reduceJoin([["a", "b"], ["c", "d"]], 1, false, " ").array()); // ["a b", "c d"]
 * ```
 */
export function reduceJoin(
  inputs: TensorLike,
  axis?: number | readonly number[] | null,
  keepDims = false,
  separator = "",
): Tensor {
  const input = texts(inputs, "reduceJoin", "inputs"), known = shapeOfInput(input);
  return compose(() => {
    // The last axis is joined first.
    const all = (): TensorLike =>
      known === null
        ? range(sub(rank(asTensor(input)), 1), -1, -1, "int32")
        : known.map((_, i) => known.length - 1 - i);
    const axes = axis == null ? all() : [axis].flat();
    return apply1(
      ReduceJoin,
      [input, toIndexInput(axes, "axis", "strings.reduceJoin")],
      { keep_dims: keepDims, separator },
    );
  });
}

/**
 * Replaces what a regular expression finds; `\1` to `\9` stand for its groups. The syntax is RE2's as far as JavaScript's has it.
 * TensorFlow op `RegexReplace`. Throws `InvalidArgumentError` for another pattern.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.regexReplace(["a1b22"], "[0-9]+", "#").array()); // ["a#b#"]
 * ```
 */
export function regexReplace(
  input: TensorLike,
  pattern: string,
  rewrite: string,
  replaceGlobal = true,
): Tensor {
  const given = [
    texts(pattern, "regexReplace", "pattern"),
    texts(rewrite, "regexReplace", "rewrite"),
  ];
  return apply1(RegexReplace, [texts(input, "regexReplace"), ...given], {
    replace_global: replaceGlobal,
  });
}

/**
 * True for each string that a regular expression matches as a whole. TensorFlow op `StaticRegexFullMatch`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.strings.regexFullMatch(["a1", "a1b"], "[a-z][0-9]").arraySync()); // [true, false]
 * ```
 */
export function regexFullMatch(input: TensorLike, pattern: string): Tensor {
  return map(StaticRegexFullMatch, input, "regexFullMatch", { pattern });
}

/**
 * Parts each string at a separator, at runs of white space where it is empty: of a scalar a vector, of others a ragged tensor with one
 * more axis; of an unknown rank it takes a vector. At most `maxsplit` times where that is positive. TensorFlow op `StringSplitV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const words = tf.strings.split(["a b", "c"]) as tf.RaggedTensor;
 * console.log(words.toList()); // [["a", "b"], ["c"]]
 * ```
 */
export function split(
  input: TensorLike | RaggedTensor,
  sep = "",
  maxsplit = -1,
): Tensor | RaggedTensor {
  const separator = texts(sep, "split", "sep");
  const part = (strings: Tensor): readonly RaggedTensor[] => {
    const [indices, values, dims] = apply(StringSplitV2, [strings, separator], { maxsplit });
    const row = reshape(slice(cast(indices, "int32"), [0, 0], [-1, 1]), [-1]);
    const rows = reshape(slice(cast(dims, "int32"), [0], [1]), []);
    return [RaggedTensor.fromRowLengths(values, counted(row, rows))];
  };
  return partsOf(input, { fn: "split", part, isVectorIfUnknown: true })[0];
}

/** Counts each number below `size`. */
function counted(numbers: Tensor, size: Tensor): Tensor {
  const ones = onesLike(numbers);
  return apply1(lookupOp("UnsortedSegmentSum")!, [ones, numbers, size]);
}

/**
 * The number that each string writes. TensorFlow op `StringToNumber`. Throws `InvalidArgumentError` for a string that writes none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.toNumber(["1.5", "-2e3"]).array()); // [1.5, -2000]
 * ```
 */
export function toNumber(
  input: TensorLike,
  outType: "float32" | "float64" | "int32" | "int64" = "float32",
): Tensor {
  return map(StringToNumber, input, "toNumber", { out_type: asDType(outType) });
}

const checkAsString = optionCheck<AsStringOptions>("strings.asString", {
  precision: true,
  scientific: true,
  shortest: true,
  width: true,
  fill: true,
});

/** Options of {@linkcode asString}. */
export interface AsStringOptions {
  /** Digits behind the point. Default: as many as the dtype has, 6. */
  readonly precision?: number;
  /** True for a form with an exponent. */
  readonly scientific?: boolean;
  /** True for the shorter of both forms. */
  readonly shortest?: boolean;
  /** Least number of characters. */
  readonly width?: number;
  /** The character that fills up, or a sign: `"0"`, `" "`, `"-"`, `"+"`. */
  readonly fill?: string;
}

/**
 * Each number as text. TensorFlow op `AsString`. Throws `InvalidArgumentError` for a form that the dtype does not have.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.asString([1.5, 2], { precision: 1 }).array()); // ["1.5", "2.0"]
 * ```
 */
export function asString(input: TensorLike, options: AsStringOptions = {}): Tensor {
  checkAsString(options);
  return apply1(AsString, [toInput(input, "input", "strings.asString")], {
    ...options,
  });
}

/**
 * A number below `numBuckets` for each string, by a hash that stays the same; int32. TensorFlow op `StringToHashBucketFast`. Throws
 * `ValueError` for no buckets.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.toHashBucketFast(["a", "b", "a"], 10).array()); // [9, 2, 9]
 * ```
 */
export function toHashBucketFast(input: TensorLike, numBuckets: number): Tensor {
  return stringToHashBucketFast(input, numBuckets);
}

/**
 * A number below `numBuckets` for each string, by SipHash with a key of two whole numbers; int32. TensorFlow op
 * `StringToHashBucketStrong`. Throws `TypeError` for another key, `ValueError` for no buckets.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.toHashBucketStrong(["A", "B"], 3, [133, 137]).array()); // [1, 2]
 * ```
 */
export function toHashBucketStrong(
  input: TensorLike,
  numBuckets: number,
  key: readonly [number | bigint, number | bigint],
): Tensor {
  const isWhole = (k: unknown): boolean => typeof k === "bigint" || Number.isSafeInteger(k);
  if (!Array.isArray(key) || key.length !== 2 || !key.every(isWhole)) {
    throw wrongArgument(key, "key", "strings.toHashBucketStrong", "two whole numbers");
  }
  wantBuckets(numBuckets);
  const attrs = { num_buckets: numBuckets, key };
  return cast(map(StringToHashBucketStrong, input, "toHashBucketStrong", attrs), "int32");
}

/**
 * A number below `numBuckets` for each string, by the hash of TensorFlow 1, which may change between its builds; int32. TensorFlow op
 * `StringToHashBucket`. Throws `ValueError` for no buckets.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.toHashBucket(["Hello", "TensorFlow"], 3).array()); // [2, 0]
 * ```
 */
export function toHashBucket(input: TensorLike, numBuckets: number): Tensor {
  wantBuckets(numBuckets);
  return cast(map(StringToHashBucket, input, "toHashBucket", { num_buckets: numBuckets }), "int32");
}

/** Throws `ValueError` for a number of buckets below 1. */
function wantBuckets(numBuckets: number): void {
  if (Number.isInteger(numBuckets) && numBuckets > 0) return;
  throw new ValueError(
    `Cannot hash into ${brief(numBuckets)} buckets: Number of buckets must be at least 1`,
  );
}

/**
 * Each string of bytes in web-safe base64. TensorFlow op `EncodeBase64`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.strings.encodeBase64(["hi"]).arraySync()); // ["aGk"]
 * ```
 */
export function encodeBase64(input: TensorLike, pad = false): Tensor {
  return map(EncodeBase64, input, "encodeBase64", { pad });
}

/**
 * The bytes that each string writes in web-safe base64. TensorFlow op `DecodeBase64`. Throws `InvalidArgumentError` for other text.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.strings.decodeBase64(["aGk"]).arraySync()); // ["hi"]
 * ```
 */
export function decodeBase64(input: TensorLike): Tensor {
  return map(DecodeBase64, input, "decodeBase64");
}

/**
 * Runs of `width` neighbouring strings of each row, joined by the separator. Follows TensorFlow `tf.strings.ngrams`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const words = tf.strings.split(["a b c"]) as tf.RaggedTensor;
 * console.log(tf.strings.ngrams(words, 2).toList()); // [["a b", "b c"]]
 * ```
 */
export function ngrams(
  data: RaggedTensor,
  width: number | readonly number[],
  separator = " ",
): RaggedTensor {
  if (!(data instanceof RaggedTensor)) {
    throw wrongArgument(data, "data", "strings.ngrams", "a ragged tensor");
  }
  return compose(() => {
    const { nGrams, nGramsSplits } = stringNGrams(
      data.values as Tensor,
      data.rowSplits,
      separator,
      [width].flat(),
      "",
      "",
      0,
      false,
    );
    return RaggedTensor.fromRowSplits(nGrams, nGramsSplits);
  });
}

export { format, type FormatOptions } from "./format.ts";
export { unicodeScript } from "./scripts.ts";
export { unsortedSegmentJoin } from "./segment_join.ts";
export {
  unicodeDecode,
  unicodeDecodeWithOffsets,
  unicodeEncode,
  type UnicodeOptions,
} from "./code_points.ts";
export {
  bytesSplit,
  type TranscodeOptions,
  unicodeSplit,
  unicodeSplitWithOffsets,
  unicodeTranscode,
} from "./characters.ts";
