/**
 * Tables from text files: columns of lines as keys and values. Follows TensorFlow `lookup_util.cc` and `tf.lookup.TextFileInitializer`.
 */
import { optionCheck, wantNumber, wantString } from "../../engine/core/arguments.ts";
import { asDType, type DType, DTYPES } from "../../engine/core/dtype.ts";
import { InvalidArgumentError, ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { decodeString } from "../../engine/core/text.ts";
import { KeyValueTensorInitializer } from "../../engine/ops/text/lookup.ts";
import { type FileSource, readSource } from "./source.ts";

/** Special columns: the number of the line, and the whole line. */
const LINE_NUMBER = -1, WHOLE_LINE = -2;

/** Special columns of text files, for `keyIndex` and `valueIndex`. Follows TensorFlow `tf.lookup.TextFileIndex`. */
export const TextFileIndex: {
  /** The whole line, of dtype string. */
  readonly WHOLE_LINE: -2;
  /** The number of the line from 0 on, of an integer dtype. */
  readonly LINE_NUMBER: -1;
} = { WHOLE_LINE, LINE_NUMBER };

/** Options of {@linkcode textFileInitializer}. */
export interface TextFileOptions {
  /** Dtype of keys. Default string. */
  readonly keyDtype?: DType;
  /** Column of keys, from 0 on, or one of `TextFileIndex`. Default the whole line. */
  readonly keyIndex?: number;
  /** Dtype of values. Default int64. */
  readonly valueDtype?: DType;
  /** Column of values, from 0 on, or one of `TextFileIndex`. Default the number of the line. */
  readonly valueIndex?: number;
  /** Number of lines that are read. Default all. */
  readonly vocabSize?: number;
  /** Character between columns. Default a tab. */
  readonly delimiter?: string;
}

const checkOptions = optionCheck<TextFileOptions>("textFileInitializer", {
  keyDtype: true,
  keyIndex: true,
  valueDtype: true,
  valueIndex: true,
  vocabSize: true,
  delimiter: true,
});

/**
 * Reads keys and values of a table from the lines of a file: a path, a URL, bytes or a blob. Without options the lines are the keys, and
 * their numbers the values. Follows TensorFlow `tf.lookup.TextFileInitializer`; it gives a promise, as files are read asynchronously.
 * Rejects with `NotFoundError` where there is no file, `InvalidArgumentError` for a line without the column or with a text in place of
 * a number, and for fewer lines than `vocabSize`, `ValueError` for a dtype that a special column has not.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const file = new Blob(["emerson\t10\nlake\t20\npalmer\t30\n"]);
 * const init = await tf.lookup.textFileInitializer(file, { keyIndex: 0, valueIndex: 1 });
 * const table = new tf.lookup.StaticHashTable(init, -1);
 * console.log(table.lookup(["palmer", "nash"]).arraySync()); // [30n, -1n]
 *
 * const words = await tf.lookup.textFileInitializer(new Blob(["the\ndog\n"]));
 * const vocabulary = new tf.lookup.StaticVocabularyTable(words, 1);
 * console.log(vocabulary.lookup(["dog", "cat"]).arraySync()); // [1n, 2n]
 * ```
 */
export async function textFileInitializer(
  source: FileSource,
  options: TextFileOptions = {},
): Promise<KeyValueTensorInitializer> {
  checkOptions(options);
  const { vocabSize, delimiter = "\t" } = options;
  const fn = "textFileInitializer";
  wantString(delimiter, "delimiter", fn);
  if (new TextEncoder().encode(delimiter).length !== 1) {
    throw new ValueError(
      `Cannot read a table: delimiter must be one byte, received ${JSON.stringify(delimiter)}`,
    );
  }
  if (vocabSize !== undefined && !(Number.isInteger(vocabSize) && vocabSize > 0)) {
    wantNumber(vocabSize, "vocabSize", fn);
    throw new ValueError(
      `Cannot read a table: vocabSize must be an integer above 0, received ${vocabSize}`,
    );
  }
  const key = columnOption("key", options.keyIndex ?? WHOLE_LINE, options.keyDtype ?? "string");
  const value = columnOption(
    "value",
    options.valueIndex ?? LINE_NUMBER,
    options.valueDtype ?? "int64",
  );
  const { bytes, name: path } = await readSource(source);
  const lines = linesOf(bytes);
  if (vocabSize !== undefined && vocabSize > lines.length) {
    throw new InvalidArgumentError(
      `Cannot read a table: ${path} has ${lines.length} lines, wanted ${vocabSize}`,
    );
  }
  const used = lines.slice(0, vocabSize);
  const [keys, values] = [key, value].map((column) =>
    columnOf(used, { ...column, delimiter, path })
  );
  return new KeyValueTensorInitializer(keys, values);
}

function columnOption(
  of: "key" | "value",
  index: number,
  dtype: DType,
): { index: number; dtype: DType } {
  wantNumber(index, `${of}Index`, "textFileInitializer");
  const known = asDType(dtype), { kind } = DTYPES[known];
  if (!Number.isInteger(index) || index < WHOLE_LINE) {
    throw new ValueError(
      `Cannot read a table: ${of}Index must be a column from 0 on or one of TextFileIndex, received ${index}`,
    );
  }
  if (index === WHOLE_LINE && kind !== "string" || index === LINE_NUMBER && kind !== "int") {
    throw new ValueError(
      `Cannot read a table: ${of}Dtype of ${
        index === WHOLE_LINE ? "whole lines must be string" : "numbers of lines must be an integer"
      }, received ${known}`,
    );
  }
  return { index, dtype: known };
}

/** Splits bytes into lines; a line feed at the end begins no further one. */
export function linesOf(bytes: Uint8Array): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(10, from), to = end < 0 ? bytes.length : end;
    out.push(bytes.subarray(from, bytes[to - 1] === 13 && to > from ? to - 1 : to));
    from = to + 1;
  }
  return out;
}

