/** The namespace `tf.string`: ops on byte strings. They run on the host. */
import { wantNumber } from "../../core/arguments.ts";
import { apply, apply1 } from "../../core/apply.ts";
import { encodeString, joinBytes } from "../../core/text.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { wholeArray } from "../../kernels/host/numbers.ts";
import { regexReplacer } from "../../kernels/host/text/regex.ts";
import { farmHash } from "../../kernels/host/text/string_hash.ts";
import { intoBuckets } from "./buckets.ts";
import { hostInts } from "../array/view.ts";
import { indexInput } from "../array/gather.ts";
import { narrowed, toInput, wantArgument } from "../input.ts";

function bytesOf(a: NdArray): Uint8Array[] {
  return a.data as Uint8Array[];
}

function strings(shape: readonly number[], values: Uint8Array[]): NdArray {
  return new NdArray("string", shape, values);
}

/** Splits a string at delimiters; into bytes if there are none. */
function splitBytes(text: Uint8Array, delimiters: Uint8Array, skipEmpty: boolean): Uint8Array[] {
  if (text.length === 0) return [];
  if (delimiters.length === 0) return Array.from(text, (_, i) => text.subarray(i, i + 1));
  const parts: Uint8Array[] = [];
  let start = 0;
  for (let i = 0; i <= text.length; i++) {
    if (i < text.length && !delimiters.includes(text[i])) continue;
    if (i > start || !skipEmpty) parts.push(text.subarray(start, i));
    start = i + 1;
  }
  return parts;
}

const StringSplit = defineOp({
  name: "StringSplit",
  inputs: ["input: string", "delimiter: string"],
  outputs: ["indices: int64", "values: string", "shape: int64"],
  attrs: ["skip_empty: bool = true"],
  infer: () => [[null, 2], [null], [2]],
  grad: null,
  cpu: ([input, delimiter], _, { attrs }) => {
    const parts = bytesOf(input).map((s) => splitBytes(s, bytesOf(delimiter)[0], attrs.skip_empty));
    const most = parts.reduce((n, p) => Math.max(n, p.length), 0);
    const flat = parts.flat();
    const at = parts.flatMap((p, row) => p.flatMap((_, column) => [row, column]));
    return [
      wholeArray("int64", [flat.length, 2], at),
      strings([flat.length], flat),
      wholeArray("int64", [2], [parts.length, most]),
    ];
  },
});

/** Returns the windows over a row of words. */
function gramsBy(attrs: Attrs): (words: readonly Uint8Array[]) => Uint8Array[] {
  const { separator, left_pad, right_pad, ngram_widths, pad_width } = attrs;
  const [between, left, right] = [separator, left_pad, right_pad].map((s) => encodeString(s));
  return (words) => {
    // The words from `begin` on, with padding outside.
    const gram = (begin: number, width: number): Uint8Array => {
      const word = (i: number): Uint8Array => i < 0 ? left : words[i] ?? right;
      return joinBytes(Array.from({ length: width }, (_, k) => word(begin + k)), between);
    };
    const out: Uint8Array[] = [];
    for (const width of ngram_widths as number[]) {
      const pad = Math.min(pad_width < 0 ? width - 1 : pad_width, width - 1);
      const count = Math.max(0, words.length + 2 * pad - width + 1);
      for (let i = 0; i < count; i++) out.push(gram(i - pad, width));
    }
    if (out.length === 0 && attrs.preserve_short_sequences && words.length > 0) {
      const pad = Math.max(0, pad_width);
      out.push(gram(-pad, words.length + 2 * pad));
    }
    return out;
  };
}

function checkSplits(splits: readonly number[], count: number): void {
  if (splits.length === 0) {
    if (count > 0) {
      throw new InvalidArgumentError(
        "Data tensor must be empty if splits are: no splits were given",
      );
    }
    return;
  }
  if (splits[0] !== 0) {
    throw new InvalidArgumentError(`First split value must be 0, got ${splits[0]}`);
  }
  for (let i = 1; i < splits.length; i++) {
    if (splits[i] < splits[i - 1] || splits[i] > count) {
      throw new InvalidArgumentError(
        `Invalid split value ${splits[i]}, must be in [${splits[i - 1]}, ${count}]`,
      );
    }
  }
  if (splits[splits.length - 1] !== count) {
    throw new InvalidArgumentError(
      `Last split value must be data size. Expected ${count}, got ${splits.at(-1)}`,
    );
  }
}

const StringNGrams = defineOp({
  name: "StringNGrams",
  inputs: ["data: string", "data_splits: Tsplits"],
  outputs: ["ngrams: string", "ngrams_splits: Tsplits"],
  attrs: [
    "separator: string",
    "ngram_widths: list(int)",
    "left_pad: string",
    "right_pad: string",
    "pad_width: int",
    "preserve_short_sequences: bool",
    "Tsplits: index = int64",
  ],
  infer: ([, splits]) => [[null], splits.shape],
  grad: null,
  cpu: ([data, splits], _, { attrs }) => {
    const words = bytesOf(data), at = hostInts(splits);
    checkSplits(at, words.length);
    const gramsOf = gramsBy(attrs);
    const out: Uint8Array[] = [], ends = at.length > 0 ? [0] : [];
    for (let i = 1; i < at.length; i++) {
      out.push(...gramsOf(words.slice(at[i - 1], at[i])));
      ends.push(out.length);
    }
    return [strings([out.length], out), wholeArray(attrs.Tsplits, splits.shape, ends)];
  },
});

