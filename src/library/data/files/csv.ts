/** csv and jsonl: rows of text as elements. */
import { decodeString } from "../../../engine/core/text.ts";
import { describe } from "../../../engine/core/convert.ts";
import {
  asDType,
  type DType,
  DTYPES,
  isBigInt,
  isDType,
  isFloating,
} from "../../../engine/core/dtype.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError, ValueError } from "../../../engine/core/errors.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import { isPlainObject } from "../../../engine/core/nest.ts";
import { argumentsCheck } from "../../../engine/core/arguments.ts";
import { TensorSpec } from "../../../engine/core/tensor_spec.ts";
import type { Tout } from "../../../engine/script/tout.ts";
import type { ByteSource } from "../../io/byte_stream.ts";
import { declaredType, hostArray } from "../element.ts";
import {
  FILE_OPTIONS,
  type FileKind,
  type FileOptions,
  type Files,
  filesSource,
  firstFile,
  lineKind,
  LineReader,
  scalarString,
} from "./files.ts";
import { declaredElement } from "../generator.ts";
import { type Delimiter, plainFields, QuotedRow, WHITESPACE } from "./csv_row.ts";
import { type Column, configured, type CsvConfig } from "./csv_config.ts";
import { Failure, type Outcome, outcomeOf, type Source, type State } from "../source.ts";

/** Type of a column: a dtype where every row must have a value, or the default value, or both. */
export type CsvColumn = DType | number | {
  readonly dtype: DType;
  readonly default?: string | number | bigint;
};

/** Options of {@linkcode csv}. */
export interface CsvOptions extends FileOptions {
  /** Columns in order, for elements that are lists; or by their names in the first line, for elements that are records. */
  readonly columns: readonly CsvColumn[] | Readonly<Record<string, CsvColumn>>;
  /** True: the first line of each file holds names. Default: where columns are named. */
  readonly header?: boolean;
  /** The separator of fields. Default a comma. */
  readonly fieldDelim?: string;
  /** False: quotes are ordinary characters. Default true. */
  readonly useQuoteDelim?: boolean;
  /** A text that stands for a missing value, beside the empty one. */
  readonly naValue?: string;
  /** Numbers of the columns to take, for columns in order. Default: the first ones. */
  readonly selectCols?: readonly number[];
}

const checkCsv = argumentsCheck<CsvOptions>("csv", {
  columns: true,
  header: true,
  fieldDelim: true,
  useQuoteDelim: true,
  naValue: true,
  selectCols: true,
  ...FILE_OPTIONS,
});

function columnOf(given: CsvColumn, key: string | number): Column {
  if (typeof given === "number") return { dtype: "float32", missing: String(given), key };
  if (isDType(given)) return { dtype: asDType(given), missing: null, key };
  if (!isPlainObject(given)) {
    throw new TypeError(
      `Cannot read column ${key} of csv: wanted a dtype, a number, or { dtype, default }, received ${
        describe(given)
      }`,
    );
  }
  const { dtype, default: missing } = given as { dtype: DType; default?: string | number | bigint };
  return { dtype: asDType(dtype), missing: missing === undefined ? null : String(missing), key };
}

/** The rows of CSV files, and the names of their columns. */
export interface CsvRows {
  readonly source: Source;
  readonly columnNames: () => Promise<string[]>;
}

/** Reads the rows of CSV files. */
export function csvRows(files: Files, options: CsvOptions | CsvConfig): CsvRows {
  if (isPlainObject(options) && "columnConfigs" in options) {
    const { columns, structure, names } = configured(options as CsvConfig);
    const { hasHeader: header = true, delimiter = ",", columnConfigs } = options as CsvConfig;
    const { delimWhitespace: isSpaced = false, configuredColumnsOnly: onlyConfigured } =
      options as CsvConfig;
    checkDelimiter("delimiter", delimiter);
    const format: CsvFormat = {
      ...PLAIN,
      columns,
      names,
      header,
      delimiter: isSpaced ? WHITESPACE : delimiter,
    };
    const known = onlyConfigured ? Object.keys(columnConfigs) : names!;
    return rowsOf(files, { options, structure, format, known });
  }
  return listedRows(files, options as CsvOptions);
}

