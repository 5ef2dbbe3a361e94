/** Datasets of files: their names, their bytes, and the lines, records and rows in them. */
import { optionCheck, wantMade } from "../../../engine/core/arguments.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { Tout } from "../../../engine/script/tout.ts";
import { Dataset } from "../dataset.ts";
import type { TensorsOfSpec } from "../element.ts";
import { shuffleSource } from "../shuffle.ts";
import { type CsvOptions, type CsvRows, csvRows, type JsonlOptions, jsonlSource } from "./csv.ts";
import type { ConfiguredRow, CsvConfig } from "./csv_config.ts";
import {
  contentsSource,
  type FileOptions,
  type Files,
  type FromFilesOptions,
  linesSource,
  recordsSource,
} from "./files.ts";
import { listSource } from "./list_files.ts";

export type { CsvColumn, CsvOptions, JsonlOptions } from "./csv.ts";
export type {
  ConfiguredRow,
  CsvColumnConfig,
  CsvConfig,
  CsvLabelNames,
  CsvOtherNames,
  CsvTensors,
} from "./csv_config.ts";
export type { FileOptions, Files, FromFilesOptions } from "./files.ts";

/** Options of {@linkcode listFiles}. */
export interface ListFilesOptions {
  /** False: the paths come sorted. Default true, as in TensorFlow. */
  readonly shuffle?: boolean;
  /** Makes the order reproducible. Default: the global seed does, where one is set. */
  readonly seed?: number | string;
}

const checkListFiles = optionCheck<ListFilesOptions>("listFiles", { shuffle: true, seed: true });

/**
 * The paths of files that fit a pattern, or one of several: `*` and `?` within a name, `[ab]`, `{jpg,png}`, and double asterisks for any
 * folders. They are shuffled anew in each pass unless `shuffle` is false. An iteration rejects with `NotFoundError` where nothing fits.
 * Needs Deno or Node. Follows TensorFlow `tf.data.Dataset.list_files`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const folder = await Deno.makeTempDir();
 * for (const name of ["a.txt", "b.txt", "c.md"]) await Deno.writeTextFile(`${folder}/${name}`, name);
 * const files = tf.data.listFiles(`${folder}/*.txt`, { shuffle: false });
 * const names = await Array.fromAsync(files.asNumpyIterator(), (path) => path.text().slice(-5));
 * console.log(names); // ["a.txt", "b.txt"]
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export function listFiles(
  pattern: string | readonly string[],
  options: ListFilesOptions = {},
): Dataset<Tensor> {
  checkListFiles(options);
  const { shuffle = true, ...seeded } = options;
  const files = listSource(typeof pattern === "string" ? [pattern] : pattern);
  return new Dataset<Tensor>(shuffle ? shuffleSource(files, LARGEST_BUFFER, seeded) : files);
}

/** A buffer size without a bound. */
const LARGEST_BUFFER = Number.MAX_SAFE_INTEGER;

/**
 * A record of `path` and `contents`, both strings, for each file: of paths, URLs, blobs, arrays of bytes, or a dataset of paths. An iteration
 * rejects with `NotFoundError` for a file that is not there, `DataLossError` where it cannot be decompressed.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const files = tf.data.fromFiles([new TextEncoder().encode("bytes")]);
 * for await (const { contents } of files.asNumpyIterator()) console.log(contents.text()); // bytes
 * ```
 */
export function fromFiles(
  files: Files,
  options: FromFilesOptions = {},
): Dataset<{ readonly path: Tensor; readonly contents: Tensor }> {
  return new Dataset(contentsSource(files, options));
}

/**
 * The lines of text files as strings, without their ends. An iteration rejects with `NotFoundError` for a file that is not there.
 * Follows TensorFlow `tf.data.TextLineDataset`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const lines = tf.data.textLines(new Blob(["one\ntwo\r\n"]));
 * console.log(await Array.fromAsync(lines.asNumpyIterator(), (line) => line.text())); // ["one", "two"]
 * ```
 */
export function textLines(files: Files, options: FileOptions = {}): Dataset<Tensor> {
  return new Dataset<Tensor>(linesSource(files, options));
}

