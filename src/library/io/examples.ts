/** tf.io.parseExample and its siblings: records of `tf.train.Example`, read into tensors and written. */
import { apply, compose, type OpInput } from "../../engine/core/apply.ts";
import { packComponents } from "../../engine/core/composite.ts";
import { describe, toNdArray } from "../../engine/core/convert.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import {
  isConcrete,
  type PartialShape,
  type Shape,
  shapeText,
  sizeOf,
} from "../../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { type Feature, ParseExampleV2, writeExample } from "../../engine/ops/decode/mod.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { type RaggedTensor, RaggedTensorSpec } from "../../engine/ops/ragged/ragged_tensor.ts";
import { type SparseTensor, SparseTensorSpec } from "../../engine/ops/ragged/sparse_tensor.ts";
import type { Bytes } from "./bytes.ts";
import type { Contents } from "./image_ops.ts";
import { brief } from "../../engine/core/text.ts";

/** Dtypes that examples have. */
export type ExampleDType = "float32" | "int64" | "string";

/** A feature of a known shape, a tensor. */
export interface FixedLenFeature {
  /** The kind of feature. */
  readonly kind: "fixedLen";
  /** Its shape in one example. */
  readonly shape: Shape;
  readonly dtype: ExampleDType;
  /** The value of examples without it; if absent, such examples are refused. */
  readonly defaultValue?: TensorLike | undefined;
}

/** A feature of any number of values, a sparse tensor. */
export interface VarLenFeature {
  /** The kind of feature. */
  readonly kind: "varLen";
  readonly dtype: ExampleDType;
}

/** A feature of any number of equal parts, a tensor padded to the longest. */
export interface FixedLenSequenceFeature {
  /** The kind of feature. */
  readonly kind: "sequence";
  /** The shape of a part. */
  readonly shape: Shape;
  readonly dtype: ExampleDType;
  /** The padding of shorter ones. */
  readonly defaultValue?: TensorLike | undefined;
}

/** A feature of any number of values, a row of a ragged tensor. */
export interface RaggedFeature {
  /** The kind of feature. */
  readonly kind: "ragged";
  readonly dtype: ExampleDType;
  /** Its name in the examples, where that differs. */
  readonly valueKey?: string | undefined;
}

/** Features by name. */
export type ExampleFeatures = Readonly<
  Record<string, FixedLenFeature | VarLenFeature | FixedLenSequenceFeature | RaggedFeature>
>;

/** The results of features; `Ragged` is the type of a ragged one's. */
export type ParsedExample<F extends ExampleFeatures, Ragged = RaggedTensor> = {
  readonly [K in keyof F]: F[K] extends VarLenFeature ? SparseTensor
    : F[K] extends RaggedFeature ? Ragged
    : Tensor;
};

/**
 * Makes a feature that has this shape in each example; `defaultValue` is for examples without it. Follows TensorFlow
 * `tf.io.FixedLenFeature`.
 */
export function FixedLenFeature(
  shape: Shape,
  dtype: ExampleDType,
  defaultValue?: TensorLike,
): FixedLenFeature {
  return { kind: "fixedLen", shape, dtype: exampleDType(dtype), defaultValue };
}

/**
 * Makes a feature of any number of values, which becomes a `tf.SparseTensor`. Follows TensorFlow `tf.io.VarLenFeature`.
 */
export function VarLenFeature(dtype: ExampleDType): VarLenFeature {
  return { kind: "varLen", dtype: exampleDType(dtype) };
}

/**
 * Makes a feature of any number of parts of this shape, padded with `defaultValue` to the longest; also where it is
 * missing, which TensorFlow allows only with `allow_missing`. Follows TensorFlow `tf.io.FixedLenSequenceFeature`.
 */
export function FixedLenSequenceFeature(
  shape: Shape,
  dtype: ExampleDType,
  defaultValue?: TensorLike,
): FixedLenSequenceFeature {
  return { kind: "sequence", shape, dtype: exampleDType(dtype), defaultValue };
}

/**
 * Makes a feature of any number of values, which becomes a row of a `tf.RaggedTensor`; `valueKey` is its name in the
 * examples where that differs. Follows TensorFlow `tf.io.RaggedFeature`, without partitions.
 */