const StaticRegexReplace = defineOp({
  name: "StaticRegexReplace",
  each: true,
  inputs: ["input: string"],
  outputs: ["output: string"],
  attrs: ["pattern: string", "rewrite: string", "replace_global: bool = true"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => {
    const { pattern, rewrite, replace_global: all } = attrs;
    const to = out.data as Uint8Array[];
    const replace = regexReplacer({ pattern, rewrite, all });
    bytesOf(x).forEach((s, i) => to[i] = replace(s));
  },
});

const StringToHashBucketFast = defineOp({
  name: "StringToHashBucketFast",
  each: true,
  inputs: ["input: string"],
  outputs: ["output: int64"],
  attrs: ["num_buckets: int >= 1"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => intoBuckets(farmHash, x, attrs.num_buckets, out),
});

/** The result of {@linkcode stringSplit}: a sparse matrix of words. */
export interface SplitStrings {
  /** Row and column of each word, int32. */
  readonly indices: Tensor;
  /** The words. */
  readonly values: Tensor;
  /** Rows, and words in the longest, int32. */
  readonly shape: Tensor;
  /** Value by name. */
  readonly [name: string]: Tensor;
}

/**
 * Splits each string of a vector at any byte of `delimiter`; into single bytes if it is empty. Throws `ValueError` for
 * other ranks. TensorFlow op `StringSplit`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { values, shape } = tf.string.stringSplit(["hello world", "a b c"], " ");
 * console.log(values.arraySync()); // ["hello", "world", "a", "b", "c"]
 * console.log(shape.arraySync()); // [2, 3]
 * ```
 */
export function stringSplit(
  input: TensorLike,
  delimiter: TensorLike,
  skipEmpty = true,
): SplitStrings {
  const text = toInput(input, "input", "stringSplit", { dtype: "string" });
  const at = toInput(delimiter, "delimiter", "stringSplit", { dtype: "string" });
  wantArgument(text, 1, "stringSplit", "input");
  wantArgument(at, 0, "stringSplit", "delimiter");
  const [indices, values, shape] = apply(StringSplit, [text, at], { skip_empty: skipEmpty });
  return { indices: narrowed(indices), values, shape: narrowed(shape) };
}

/** The result of {@linkcode stringNGrams}. */
export interface NGrams {
  /** Joined words of all rows. */
  readonly nGrams: Tensor;
  /** Start of each row, and the end. */
  readonly nGramsSplits: Tensor;
  /** Value by name. */
  readonly [name: string]: Tensor;
}

/**
 * Joins runs of neighbouring words of each row, for every width; a row lies between successive `dataSplits`. Up to
 * `padWidth` pads (-1: as many as fit) stand before and after a row. Throws `InvalidArgumentError` for bad splits.
 * TensorFlow op `StringNGrams`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const splits = tf.tensor1d([0, 3], "int32");
 * const { nGrams } = tf.string.stringNGrams(["a", "b", "c"], splits, "|", [2], "<", ">", 1, false);
 * console.log(nGrams.arraySync()); // ["<|a", "a|b", "b|c", "c|>"]
 * ```
 */
export function stringNGrams(
  data: TensorLike,
  dataSplits: TensorLike,
  separator: string,
  nGramWidths: readonly number[],
  leftPad: string,
  rightPad: string,
  padWidth: number,
  preserveShortSequences: boolean,
): NGrams {
  const words = toInput(data, "data", "stringNGrams", { dtype: "string" });
  wantArgument(words, 1, "stringNGrams", "data");
  const [nGrams, nGramsSplits] = apply(StringNGrams, [
    words,
    indexInput(dataSplits, "stringNGrams"),
  ], {
    separator,
    ngram_widths: nGramWidths,
    left_pad: leftPad,
    right_pad: rightPad,
    pad_width: padWidth,
    preserve_short_sequences: preserveShortSequences,
  });
  return { nGrams, nGramsSplits };
}

/**
 * Replaces matches of a regular expression, everywhere or once; `\1` or `$1` in `rewrite` stand for groups. The pattern
 * is JavaScript's. Throws `InvalidArgumentError` for an invalid one. TensorFlow op `StaticRegexReplace`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.string.staticRegexReplace(["banana"], "an", "AN").arraySync()); // ["bANANa"]
 * ```
 */
export function staticRegexReplace(
  input: TensorLike,
  pattern: string,
  rewrite: string,
  replaceGlobal = true,
): Tensor {
  const text = toInput(input, "input", "staticRegexReplace", { dtype: "string" });
  return apply1(StaticRegexReplace, [text], { pattern, rewrite, replace_global: replaceGlobal });
}

/**
 * Maps each string to a bucket in `[0, numBuckets)` by TensorFlow's hash; int32. Throws `ValueError` where there are no
 * buckets. TensorFlow op `StringToHashBucketFast`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.string.stringToHashBucketFast(["a", "b", "c", "d"], 10).arraySync()); // [9, 2, 2, 5]
 * ```
 */
export function stringToHashBucketFast(input: TensorLike, numBuckets: number): Tensor {
  wantNumber(numBuckets, "numBuckets", "stringToHashBucketFast");
  if (!(Number.isInteger(numBuckets) && numBuckets > 0)) {
    throw new ValueError(
      `Cannot hash into ${numBuckets} buckets: Number of buckets must be at least 1`,
    );
  }
  const text = toInput(input, "input", "stringToHashBucketFast", { dtype: "string" });
  return narrowed(apply1(StringToHashBucketFast, [text], { num_buckets: numBuckets }));
}