/**
 * The records of TFRecord files as strings of bytes. An iteration rejects with `DataLossError` for a record that is cut off or whose checksum
 * is wrong. Follows TensorFlow `tf.data.TFRecordDataset`; {@linkcode TFRecordWriter} writes such files.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const path = await Deno.makeTempFile();
 * const writer = new tf.io.TFRecordWriter(path);
 * for (const text of ["a", "b"]) await writer.write(text);
 * await writer.close();
 * console.log(await Array.fromAsync(tf.data.tfrecord(path).asNumpyIterator(), (x) => x.text())); // ["a", "b"]
 * await Deno.remove(path);
 * ```
 */
export function tfrecord(files: Files, options: FileOptions = {}): Dataset<Tensor> {
  return new Dataset<Tensor>(recordsSource(files, options));
}

/** The rows of CSV files, of {@linkcode csv}: a dataset that knows the names of its columns. */
export class CsvDataset<E> extends Dataset<E> {
  readonly #names: () => Promise<string[]>;

  /** @internal */
  constructor(rows: CsvRows) {
    wantMade(rows, "source", {
      arg: "rows",
      fn: "new CsvDataset()",
      wanted: "made by tf.data.csv()",
    });
    super(rows.source);
    this.#names = rows.columnNames;
  }

  /**
   * The names of all columns in their order: of the first line of the first file, or of the option `columnNames`; with `configuredColumnsOnly`
   * those of `columnConfigs`. Rejects with `ValueError` where files have no line of names. Follows TensorFlow.js `CSVDataset.columnNames`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const rows = tf.data.csv(new Blob(["name,age\nAnn,31\n"]), { columns: { age: "int32" } });
   * console.log(await rows.columnNames()); // ["name", "age"]
   * ```
   */
  columnNames(): Promise<string[]> {
    return this.#names();
  }
}

/** The element of rows with these columns. */
export type CsvElement<C> = { readonly [K in keyof C]: Tensor };

/**
 * The rows of CSV files: lists by the order of columns, or records by the names in the first line. Quoted fields may hold delimiters, quotes
 * written twice, and line ends. An iteration rejects with `InvalidArgumentError`, which names file and line, for a field that is
 * missing or does not convert. Follows TensorFlow `tf.data.experimental.CsvDataset`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const file = new Blob(["name,age\nAnn,31\n\"B, C\",\n"]);
 * const rows = tf.data.csv(file, { columns: { name: "string", age: { dtype: "int32", default: -1 } } });
 * const seen = await Array.fromAsync(rows.asNumpyIterator(), ({ name, age }) => [name.text(), age.item()]);
 * console.log(seen); // [["Ann", 31], ["B, C", -1]]
 * ```
 */
export function csv<const O extends CsvOptions>(
  files: Files,
  options: O,
): CsvDataset<CsvElement<O["columns"]>>;
/**
 * The rows of CSV files by TensorFlow.js' options: `columnConfigs` says what columns are, and labels stand apart, as in `{ xs, ys }`.
 * Each element is a tensor, so a column has one dtype: float32, unless its configuration or its default says otherwise.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const file = new Blob(["area,rooms,price\n50,2,9\n80,,14\n"]);
 * const rows = tf.data.csv(file, {
 *   columnConfigs: { area: {}, rooms: { default: 1 }, price: { isLabel: true } },
 *   configuredColumnsOnly: true,
 * });
 * const seen = await Array.fromAsync(rows.asNumpyIterator(), ({ xs, ys }) => [xs.rooms.item(), ys.price.item()]);
 * console.log(seen); // [[2, 9], [1, 14]]
 * ```
 */
export function csv<const O extends CsvConfig>(
  files: Files,
  options: O,
): CsvDataset<ConfiguredRow<O>>;
export function csv(files: Files, options: CsvOptions | CsvConfig): unknown {
  return new CsvDataset(csvRows(files, options));
}

/**
 * The lines of files of JSON values, as `outputSignature` declares them. Keys of objects that it does not name are left out, empty lines
 * too. An iteration rejects with `InvalidArgumentError`, which names file and line, for what is no JSON or does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const file = new Blob(['{"text": "hi", "label": 1}\n']);
 * const rows = tf.data.jsonl(file, { outputSignature: { text: "string", label: tf.TensorSpec([], "int32") } });
 * for await (using row of rows) console.log(row.label.item()); // 1
 * ```
 */
export function jsonl<const T extends Tout>(
  files: Files,
  options: JsonlOptions<T>,
): Dataset<TensorsOfSpec<T>> {
  return new Dataset<TensorsOfSpec<T>>(jsonlSource(files, options));
}