export function RaggedFeature(dtype: ExampleDType, valueKey?: string): RaggedFeature {
  return { kind: "ragged", dtype: exampleDType(dtype), valueKey };
}

function exampleDType(dtype: DType): ExampleDType {
  if (dtype === "float32" || dtype === "int64" || dtype === "string") return dtype;
  throw new ValueError(
    `Argument \`dtype\` must be int64, float32 or string, which examples hold: received ${
      brief(dtype)
    }, cast what is parsed`,
  );
}

/** Options of {@linkcode parseExample}. */
export interface ParseExampleOptions {
  /** Names of the examples in errors. */
  readonly exampleNames?: TensorLike;
}

const checkOptions = optionCheck<ParseExampleOptions>("parseExample", { exampleNames: true });

/**
 * Parses a vector of records of `tf.train.Example`, such as a batch of `tf.data.tfrecord`: a tensor for each feature of
 * known length, a `SparseTensor` or `RaggedTensor` for the others. Runs on the host, in graphs and pipelines too.
 * Throws `InvalidArgumentError` with TensorFlow's words for records that lack a feature, have another number of values
 * or another dtype, or are damaged; `ValueError` for invalid features. Follows TensorFlow `tf.io.parse_example` (op
 * `ParseExampleV2`).
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const records = [
 *   tf.io.encodeExample({ label: 1n, words: ["a", "b"] }),
 *   tf.io.encodeExample({ label: 0n, words: [] }),
 * ];
 * const { label, words } = tf.io.parseExample(records, {
 *   label: tf.io.FixedLenFeature([], "int64"),
 *   words: tf.io.RaggedFeature("string"),
 * });
 * assertEquals([label.arraySync(), words.toList()], [[1n, 0n], [["a", "b"], []]]);
 * ```
 */
export function parseExample<const F extends ExampleFeatures>(
  serialized: Contents | readonly Uint8Array[],
  features: F,
  options: ParseExampleOptions = {},
): ParsedExample<F> {
  checkOptions(options);
  const input = recordsInput(serialized, "parseExample");
  const rank = rankOf(input);
  if (rank === 0 && Object.values(features ?? {}).some((f) => f?.kind === "ragged")) {
    throw new ValueError(
      "Cannot parse one example with a ragged feature by parseExample(): call parseSingleExample(), or batch the examples",
    );
  }
  const names = options.exampleNames === undefined
    ? noStrings()
    : toInput(options.exampleNames, "exampleNames", "parseExample", { dtype: "string" });
  return parse(input, names, features, rank === 0) as ParsedExample<F>;
}

/**
 * Parses one record of `tf.train.Example`: as {@linkcode parseExample}, but a ragged feature is a vector. Parsing a
 * batch at once is faster. Follows TensorFlow `tf.io.parse_single_example`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const record = tf.io.encodeExample({ size: new Int32Array([2, 3]), name: "cat" });
 * const { size, name } = tf.io.parseSingleExample(record, {
 *   size: tf.io.FixedLenFeature([2], "int64"),
 *   name: tf.io.FixedLenFeature([], "string"),
 * });
 * assertEquals([size.arraySync(), name.arraySync()], [[2n, 3n], "cat"]);
 * ```
 */
export function parseSingleExample<const F extends ExampleFeatures>(
  serialized: Contents,
  features: F,
): ParsedExample<F, Tensor> {
  const input = recordsInput(serialized, "parseSingleExample");
  const rank = rankOf(input);
  if (rank !== 0 && rank !== null) {
    throw new ValueError(`Input serialized must be a scalar, received rank ${rank}`);
  }
  return parse(input, noStrings(), features, true) as ParsedExample<F, Tensor>;
}

/** No names, or no keys. */
export const noStrings = (): NdArray => new NdArray("string", [0], []);

/** Converts records: bytes, or a list of them. */
export function recordsInput(serialized: Contents | readonly Uint8Array[], fn: string): OpInput {
  if (serialized instanceof Uint8Array) return new NdArray("string", [], [serialized]);
  if (Array.isArray(serialized) && serialized.every((r) => r instanceof Uint8Array)) {
    return new NdArray("string", [serialized.length], serialized);
  }
  return toInput(serialized as TensorLike, "serialized", fn, { dtype: "string" });
}

