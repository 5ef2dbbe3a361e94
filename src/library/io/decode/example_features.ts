/** Features of records of `tf.train.Example`: what `tf.io.parseExample` is asked for. */
import type { OpInput } from "../../../engine/core/apply.ts";
import { describe, toNdArray } from "../../../engine/core/convert.ts";
import type { DType } from "../../../engine/core/dtype.ts";
import { wantList } from "../../../engine/core/arguments.ts";
import type { PartitionKind } from "../../../engine/ops/decode/mod.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import { isConcrete, type Shape, shapeText, sizeOf } from "../../../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../../../engine/core/tensor.ts";
import { brief } from "../../../engine/core/text.ts";
import { toInput } from "../../../engine/ops/input.ts";
import type { RaggedTensor } from "../../../engine/ops/ragged/ragged_tensor.ts";
import type { SparseTensor } from "../../../engine/ops/ragged/sparse_tensor.ts";
import type { Contents } from "../image_ops.ts";

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

/**
 * A partition of a ragged feature's values into rows: the name of a feature of whole numbers, which are splits, lengths, starts, limits or the
 * row of each value, or the length of all rows.
 */
export type RaggedPartition =
  | { readonly rowSplits: string }
  | { readonly rowLengths: string }
  | { readonly rowStarts: string }
  | { readonly rowLimits: string }
  | { readonly valueRowIds: string }
  | { readonly uniformRowLength: number };

/** A feature of any number of values, a row of a ragged tensor. */
export interface RaggedFeature {
  /** The kind of feature. */
  readonly kind: "ragged";
  readonly dtype: ExampleDType;
  /** Its name in the examples, where that differs. */
  readonly valueKey?: string | undefined;
  /** The partitions of the values, the outermost first. */
  readonly partitions?: readonly RaggedPartition[] | undefined;
}

/** A ragged feature whose values are parted. */
export interface PartitionedFeature extends RaggedFeature {
  /** The partitions of the values, the outermost first. */
  readonly partitions: readonly RaggedPartition[];
}

/** A sparse tensor whose indices and values are features of their own. */
export interface SparseFeature {
  /** The kind of feature. */
  readonly kind: "sparse";
  /** The name of the indices in the examples; one for each axis. */
  readonly indexKey: string | readonly string[];
  /** The name of the values in the examples. */
  readonly valueKey: string;
  readonly dtype: ExampleDType;
  /** The extent of the axis; one for each. */
  readonly size: number | readonly number[];
  /** True where the indices of each example increase. */
  readonly alreadySorted: boolean;
}

/** Features by name. */
export type ExampleFeatures = Readonly<
  Record<
    string,
    FixedLenFeature | VarLenFeature | FixedLenSequenceFeature | RaggedFeature | SparseFeature
  >
>;

/** The results of features; `Ragged` is the type of a ragged one's, `Parted` that of one with partitions. */
export type ParsedExample<
  F extends ExampleFeatures,
  Ragged = RaggedTensor,
  Parted = RaggedTensor,
> = {
  readonly [K in keyof F]: F[K] extends VarLenFeature | SparseFeature ? SparseTensor
    : F[K] extends PartitionedFeature ? Parted
    : F[K] extends RaggedFeature ? Ragged
    : Tensor;
};

/**
 * Makes a feature that has this shape in each example; `defaultValue` is for examples without it. Follows TensorFlow
 * `tf.io.FixedLenFeature`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { encodeExample, FixedLenFeature, parseExample } = tf.io;
 * const { x } = parseExample([encodeExample({ x: [1, 2] })], { x: FixedLenFeature([2], "float32") });
 * console.log((x as tf.Tensor).arraySync()); // [[1, 2]]
 * ```
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
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { encodeExample, parseExample, VarLenFeature } = tf.io;
 * const { x } = parseExample([encodeExample({ x: [1, 2] })], { x: VarLenFeature("float32") });
 * console.log((x as tf.SparseTensor).values.arraySync()); // [1, 2]
 * ```
 */
export function VarLenFeature(dtype: ExampleDType): VarLenFeature {
  return { kind: "varLen", dtype: exampleDType(dtype) };
}