/** Parts of a format that configurations do not change. */
const PLAIN = { names: null, useQuoteDelim: true, naValue: "" };

function listedRows(files: Files, options: CsvOptions): CsvRows {
  if (options === undefined) {
    throw new TypeError(
      'Cannot read csv without options: wanted columns, as in { columns: { label: "int32", text: "string" } }',
    );
  }
  checkCsv(options);
  const { columns: given, fieldDelim = ",", useQuoteDelim = true, naValue = "" } = options;
  const { selectCols } = options;
  checkDelimiter("fieldDelim", fieldDelim);
  const isList = Array.isArray(given);
  if (!isList && !isPlainObject(given)) {
    throw new TypeError(
      `Cannot read csv: columns must say what is read, as in { label: "int32", text: "string" }, received ${
        describe(given)
      }`,
    );
  }
  const columns = isList
    ? given.map((column: CsvColumn, i) => columnOf(column, selectCols?.[i] ?? i))
    : Object.keys(given).sort().map((name) =>
      columnOf((given as Record<string, CsvColumn>)[name], name)
    );
  if (columns.length === 0) throw new ValueError("Cannot read csv: columns are empty");
  if (selectCols && (!isList || selectCols.length !== columns.length)) {
    throw new ValueError(
      `Cannot read csv: selectCols has ${selectCols.length} numbers for ${columns.length} columns`,
    );
  }
  const header = options.header ?? !isList;
  if (!isList && !header) {
    throw new ValueError("Cannot read csv: columns are named, but header is false");
  }
  const structure = isList
    ? columns.map(() => 0)
    : Object.fromEntries(Object.keys(given).map((name) => [name, 0]));
  const format = { names: null, columns, header, delimiter: fieldDelim, useQuoteDelim, naValue };
  return rowsOf(files, { options, structure, format, known: null });
}

/** Throws `ValueError` for a separator of fields that is none. */
function checkDelimiter(option: string, delimiter: string): void {
  if (typeof delimiter === "string" && delimiter.length === 1) return;
  throw new ValueError(
    `Cannot read csv: ${option} must be one character, received ${describe(delimiter)}`,
  );
}

/** Rows as they are asked for. */
interface AskedRows {
  readonly options: FileOptions;
  readonly structure: object;
  readonly format: CsvFormat;
  /** Names of the columns, where no file has to be read for them. */
  readonly known: readonly string[] | null;
}

function rowsOf(files: Files, { options, structure, format, known }: AskedRows): CsvRows {
  const kind: FileKind = {
    kind: "CSV",
    specs: format.columns.map(({ dtype }) => TensorSpec([], dtype)),
    structure,
    open(file: ByteSource, state?: State) {
      const { lines, order } = (state ?? { lines: [0, 0], order: null }) as CsvState;
      return new CsvReader(new LineReader(file, options.compression, lines), format, order);
    },
  };
  const columnNames = async (): Promise<string[]> => {
    if (known !== null) return [...known];
    if (!format.header) {
      throw new ValueError("Cannot tell the columnNames of csv: its files have no line of names");
    }
    const lines = new LineReader(await firstFile(files), options.compression, [0, 0]);
    const reader = new CsvReader(lines, format, null);
    try {
      return await reader.names() ?? [];
    } finally {
      await reader.close();
    }
  };
  return { source: filesSource(files, kind, options), columnNames };
}

type CsvState = { readonly lines: [number, number]; readonly order: readonly number[] | null };

interface CsvFormat extends Required<Pick<CsvOptions, "header" | "useQuoteDelim" | "naValue">> {
  readonly columns: readonly Column[];
  readonly delimiter: Delimiter;
  /** Names of all columns; null for those of the first line. */
  readonly names: readonly string[] | null;
}