/** The rank of an input; null where it is not known. */
export function rankOf(input: OpInput): number | null {
  return (input instanceof NdArray ? input.shape : input.staticShape)?.length ?? null;
}

/** A feature's name in the examples, and its key in the result. */
export interface Asked<F> {
  readonly name: string;
  readonly key: string;
  readonly feature: F;
}
/** Features that are padded tensors. */
export type Dense = FixedLenFeature | FixedLenSequenceFeature;

function parse(
  serialized: OpInput,
  names: OpInput,
  features: ExampleFeatures,
  isSingle: boolean,
): unknown {
  const asked = askedFeatures(features);
  const of = <K extends string>(...kinds: K[]) =>
    asked.filter(({ feature }) => kinds.includes(feature.kind as K));
  const sparse = of("varLen"), ragged = of("ragged");
  const dense = of("fixedLen", "sequence") as readonly Asked<Dense>[];
  const inputs = [sparse, dense, ragged].map((list) =>
    toNdArray(list.map(({ key }) => key), { dtype: "string", shape: [list.length] })
  );
  const dtypes = (list: readonly Asked<{ readonly dtype: DType }>[]): DType[] =>
    list.map(({ feature }) => feature.dtype);
  // Unused int64 outputs of the op are disposed.
  const parts = compose(() => {
    const out = apply(
      ParseExampleV2,
      [serialized, names, ...inputs, ...dense.map(defaultOf)],
      {
        num_sparse: sparse.length,
        sparse_types: dtypes(sparse),
        ragged_value_types: dtypes(ragged),
        ragged_split_types: ragged.map(() => "int32"),
        dense_shapes: dense.map(({ feature: { kind, shape } }): PartialShape =>
          kind === "sequence" ? [null, ...shape] : shape
        ),
        Tdense: dtypes(dense),
      },
    );
    const take = (n: number): Tensor[] => out.splice(0, n);
    const [indices, values, shapes] = [sparse, sparse, sparse].map(({ length }) => take(length));
    const tensors = take(dense.length), flat = take(ragged.length), splits = take(ragged.length);
    const found = new Map<string, Tensor[]>();
    sparse.forEach(({ name }, i) =>
      found.set(name, [cast(indices[i], "int32"), values[i], cast(shapes[i], "int32")])
    );
    dense.forEach(({ name }, i) => found.set(name, [tensors[i]]));
    ragged.forEach(({ name }, i) => found.set(name, isSingle ? [flat[i]] : [flat[i], splits[i]]));
    return Object.keys(features).toSorted().flatMap((name) => found.get(name)!);
  });
  return packComponents(structureOf(features, isSingle), parts);
}

/**
 * Returns the features in the order of the results. Throws `ValueError` with TensorFlow's phrases for an invalid one.
 */
export function askedFeatures(features: ExampleFeatures): Asked<ExampleFeatures[string]>[] {
  const entries = Object.entries(features ?? {});
  if (entries.length === 0) {
    throw new ValueError(
      `Argument \`features\` cannot be null or empty: received ${describe(features)}`,
    );
  }
  const kinds = new Map<string, string>();
  return entries.map(([name, feature]) => {
    if (!["fixedLen", "varLen", "sequence", "ragged"].includes(feature?.kind)) {
      throw new ValueError(
        `Unsupported feature ${
          describe(feature)
        } for key '${name}': wanted tf.io.FixedLenFeature(…), VarLenFeature, FixedLenSequenceFeature or RaggedFeature`,
      );
    }
    const { shape } = feature as Partial<Dense>;
    if (shape !== undefined && !isConcrete(shape)) {
      throw new ValueError(
        `All dimensions of shape for feature ${name} need to be known but received ${
          shapeText(shape)
        }: consider using FixedLenSequenceFeature`,
      );
    }
    const key = feature.kind === "ragged" ? feature.valueKey ?? name : name;
    if (kinds.has(key)) {
      throw new ValueError(
        `Cannot ask for the feature "${key}" both as ${kinds.get(key)} and ${feature.kind}`,
      );
    }
    kinds.set(key, feature.kind);
    return { name, key, feature };
  });
}