/**
 * Makes a feature of any number of parts of this shape, padded with `defaultValue` to the longest; also where it is
 * missing, which TensorFlow allows only with `allow_missing`. Follows TensorFlow `tf.io.FixedLenSequenceFeature`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { encodeExample, FixedLenSequenceFeature, parseExample } = tf.io;
 * const records = [encodeExample({ x: [1, 2] }), encodeExample({ x: [3] })];
 * const { x } = parseExample(records, { x: FixedLenSequenceFeature([], "float32", 0) });
 * console.log((x as tf.Tensor).arraySync()); // [[1, 2], [3, 0]]
 * ```
 */
export function FixedLenSequenceFeature(
  shape: Shape,
  dtype: ExampleDType,
  defaultValue?: TensorLike,
): FixedLenSequenceFeature {
  return { kind: "sequence", shape, dtype: exampleDType(dtype), defaultValue };
}

function raggedFeature(
  dtype: ExampleDType,
  valueKey: string | undefined,
  partitions: readonly RaggedPartition[],
): PartitionedFeature;
function raggedFeature(dtype: ExampleDType, valueKey?: string): RaggedFeature;
function raggedFeature(
  dtype: ExampleDType,
  valueKey?: string,
  partitions?: readonly RaggedPartition[],
): RaggedFeature {
  const feature: RaggedFeature = { kind: "ragged", dtype: exampleDType(dtype), valueKey };
  if (partitions === undefined) return feature;
  wantList(partitions, "partitions", "RaggedFeature");
  for (const partition of partitions) partOf(partition);
  return { ...feature, partitions };
}

/** Makes ragged features, and their partitions by TensorFlow's names. */
export interface RaggedFeatures {
  /** Makes a feature whose values are parted. */
  (
    dtype: ExampleDType,
    valueKey: string | undefined,
    partitions: readonly RaggedPartition[],
  ): PartitionedFeature;
  /** Makes a feature whose values are one row of each example. */
  (dtype: ExampleDType, valueKey?: string): RaggedFeature;
  /** A partition by the splits of a feature. */
  readonly RowSplits: (key: string) => { readonly rowSplits: string };
  /** A partition by the lengths of the rows. */
  readonly RowLengths: (key: string) => { readonly rowLengths: string };
  /** A partition by the places where rows start. */
  readonly RowStarts: (key: string) => { readonly rowStarts: string };
  /** A partition by the places where rows end. */
  readonly RowLimits: (key: string) => { readonly rowLimits: string };
  /** A partition by the row of each value. */
  readonly ValueRowIds: (key: string) => { readonly valueRowIds: string };
  /** A partition into rows of one length. */
  readonly UniformRowLength: (length: number) => { readonly uniformRowLength: number };
}

/**
 * Makes a feature of any number of values, which becomes a row of a `tf.RaggedTensor`; `valueKey` is its name in the
 * examples where that differs. `partitions`, the outermost first, part the values of each example into rows: `{ rowSplits: key }`, `rowLengths`,
 * `rowStarts`, `rowLimits` and `valueRowIds` by a feature of int64 of that name, `{ uniformRowLength: n }` by a length;
 * `RaggedFeature.RowSplits(key)` and its siblings make them too. Innermost rows of one length are a dimension of the values. Reading throws `InvalidArgumentError` where they do not fit. Throws `ValueError` for other partitions. Follows TensorFlow
 * `tf.io.RaggedFeature`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { encodeExample, parseExample, RaggedFeature } = tf.io;
 * const records = [encodeExample({ x: [1, 2] }), encodeExample({ x: [3] })];
 * const { x } = parseExample(records, { x: RaggedFeature("float32") });
 * console.log((x as tf.RaggedTensor).toList()); // [[1, 2], [3]]
 * const parted = encodeExample({ v: [1, 2, 3], n: [1n, 2n] });
 * const { y } = parseExample([parted], { y: RaggedFeature("float32", "v", [{ rowLengths: "n" }]) });
 * console.log(y.toList()); // [[[1], [2, 3]]]
 * const { z } = parseExample([parted], { z: RaggedFeature("float32", "v", [RaggedFeature.RowLengths("n")]) });
 * console.log(z.toList()); // [[[1], [2, 3]]]
 * ```
 */
