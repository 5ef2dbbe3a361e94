/** tf.io.parseExample and its siblings: records of `tf.train.Example`, read into tensors and written. */
import { apply, compose, type OpInput } from "../../engine/core/apply.ts";
import { packComponents } from "../../engine/core/composite.ts";
import { describe, toNdArray } from "../../engine/core/convert.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import {
  type Feature,
  type Found,
  mergedSparse,
  ParseExampleV2,
  type PartedBy,
  partitioned,
  wholeOf,
  writeExample,
} from "../../engine/ops/decode/mod.ts";
import { asTensor, intVector, toInput } from "../../engine/ops/input.ts";
import { type RaggedTensor, RaggedTensorSpec } from "../../engine/ops/ragged/ragged_tensor.ts";
import { SparseTensorSpec } from "../../engine/ops/ragged/sparse_tensor.ts";
import type { Bytes } from "./bytes.ts";
import type { Contents } from "./image_ops.ts";
import {
  type Asked,
  askedFeatures,
  defaultOf,
  type Dense,
  type ExampleFeatures,
  noStrings,
  type ParsedExample,
  partOf,
  type RaggedFeature,
  rankOf,
  recordsInput,
} from "./decode/example_features.ts";

/** Options of {@linkcode parseExample}. */
export interface ParseExampleOptions {
  /** Names of the examples in errors. */
  readonly exampleNames?: TensorLike;
}

const checkOptions = optionCheck<ParseExampleOptions>("parseExample", { exampleNames: true });

/**
 * Parses a vector of records of `tf.train.Example`, such as a batch of `tf.data.tfrecord`: a tensor for each feature of
 * known length, a `SparseTensor` or `RaggedTensor` for the others; a sparse one of two by `tf.io.SparseFeature`. Runs on the host, in graphs and pipelines too.
 * Throws `InvalidArgumentError` with TensorFlow's words for records that lack a feature, have another number of values
 * or another dtype, or are damaged; `ValueError` for invalid features. Follows TensorFlow `tf.io.parse_example` (op
 * `ParseExampleV2`).
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const records = [
 *   tf.io.encodeExample({ label: 1n, words: ["a", "b"] }),
 *   tf.io.encodeExample({ label: 0n, words: [] }),
 * ];
 * const { label, words } = tf.io.parseExample(records, {
 *   label: tf.io.FixedLenFeature([], "int64"),
 *   words: tf.io.RaggedFeature("string"),
 * });
 * console.log([label.arraySync(), words.toList()]); // [[1n, 0n], [["a", "b"], []]]
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
 * Parses one record of `tf.train.Example`: as {@linkcode parseExample}, but a ragged feature is a vector, and with partitions has one dimension less. Parsing a
 * batch at once is faster. Follows TensorFlow `tf.io.parse_single_example`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const record = tf.io.encodeExample({ size: new Int32Array([2, 3]), name: "cat" });
 * const { size, name } = tf.io.parseSingleExample(record, {
 *   size: tf.io.FixedLenFeature([2], "int64"),
 *   name: tf.io.FixedLenFeature([], "string"),
 * });
 * console.log([size.arraySync(), name.arraySync()]); // [[2n, 3n], "cat"]
 * ```
 */
export function parseSingleExample<const F extends ExampleFeatures>(
  serialized: Contents,
  features: F,
): ParsedExample<F, Tensor, RaggedTensor | Tensor> {
  const input = recordsInput(serialized, "parseSingleExample");
  const rank = rankOf(input);
  if (rank !== 0 && rank !== null) {
    throw new ValueError(`Input serialized must be a scalar, received rank ${rank}`);
  }
  return parse(input, noStrings(), features, true) as ParsedExample<
    F,
    Tensor,
    RaggedTensor | Tensor
  >;
}

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
    const lists = new Map(
      sparse.map(({ key }, i): [string, Found] => [key, [indices[i], values[i], shapes[i]]]),
    );
    dense.forEach(({ name }, i) => found.set(name, [tensors[i]]));
    const rows = new Map(
      ragged.map(({ key }, i): [string, [Tensor, Tensor]] => [
        key,
        [flat[i], isSingle ? wholeOf(flat[i]) : splits[i]],
      ]),
    );
    const partedRows = (name: string, { valueKey, partitions = [] }: RaggedFeature): Tensor[] => {
      const [values, records] = rows.get(valueKey ?? name)!;
      const parts = partitions.map((partition): PartedBy => {
        const [kind, by] = partOf(partition);
        if (typeof by === "number") {
          return { kind, values: asTensor(intVector([by])), splits: records, length: by };
        }
        const [own, ends] = rows.get(by)!;
        return { kind, values: own, splits: ends };
      });
      const [all, outer, ...inner] = partitioned(values, records, parts);
      return isSingle ? [all, ...inner] : [all, outer, ...inner];
    };
    const partsOf = (name: string): Tensor[] => {
      const feature = features[name];
      if (feature.kind === "sparse") {
        const ids = [feature.indexKey].flat().map((key) => lists.get(key)!);
        return mergedSparse(name, feature, { ids, own: lists.get(feature.valueKey)! });
      }
      if (feature.kind === "ragged") return partedRows(name, feature);
      if (feature.kind !== "varLen") return found.get(name)!;
      const [at, own, dims] = lists.get(name)!;
      return [cast(at, "int32"), own, cast(dims, "int32")];
    };
    return Object.keys(features).toSorted().flatMap(partsOf);
  });
  return packComponents(structureOf(features, isSingle), parts);
}

/** The spec of a ragged feature; null where one record's is a tensor. */
function partedSpec(
  { dtype, partitions = [] }: RaggedFeature,
  isSingle: boolean,
): RaggedTensorSpec | null {
  const lengths = partitions.map((partition) => {
    const [, by] = partOf(partition);
    return typeof by === "number" ? by : null;
  });
  const last = lengths.findLastIndex((n) => n === null) + 1, raggedRank = last + (isSingle ? 0 : 1);
  if (raggedRank === 0) return null;
  const ragged = new Array<null>(raggedRank + 1).fill(null);
  return new RaggedTensorSpec([...ragged, ...lengths.slice(last)], dtype, raggedRank);
}

function structureOf(features: ExampleFeatures, isSingle: boolean): Record<string, unknown> {
  const rows = isSingle ? [] : [null];
  const leaf = (feature: ExampleFeatures[string]): unknown => {
    const { kind, dtype } = feature;
    if (kind === "varLen") return new SparseTensorSpec([...rows, null], dtype);
    if (kind === "sparse") return new SparseTensorSpec([...rows, ...[feature.size].flat()], dtype);
    return kind === "ragged" ? partedSpec(feature, isSingle) : null;
  };
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
 * const record = tf.io.encodeExample({ image: Uint8Array.of(137, 80), label: 3n, box: [0, 0.5] });
 * const { box } = tf.io.parseSingleExample(record, { box: tf.io.FixedLenFeature([2], "float32") });
 * console.log(box.arraySync()); // [0, 0.5]
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
