/** csv as TensorFlow.js takes it: columns by their configurations, labels apart. */
import { argumentsCheck, optionCheck } from "../../../engine/core/arguments.ts";
import { describe } from "../../../engine/core/convert.ts";
import { asDType, type DType } from "../../../engine/core/dtype.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import { isPlainObject } from "../../../engine/core/nest.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import { FILE_OPTIONS, type FileOptions } from "./files.ts";

/** Configuration of a column, as TensorFlow.js has it. */
export interface CsvColumnConfig {
  /** Default: float32, or as the default value is. */
  readonly dtype?: DType;
  /** The value of an empty field. Default: NaN for floats, an empty text for strings, an error for others. */
  readonly default?: string | number | boolean;
  /** True: an empty field without a default is an error. Default false. */
  readonly required?: boolean;
  /** True: the column is a label. Elements are then `{ xs, ys }`, with labels in `ys`. Default false. */
  readonly isLabel?: boolean;
}

/** Options of `csv` by the names of TensorFlow.js. */
export interface CsvConfig extends FileOptions {
  /** Columns by their names. */
  readonly columnConfigs: Readonly<Record<string, CsvColumnConfig>>;
  /** True: columns without a configuration are left out. Default false: `columnNames` has to name them, and they hold numbers. */
  readonly configuredColumnsOnly?: boolean;
  /** Names of all columns in their order; those of the first line are not used then. */
  readonly columnNames?: readonly string[];
  /** False: files have no line of names. Default true. */
  readonly hasHeader?: boolean;
  /** The separator of fields. Default a comma. */
  readonly delimiter?: string;
  /** True: spaces and tabs separate fields, however many; `delimiter` is not given then. Default false. */
  readonly delimWhitespace?: boolean;
}

/** Names of labels, and of the other columns that have a configuration. */
export type CsvLabelNames<C> = {
  [K in keyof C]: C[K] extends { readonly isLabel: true } ? K : never;
}[keyof C];

/** Names of columns without a configuration. */
export type CsvOtherNames<O> = O extends { readonly configuredColumnsOnly: true } ? never
  : O extends { readonly columnNames: readonly (infer N)[] } ? N & string
  : never;

/** Tensors by the names of columns. */
export type CsvTensors<N extends PropertyKey> = { readonly [K in N]: Tensor };

/** The element of rows with these configurations. */
export type ConfiguredRow<O extends CsvConfig, C = O["columnConfigs"]> = [CsvLabelNames<C>] extends
  [never] ? CsvTensors<keyof C | CsvOtherNames<O>>
  : {
    readonly xs: CsvTensors<Exclude<keyof C | CsvOtherNames<O>, CsvLabelNames<C>>>;
    readonly ys: CsvTensors<CsvLabelNames<C>>;
  };

const checkConfig = argumentsCheck<CsvConfig>("csv", {
  columnConfigs: true,
  configuredColumnsOnly: true,
  columnNames: true,
  hasHeader: true,
  delimiter: true,
  delimWhitespace: true,
  ...FILE_OPTIONS,
});

const checkColumn = optionCheck<CsvColumnConfig>("a column of csv", {
  dtype: true,
  default: true,
  required: true,
  isLabel: true,
});

/** A column with its defaults filled in. */
export interface Column {
  readonly dtype: DType;
  /** The text for rows without a value; null where they are errors. */
  readonly missing: string | null;
  /** Its name, or its number from 0. */
  readonly key: string | number;
  /** True: numbers with a fraction are rounded down where the dtype has none, and what is no truth is false. */
  readonly isLoose?: boolean;
}

/** Columns of a file as configurations describe them. */
export interface Configured {
  /** In the order in which elements have them. */
  readonly columns: readonly Column[];
  readonly structure: object;
  /** Names of all columns, where the first line's are not used. */
  readonly names: readonly string[] | null;
}

/** Reads configurations. Throws `TypeError` and `ValueError` for columns that are none or are not known. */
export function configured(config: CsvConfig): Configured {
  checkConfig(config);
  const { columnConfigs, configuredColumnsOnly = false, columnNames, hasHeader = true } = config;
  if (config.delimWhitespace === true && config.delimiter !== undefined) {
    throw new ValueError("Cannot read csv: delimiter and delimWhitespace exclude each other");
  }
  if (!isPlainObject(columnConfigs)) {
    throw new TypeError(
      `Cannot read csv: columnConfigs must be an object of columns by name, received ${
        describe(columnConfigs)
      }`,
    );
  }
  const names = columnNames === undefined ? null : namesOf(columnNames);
  if (names === null && !hasHeader) {
    throw new ValueError("Cannot read csv without a header: wanted columnNames");
  }
  if (names === null && !configuredColumnsOnly) {
    throw new ValueError(
      "Cannot read csv: columns that columnConfigs leaves out are not known before a file is read: wanted configuredColumnsOnly: true, or columnNames with the names of all columns",
    );
  }
  for (const key of Object.keys(columnConfigs)) {
    if (names === null || names.includes(key)) continue;
    throw new ValueError(
      `Cannot read csv: columnConfigs has a column "${key}", which is not among columnNames ${
        names.join(", ")
      }`,
    );
  }
  const wanted = configuredColumnsOnly ? Object.keys(columnConfigs) : names!;
  if (wanted.length === 0) throw new ValueError("Cannot read csv: columnConfigs is empty");
  const isLabel = (name: string): boolean => columnConfigs[name]?.isLabel === true;
  const ys = wanted.filter(isLabel), xs = wanted.filter((name) => !isLabel(name));
  const structureOf = (keys: readonly string[]) => Object.fromEntries(keys.map((k) => [k, 0]));
  return {
    columns: [...xs.sort(), ...ys.sort()].map((name) => columnOf(name, columnConfigs[name] ?? {})),
    structure: ys.length === 0 ? structureOf(wanted) : { xs: structureOf(xs), ys: structureOf(ys) },
    names,
  };
}

function namesOf(names: unknown): readonly string[] {
  if (!Array.isArray(names) || names.some((name) => typeof name !== "string")) {
    throw new TypeError(
      `Cannot read csv: columnNames must be a list of texts, received ${describe(names)}`,
    );
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return names;
  throw new ValueError(`Cannot read csv: columnNames has "${twice}" twice`);
}

function columnOf(key: string, config: CsvColumnConfig): Column {
  if (!isPlainObject(config)) {
    throw new TypeError(
      `Cannot read column ${key} of csv: wanted { dtype, default, required, isLabel }, received ${
        describe(config)
      }`,
    );
  }
  checkColumn(config);
  const { default: given, required = false, isLabel = false } = config;
  const dtype = config.dtype === undefined
    ? dtypeOf(given as CsvColumnConfig["default"])
    : asDType(config.dtype);
  const empty = dtype === "string" ? "" : /float/.test(dtype) ? "NaN" : null;
  const missing = given !== undefined ? String(given) : required || isLabel ? null : empty;
  return { dtype, missing, key, isLoose: true };
}

function dtypeOf(value: CsvColumnConfig["default"]): DType {
  return typeof value === "string" ? "string" : typeof value === "boolean" ? "bool" : "float32";
}