export const RaggedFeature: RaggedFeatures = /* @__PURE__ */ Object.assign(raggedFeature, {
  RowSplits: (rowSplits: string) => checkedPart({ rowSplits }),
  RowLengths: (rowLengths: string) => checkedPart({ rowLengths }),
  RowStarts: (rowStarts: string) => checkedPart({ rowStarts }),
  RowLimits: (rowLimits: string) => checkedPart({ rowLimits }),
  ValueRowIds: (valueRowIds: string) => checkedPart({ valueRowIds }),
  UniformRowLength: (uniformRowLength: number) => checkedPart({ uniformRowLength }),
});

function checkedPart<P extends RaggedPartition>(partition: P): P {
  partOf(partition);
  return partition;
}

const PARTS: readonly PartitionKind[] = [
  ...["rowSplits", "rowLengths", "rowStarts", "rowLimits", "valueRowIds"] as const,
  "uniformRowLength",
];

/** Returns the kind of a partition, and its key or length. Throws `ValueError` for others. */
export function partOf(partition: RaggedPartition): readonly [PartitionKind, string | number] {
  const entries = Object.entries(partition ?? {}) as [PartitionKind, string | number][];
  const [[kind, by] = []] = entries;
  const isLength = kind === "uniformRowLength";
  const fits = isLength ? Number.isInteger(by) && Number(by) > 0 : typeof by === "string";
  if (entries.length === 1 && kind !== undefined && by !== undefined) {
    if (PARTS.includes(kind) && fits) return [kind, by];
  }
  throw new ValueError(
    `Cannot part a ragged feature by ${
      describe(partition)
    }: wanted one of rowSplits, rowLengths, rowStarts, rowLimits and valueRowIds with a feature's name, or uniformRowLength with a positive integer`,
  );
}

/** Checks a dtype of examples. Throws `ValueError` for others. */
export function exampleDType(dtype: DType): ExampleDType {
  if (dtype === "float32" || dtype === "int64" || dtype === "string") return dtype;
  throw new ValueError(
    `Argument \`dtype\` must be int64, float32 or string, which examples hold: received ${
      brief(dtype)
    }, cast what is parsed`,
  );
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

/** Features that are read as they stand in the examples. */
export type PlainFeature = Exclude<ExampleFeatures[string], SparseFeature>;

const KINDS = ["fixedLen", "varLen", "sequence", "ragged", "sparse"];

/**
 * Returns what is read of the examples, each feature once: those asked for, and those that sparse ones are made of. Throws `ValueError` with
 * TensorFlow's phrases for an invalid one.
 */
export function askedFeatures(features: ExampleFeatures): Asked<PlainFeature>[] {
  const entries = Object.entries(features ?? {});
  if (entries.length === 0) {
    throw new ValueError(
      `Argument \`features\` cannot be null or empty: received ${describe(features)}`,
    );
  }
  const asked = new Map<string, Asked<PlainFeature>>();
  const ask = (name: string, key: string, feature: PlainFeature): void => {
    const other = asked.get(key);
    if (other === undefined) asked.set(key, { name, key, feature });
    else if (
      other.feature.kind !== feature.kind || !["varLen", "ragged"].includes(feature.kind)
    ) {
      throw new ValueError(
        `Cannot ask for the feature "${key}" both as ${other.feature.kind} and ${feature.kind}`,
      );
    } else if (other.feature.dtype !== feature.dtype) {
      throw new ValueError(
        `Conflicting type ${other.feature.dtype} vs ${feature.dtype} for feature ${key}`,
      );
    }
  };
  for (const [name, feature] of entries) {
    if (!KINDS.includes(feature?.kind)) {
      throw new ValueError(
        `Unsupported feature ${
          describe(feature)
        } for key '${name}': wanted tf.io.FixedLenFeature(…), VarLenFeature, SparseFeature, FixedLenSequenceFeature or RaggedFeature`,
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
    if (feature.kind === "sparse") {
      const { indexKey, valueKey, dtype } = feature;
      for (const key of [indexKey].flat()) ask(key, key, { kind: "varLen", dtype: "int64" });
      ask(valueKey, valueKey, { kind: "varLen", dtype });
    } else if (feature.kind === "ragged") {
      ask(name, feature.valueKey ?? name, feature);
      for (const partition of feature.partitions ?? []) {
        const [, key] = partOf(partition);
        if (typeof key === "string") ask(key, key, { kind: "ragged", dtype: "int64" });
      }
    } else ask(name, name, feature);
  }
  return [...asked.values()];
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