/** A column of a file. */
export interface Column {
  readonly index: number;
  readonly delimiter: string;
  readonly dtype: DType;
  readonly path: string;
}

/** Returns a column of lines. Throws `InvalidArgumentError` for a line without it, and for one that is no number where numbers are wanted. */
export function columnOf(
  lines: readonly Uint8Array[],
  { index, delimiter, dtype, path }: Column,
): NdArray {
  const cells = lines.map((line, i): Uint8Array | number => {
    if (index === LINE_NUMBER) return i;
    if (index === WHOLE_LINE) return line;
    const cell = split(line, delimiter.charCodeAt(0))[index];
    if (cell !== undefined) return cell;
    throw new InvalidArgumentError(`Invalid number of columns in ${path} line ${i}: no ${index}`);
  });
  if (dtype === "string") {
    const texts = cells.map((c) => typeof c === "number" ? new TextEncoder().encode(`${c}`) : c);
    return new NdArray("string", [texts.length], texts);
  }
  const out = NdArray.zeros(dtype, [cells.length]), data = out.data as { [i: number]: unknown };
  cells.forEach((cell, i) => {
    const text = typeof cell === "number" ? String(cell) : decodeString(cell).trim();
    const number = text === "" ? NaN : Number(text);
    const isWhole = DTYPES[dtype].kind !== "int" || Number.isSafeInteger(number);
    if (Number.isNaN(number) || !isWhole) {
      throw new InvalidArgumentError(
        `Field ${text} in line ${i} of ${path} is not a valid ${dtype}`,
      );
    }
    data[i] = data instanceof BigInt64Array ? BigInt(text) : number;
  });
  return out;
}

function split(line: Uint8Array, delimiter: number): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let from = 0;;) {
    const at = line.indexOf(delimiter, from);
    out.push(line.subarray(from, at < 0 ? line.length : at));
    if (at < 0) return out;
    from = at + 1;
  }
}
