/** Texts and bytes as tensors, in the namespace `tf.io`: raw numbers, records of text, serialised and compressed tensors. On the host. */
import { optionCheck, wantList, wantString } from "../../core/arguments.ts";
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { describe } from "../../core/text.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { DecodePaddedRaw, DecodeRaw } from "../host/decode_raw.ts";
import { toIndexInput, toInput } from "../input.ts";
import { DecodeCSV } from "../text/csv.ts";
import { ParseTensor, SerializeTensor } from "../text/text_codes.ts";

/** A value whose strings are bytes: a tensor, a text, or bytes themselves. */
export const texts = (x: TensorLike, arg: string, fn: string): OpInput =>
  toInput(x, arg, fn, { dtype: "string" });

/** Options of {@linkcode decodeRaw}. */
export interface DecodeRawOptions {
  /** False: the most significant byte of a number comes first. Default true. */
  readonly littleEndian?: boolean;
  /** Number of bytes that are read of each string; shorter ones have zeros behind. Default: all, of strings of one length. */
  readonly fixedLength?: number | null;
}
const checkRaw = optionCheck<DecodeRawOptions>("io.decodeRaw", {
  littleEndian: true,
  fixedLength: true,
});

/**
 * The bytes of each string as numbers of `outType`, along one axis more. Throws `InvalidArgumentError` for strings of several lengths and
 * for lengths that are no multiple of a number's. TensorFlow ops `DecodeRaw`, `DecodePaddedRaw`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.io.decodeRaw("ABCD", "uint8").arraySync()); // [65, 66, 67, 68]
 * console.log(tf.io.decodeRaw("AB", "uint8", { fixedLength: 3 }).arraySync()); // [65, 66, 0]
 * ```
 */
export function decodeRaw(
  inputBytes: TensorLike,
  outType: DType,
  options: DecodeRawOptions = {},
): Tensor {
  checkRaw(options);
  const { littleEndian = true, fixedLength } = options, fn = "io.decodeRaw";
  const input = texts(inputBytes, "inputBytes", fn);
  const attrs = { out_type: dtypeOf(outType, "outType", fn), little_endian: littleEndian };
  if (fixedLength === undefined || fixedLength === null) return apply1(DecodeRaw, [input], attrs);
  return apply1(DecodePaddedRaw, [input, toIndexInput(fixedLength, "fixedLength", fn)], attrs);
}

/** Returns a dtype. Throws `TypeError` for what is none. */
export function dtypeOf(dtype: unknown, arg: string, fn: string): DType {
  if (typeof dtype === "string" && Object.hasOwn(DTYPES, dtype)) return dtype as DType;
  throw new TypeError(
    `Argument '${arg}' passed to '${fn}' must be a dtype, but got ${describe(dtype)}`,
  );
}

/** Options of {@linkcode decodeCsv}. */
export interface DecodeCsvOptions {
  /** The character between fields. Default `","`. */
  readonly fieldDelim?: string;
  /** False: quotes are characters as others are. Default true. */
  readonly useQuoteDelim?: boolean;
  /** A text that stands for no value, as an empty one does. Default `""`. */
  readonly naValue?: string;
  /** Numbers of the columns that are read, in rising order. Default all. */
  readonly selectCols?: readonly number[] | null;
}
const checkCsv = optionCheck<DecodeCsvOptions>("io.decodeCsv", {
  fieldDelim: true,
  useQuoteDelim: true,
  naValue: true,
  selectCols: true,
});

/**
 * The columns of records of text, each of the records' shape and of the dtype of its default. A default is a scalar or a list of one
 * value, which an empty field has; an empty tensor says that the field must be there. Throws `InvalidArgumentError` for records that have
 * not as many fields and for fields that are no numbers. TensorFlow op `DecodeCSV`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [n, name] = tf.io.decodeCsv(["1,one", ",'two'"], [tf.scalar(-1, "int32"), "none"]);
 * console.log(n.arraySync(), name.arraySync()); // [1, -1] ["one", "'two'"]
 * ```
 */
export function decodeCsv(
  records: TensorLike,
  recordDefaults: readonly TensorLike[],
  options: DecodeCsvOptions = {},
): Tensor[] {
  checkCsv(options);
  const fn = "io.decodeCsv", { fieldDelim = ",", naValue = "", selectCols } = options;
  wantString(fieldDelim, "fieldDelim", fn);
  wantString(naValue, "naValue", fn);
  wantList(recordDefaults, "recordDefaults", fn, "tensors");
  const columns = selectCols ?? [];
  wantList(columns, "selectCols", fn, "numbers");
  if (columns.some((c, i) => !Number.isInteger(c) || c <= (columns[i - 1] ?? -1))) {
    throw new ValueError(
      `Cannot apply ${fn}: selectCols must be whole numbers in rising order, received ${
        describe(columns)
      }`,
    );
  }
  if (columns.length > 0 && columns.length !== recordDefaults.length) {
    throw new ValueError(
      `Cannot apply ${fn}: wanted a default for each of ${columns.length} columns, received ${recordDefaults.length}`,
    );
  }
  const defaults = recordDefaults.map((x, i) => toInput(x, `recordDefaults[${i}]`, fn));
  return apply(DecodeCSV, [texts(records, "records", fn), ...defaults], {
    OUT_TYPE: defaults.map(({ dtype }) => dtype),
    field_delim: fieldDelim,
    use_quote_delim: options.useQuoteDelim ?? true,
    na_value: naValue,
    select_cols: columns,
  });
}

/**
 * A tensor as the bytes of TensorFlow's TensorProto, a scalar string, which {@linkcode parseTensor} reads. TensorFlow op
 * `SerializeTensor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = tf.io.serializeTensor([[1, 2]]);
 * console.log(tf.io.parseTensor(bytes, "float32").arraySync()); // [[1, 2]]
 * ```
 */
export function serializeTensor(tensor: TensorLike): Tensor {
  const input = toInput(tensor, "tensor", "io.serializeTensor");
  return apply1(SerializeTensor, [input], { T: input.dtype });
}

/**
 * The tensor of a TensorProto's bytes, a scalar string. Throws `InvalidArgumentError` for other bytes and for a tensor of another dtype.
 * TensorFlow op `ParseTensor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = tf.io.serializeTensor(tf.scalar(7, "int32"));
 * console.log(tf.io.parseTensor(bytes, "int32").item()); // 7
 * ```
 */
export function parseTensor(serialized: TensorLike, outType: DType): Tensor {
  const fn = "io.parseTensor";
  return apply1(ParseTensor, [texts(serialized, "serialized", fn)], {
    out_type: dtypeOf(outType, "outType", fn),
  });
}