class CsvReader {
  readonly #lines: LineReader;
  readonly #format: CsvFormat;
  /** Position of each column in a row; null before the first line was read. */
  #order: readonly number[] | null;

  constructor(lines: LineReader, format: CsvFormat, order: readonly number[] | null) {
    this.#lines = lines;
    this.#format = format;
    const fixed = typeof format.columns[0].key === "number" && !format.header
      ? format.columns.map(({ key }) => key as number)
      : null;
    this.#order = order ?? fixed;
  }

  get position(): CsvState {
    return { lines: this.#lines.position, order: this.#order };
  }
  close(): Promise<void> {
    return this.#lines.close();
  }

  async next(): Promise<Outcome | null> {
    const order = this.#order ??= await this.#readHeader();
    for (;;) {
      const fields = await this.#row();
      if (fields === null) return null;
      if (fields.length === 1 && fields[0] === "") continue;
      return outcomeOf(() =>
        this.#format.columns.map((column, i) => this.#value(column, fields[order[i]]))
      );
    }
  }

  /** Reads the line of names, which is the first; null for an empty file. */
  async names(): Promise<string[] | null> {
    const read = await this.#row();
    // Spreadsheets begin files with a byte order mark.
    if (read) read[0] = read[0].replace(/^\ufeff/, "");
    return read;
  }

  async #readHeader(): Promise<number[]> {
    const read = this.#format.header ? await this.names() : null, given = this.#format.names;
    if (read && given && read.length !== given.length) {
      throw this.#refused(`it has ${read.length} columns, columnNames ${given.length}`);
    }
    const names = given ?? read;
    return this.#format.columns.map(({ key }) => {
      const at = typeof key === "number" ? key : names?.indexOf(key) ?? -1;
      if (at >= 0) return at;
      if (names === null) throw this.#refused(`the file is empty, wanted a column "${key}"`);
      const among = names.join(", ") + this.#otherDelimiter(names);
      throw this.#refused(`there is no column "${key}" among ${among}`);
    });
  }

  /** Says that a header of one name looks like several, parted by what spreadsheets write besides commas. */
  #otherDelimiter(names: readonly string[]): string {
    const other = names.length > 1 ? undefined : [";", "\t", "|"].find((c) => names[0].includes(c));
    if (other === undefined || other === this.#format.delimiter) return "";
    const text = JSON.stringify(other);
    return `; if ${text} parts them, give it as fieldDelim, beside columnConfigs as delimiter`;
  }

  /** Makes the error of an invalid row, at the last line unless another place is named. */
  #refused(why: string, place = this.#lines.place): InvalidArgumentError {
    return new InvalidArgumentError(`Cannot read ${place}: ${why}`, { op: "CSVDataset" });
  }

  /** Reads the fields of the next row, which spans several lines where a quoted field does. */
  async #row(): Promise<string[] | null> {
    const line = await this.#lines.next();
    if (line === null) return null;
    const text = decodeString(line);
    const { delimiter, useQuoteDelim } = this.#format;
    if (!useQuoteDelim || !text.includes('"')) return plainFields(text, delimiter);
    const { place } = this.#lines, row = new QuotedRow(delimiter);
    for (let more: string | null = text; more !== null;) {
      const fault = row.add(more);
      if (fault !== null) throw this.#refused(fault, place);
      if (!row.isOpen) return row.fields;
      const next = await this.#lines.next();
      more = next && decodeString(next);
    }
    throw this.#refused("Quoted field has to end with quote followed by delim or end", place);
  }

  #value({ dtype, missing, key, isLoose = false }: Column, field: string | undefined): NdArray {
    const fail = (why: string): never => {
      throw this.#refused(`field ${JSON.stringify(key)} ${why}`);
    };
    if (field === undefined && (missing === null || isLoose)) {
      return fail("is not there: the row is too short");
    }
    const isMissing = field === undefined || field === "" || field === this.#format.naValue;
    if (isMissing && missing === null) {
      if (dtype === "string" && field !== undefined && !isLoose) return scalarString(field);
      return fail("is required but missing: its column may have a default");
    }
    const text = isMissing ? missing! : field;
    if (dtype === "string") return scalarString(text);
    const value = (isLoose ? looseNumberOf : numberOf)(text.trim(), dtype);
    if (value === null) {
      return fail(
        `is no ${dtype}: ${JSON.stringify(text)}${isLoose ? ', which dtype: "string" reads' : ""}`,
      );
    }
    try {
      return hostArray(value, dtype);
    } catch (_) {
      return fail(`is no ${dtype}: ${JSON.stringify(text)}`);
    }
  }
}