/** Returns the default of a dense feature; no elements where it has none. */
export function defaultOf(
  { name, feature: { kind, shape, dtype, defaultValue } }: Asked<Dense>,
): OpInput {
  if (defaultValue === undefined) return toNdArray([], { dtype, shape: [0] });
  const input = defaultValue instanceof Tensor
    ? toInput(defaultValue, `the default of "${name}"`, "parseExample", { dtype })
    : toNdArray(defaultValue, { dtype, numbers: "exact" });
  const given = input instanceof NdArray ? input.shape : input.staticShape;
  const wanted = kind === "sequence" ? 1 : sizeOf(shape);
  if (given === null || !isConcrete(given) || sizeOf(given) === wanted) return input;
  throw new ValueError(
    `Cannot use a default of shape ${shapeText(given)} for feature ${name}: wanted ${
      kind === "sequence" ? "one value" : `shape ${shapeText(shape)}`
    }`,
  );
}

function structureOf(features: ExampleFeatures, isSingle: boolean): Record<string, unknown> {
  const leaf = ({ kind, dtype }: ExampleFeatures[string]): unknown =>
    kind === "varLen"
      ? new SparseTensorSpec(isSingle ? [null] : [null, null], dtype)
      : kind === "ragged" && !isSingle
      ? new RaggedTensorSpec([null, null], dtype)
      : null;
  return Object.fromEntries(Object.entries(features).map(([name, f]) => [name, leaf(f)]));
}

/** A value that a feature is written from. */
export type ExampleValue = TensorLike | Uint8Array | readonly Uint8Array[];

/**
 * Encodes one record of `tf.train.Example`, which TensorFlow and {@linkcode parseExample} read. Strings and
 * `Uint8Array`s are bytes; floats, and numbers without a dtype, are floats; `bigint`s, booleans and arrays of whole
 * numbers are int64; an empty list has no type. Features are written flat, in the order of their names. Throws
 * `TypeError` for a value that an example cannot hold. Follows TensorFlow
 * `tf.train.Example(...).SerializeToString(deterministic=True)`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const record = tf.io.encodeExample({ image: Uint8Array.of(137, 80), label: 3n, box: [0, 0.5] });
 * const { box } = tf.io.parseSingleExample(record, { box: tf.io.FixedLenFeature([2], "float32") });
 * assertEquals(box.arraySync(), [0, 0.5]);
 * ```
 */
export function encodeExample(features: Readonly<Record<string, ExampleValue>>): Bytes {
  if (!isPlainObject(features)) {
    throw new TypeError(
      `Cannot write an example of ${describe(features)}: wanted an object of features by name`,
    );
  }
  const lists = Object.entries(features).map(([key, value]) => [key, listOf(key, value)] as const);
  return writeExample(new Map(lists)) as Bytes;
}

function listOf(key: string, value: ExampleValue): Feature | null {
  if (value instanceof Uint8Array) return { kind: "string", values: [value] };
  if (Array.isArray(value) && value.length === 0) return null;
  if (Array.isArray(value) && value.every((v) => v instanceof Uint8Array)) {
    return { kind: "string", values: value };
  }
  let array: NdArray;
  try {
    array = value instanceof Tensor ? asTensor(value).ndarraySync() : toNdArray(value);
  } catch (e) {
    throw new TypeError(`Cannot write the feature "${key}": ${(e as Error).message}`, { cause: e });
  }
  const { dtype, data } = array, { kind } = DTYPES[dtype];
  if (kind === "string") return { kind, values: data as Uint8Array[] };
  if (kind === "float") {
    return { kind: "float32", values: toNdArray(array, { dtype: "float32" }).data as Float32Array };
  }
  if (kind === "int" || kind === "uint" || kind === "bool") {
    return { kind: "int64", values: toNdArray(array, { dtype: "int64" }).data as BigInt64Array };
  }
  throw new TypeError(
    `Cannot write the feature "${key}": examples hold floats, whole numbers and strings, received ${dtype}`,
  );
}