function numberOf(text: string, dtype: DType): number | bigint | boolean | null {
  if (DTYPES[dtype].kind === "bool") {
    return { true: true, false: false, 1: true, 0: false }[text.toLowerCase()] ?? null;
  }
  if (isFloating(dtype)) {
    if (/^[+-]?nan$/i.test(text)) return NaN;
    const infinite = /^([+-]?)inf(inity)?$/i.exec(text);
    if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : null;
  }
  if (!/^[+-]?\d+$/.test(text)) return null;
  return isBigInt(dtype) ? BigInt(text.replace(/^\+/, "")) : Number(text);
}

/** Reads a number as TensorFlow.js does: integers are rounded down, and true is `true` or 1. */
function looseNumberOf(text: string, dtype: DType): number | bigint | boolean | null {
  if (DTYPES[dtype].kind === "bool") return /^(true|1)$/i.test(text);
  const exact = numberOf(text, dtype);
  if (exact !== null || isFloating(dtype)) return exact;
  const value = numberOf(text, "float64");
  return typeof value === "number" && Number.isFinite(value) && !isBigInt(dtype)
    ? Math.floor(value)
    : null;
}

/** Options of {@linkcode jsonl}. */
export interface JsonlOptions<T extends Tout = Tout> extends FileOptions {
  /** Spec or dtype of a line, or a list or record of them. Other keys of its objects are left out. */
  readonly outputSignature: T;
}

const checkJsonl = argumentsCheck<JsonlOptions>("jsonl", {
  outputSignature: true,
  ...FILE_OPTIONS,
});

/** Reads the lines of files of JSON. */
export function jsonlSource(files: Files, options: JsonlOptions): Source {
  if (options?.outputSignature === undefined) {
    throw new TypeError(
      'Cannot read jsonl without outputSignature: wanted what a line holds, as in { outputSignature: { text: "string" } }',
    );
  }
  checkJsonl(options);
  const type = declaredType(options.outputSignature), { structure } = type;
  const read = (line: Uint8Array, lines: LineReader): Outcome | null | Promise<Outcome> => {
    const text = decodeString(line);
    if (text.trim() === "") return null;
    const { place } = lines;
    const refused = (cause: unknown): Failure => {
      const message = `Cannot read ${place}: ${cause instanceof Error ? cause.message : cause}`;
      return new Failure(new InvalidArgumentError(message, { op: "JsonLinesDataset", cause }));
    };
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return refused(error);
    }
    return declaredElement(picked(value, structure), type, "the line holds").catch(refused);
  };
  return filesSource(
    files,
    lineKind("JsonLines", type, { compression: options.compression, read }),
    options,
  );
}

/** Keeps the keys of objects that a structure has. */
function picked(value: unknown, structure: unknown): unknown {
  if (Array.isArray(structure) && Array.isArray(value)) {
    return value.length === structure.length ? value.map((v, i) => picked(v, structure[i])) : value;
  }
  if (!isPlainObject(structure) || !isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.keys(structure).filter((key) => Object.hasOwn(value, key))
      .map((key) => [key, picked(value[key], structure[key])]),
  );
}
