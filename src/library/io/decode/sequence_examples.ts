/** tf.io.parseSequenceExample and its sibling: records of `tf.train.SequenceExample`, read into tensors. */
import { apply, compose, type OpInput } from "../../../engine/core/apply.ts";
import { optionCheck } from "../../../engine/core/arguments.ts";
import { toNdArray } from "../../../engine/core/convert.ts";
import type { DType } from "../../../engine/core/dtype.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import type { PartialShape } from "../../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { ParseSequenceExampleV2 } from "../../../engine/ops/decode/mod.ts";
import { toInput } from "../../../engine/ops/input.ts";
import { RaggedTensor } from "../../../engine/ops/ragged/ragged_tensor.ts";
import { SparseTensor } from "../../../engine/ops/ragged/sparse_tensor.ts";
import {
  type Asked,
  askedFeatures,
  defaultOf,
  type Dense,
  type ExampleFeatures,
  type FixedLenSequenceFeature,
  noStrings,
  type ParsedExample,
  type RaggedFeature,
  rankOf,
  recordsInput,
  type VarLenFeature,
} from "./example_features.ts";
import type { Contents } from "../image_ops.ts";

/** Features of steps by name. */
export type SequenceFeatures = Readonly<
  Record<string, FixedLenSequenceFeature | VarLenFeature | RaggedFeature>
>;

/** The results of features of steps. */
export type ParsedSequences<F extends SequenceFeatures> = {
  readonly [K in keyof F]: F[K] extends VarLenFeature ? SparseTensor
    : F[K] extends RaggedFeature ? RaggedTensor
    : Tensor;
};

/** Features of {@linkcode parseSequenceExample}: those of whole records, and of their steps. */
export interface SequenceExampleFeatures<
  C extends ExampleFeatures = ExampleFeatures,
  S extends SequenceFeatures = SequenceFeatures,
> {
  /** Features of the records. */
  readonly contextFeatures?: C;
  /** Features of their steps: `FixedLenSequenceFeature`, whose shape is that of a step, `VarLenFeature` or `RaggedFeature`. */
  readonly sequenceFeatures?: S;
  /** Names of the records in errors. */
  readonly exampleNames?: TensorLike;
}

const check = optionCheck<SequenceExampleFeatures>("parseSequenceExample", {
  contextFeatures: true,
  sequenceFeatures: true,
  exampleNames: true,
});

/**
 * Parses a vector of records of `tf.train.SequenceExample`: features of the records, as `io.parseExample` gives them; those of their steps,
 * `[batch, steps, …]` padded with zeros, sparse or ragged; and the numbers of steps of the padded ones, int64 `[batch]`. A record without a
 * feature list has no steps of it. Throws `InvalidArgumentError` for records that are damaged, lack a feature, or have another number of values or
 * another dtype; `ValueError` for invalid features. TensorFlow op `ParseSequenceExampleV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const record = tf.io.encodeExample({ label: 3n }); // without steps
 * const [context, sequences, lengths] = tf.io.parseSequenceExample([record], {
 *   contextFeatures: { label: tf.io.FixedLenFeature([], "int64") },
 *   sequenceFeatures: { words: tf.io.FixedLenSequenceFeature([], "string") },
 * });
 * console.log(await context.label.array(), sequences.words.shape, await lengths.words.array()); // [3n] [1, 0] [0n]
 * ```
 */
export function parseSequenceExample<
  const C extends ExampleFeatures = Record<never, never>,
  const S extends SequenceFeatures = Record<never, never>,
>(
  serialized: Contents | readonly Uint8Array[],
  features: SequenceExampleFeatures<C, S>,
): [
  context: ParsedExample<C>,
  sequences: ParsedSequences<S>,
  lengths: { readonly [K in keyof S]: Tensor },
] {
  const fn = "parseSequenceExample", input = recordsInput(serialized, fn), rank = rankOf(input);
  if (rank !== 1 && rank !== null) {
    throw new ValueError(`Input serialized of ${fn} must be a vector, received rank ${rank}`);
  }
  return parse(input, features, { fn, isSingle: false }) as never;
}

/**
 * Parses one record of `tf.train.SequenceExample`: as {@linkcode parseSequenceExample}, without the axis of records and the numbers of steps.
 * Follows TensorFlow `tf.io.parse_single_sequence_example`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const record = tf.io.encodeExample({ label: 3n });
 * const [{ label }] = tf.io.parseSingleSequenceExample(record, {
 *   contextFeatures: { label: tf.io.FixedLenFeature([], "int64") },
 * });
 * console.log(await label.array()); // 3n
 * ```
 */
export function parseSingleSequenceExample<
  const C extends ExampleFeatures = Record<never, never>,
  const S extends SequenceFeatures = Record<never, never>,
>(
  serialized: Contents,
  features: SequenceExampleFeatures<C, S>,
): [context: ParsedExample<C, Tensor>, sequences: ParsedSequences<S>] {
  const fn = "parseSingleSequenceExample", input = recordsInput(serialized, fn);
  const rank = rankOf(input);
  if (rank !== 0 && rank !== null) {
    throw new ValueError(`Input serialized of ${fn} must be a scalar, received rank ${rank}`);
  }
  return parse(input, features, { fn, isSingle: true }).slice(0, 2) as never;
}

/** Features by their kinds, in the order of the op's arguments. */
function byKind(features: ExampleFeatures | undefined) {
  const asked = features && Object.keys(features).length > 0 ? askedFeatures(features) : [];
  const of = (...kinds: string[]) => asked.filter(({ feature }) => kinds.includes(feature.kind));
  return {
    sparse: of("varLen"),
    dense: of("fixedLen", "sequence") as readonly Asked<Dense>[],
    ragged: of("ragged"),
  };
}

const keysOf = (list: readonly Asked<unknown>[]): NdArray =>
  toNdArray(list.map(({ key }) => key), { dtype: "string", shape: [list.length] });
const dtypesOf = (list: readonly Asked<{ readonly dtype: DType }>[]): DType[] =>
  list.map(({ feature }) => feature.dtype);

function parse(
  serialized: OpInput,
  features: SequenceExampleFeatures | undefined,
  { fn, isSingle }: { readonly fn: string; readonly isSingle: boolean },
): Record<string, unknown>[] {
  check(features);
  const { contextFeatures, sequenceFeatures, exampleNames } = features ?? {};
  for (const [name, feature] of Object.entries({ ...contextFeatures, ...sequenceFeatures })) {
    const { kind } = feature;
    if (feature.kind === "ragged" && feature.partitions !== undefined) {
      throw new ValueError(
        `Unsupported partitions of RaggedFeature "${name}" in ${fn}: ask for them as features`,
      );
    }
    if ((kind as string) !== "sparse") continue;
    throw new ValueError(
      `Unsupported SparseFeature "${name}" in ${fn}: ask for its indices and values as VarLenFeature`,
    );
  }
  const context = byKind(contextFeatures), steps = byKind(sequenceFeatures);
  for (const { name, feature } of steps.dense) {
    if (feature.kind === "sequence") continue;
    throw new ValueError(
      `Unsupported feature of steps "${name}" in ${fn}: wanted FixedLenSequenceFeature, VarLenFeature or RaggedFeature`,
    );
  }
  if ([context, steps].every((of) => Object.values(of).every((list) => list.length === 0))) {
    throw new TypeError(
      `Cannot apply ${fn} without features: wanted contextFeatures or sequenceFeatures`,
    );
  }
  const names = exampleNames === undefined
    ? noStrings()
    : toInput(exampleNames, "exampleNames", fn, { dtype: "string" });
  const int32 = (list: readonly unknown[]): string[] => list.map(() => "int32");
  const parts = compose(() => {
    const out = [
      ...apply(ParseSequenceExampleV2, [
        ...[serialized, names, keysOf(context.sparse), keysOf(context.dense)],
        ...[keysOf(context.ragged), keysOf(steps.sparse), keysOf(steps.dense)],
        keysOf(steps.ragged),
        toNdArray(steps.dense.map(() => true), { dtype: "bool", shape: [steps.dense.length] }),
        ...context.dense.map(defaultOf),
      ], {
        Ncontext_sparse: context.sparse.length,
        Tcontext_dense: dtypesOf(context.dense),
        context_sparse_types: dtypesOf(context.sparse),
        context_ragged_value_types: dtypesOf(context.ragged),
        context_ragged_split_types: int32(context.ragged),
        context_dense_shapes: context.dense.map(({ feature: { kind, shape } }): PartialShape =>
          kind === "sequence" ? [null, ...shape] : shape
        ),
        Nfeature_list_sparse: steps.sparse.length,
        Nfeature_list_dense: steps.dense.length,
        feature_list_dense_types: dtypesOf(steps.dense),
        feature_list_sparse_types: dtypesOf(steps.sparse),
        feature_list_ragged_value_types: dtypesOf(steps.ragged),
        feature_list_ragged_split_types: int32(steps.ragged),
        feature_list_dense_shapes: steps.dense.map(({ feature: { shape } }) => shape),
      }),
    ];
    const take = (n: number): Tensor[] => out.splice(0, n);
    const sparse = (n: number): Tensor[] => {
      const [at, values, shapes] = [take(n), take(n), take(n)];
      return at.flatMap((x, i) => [cast(x, "int32"), values[i], cast(shapes[i], "int32")]);
    };
    const { length: rows } = context.ragged, { length: padded } = steps.dense;
    const { length: deep } = steps.ragged;
    const kept = [sparse(context.sparse.length), take(context.dense.length)];
    const flat = take(rows), splits = take(rows);
    kept.push(flat.flatMap((x, i) => isSingle ? [x] : [x, splits[i]]));
    kept.push(sparse(steps.sparse.length), take(padded));
    const lengths = take(padded);
    kept.push(isSingle ? [] : lengths);
    const [values, outer, inner] = [take(deep), take(deep), take(deep)];
    kept.push(values.flatMap((x, i) => isSingle ? [x, inner[i]] : [x, outer[i], inner[i]]));
    return kept.flat();
  });
  const next = (): Tensor => parts.shift()!;
  const whole: Record<string, unknown> = {}, lists: Record<string, unknown> = {};
  const counts: Record<string, unknown> = {};
  const sparse = () => new SparseTensor(next(), next(), next());
  for (const { name } of context.sparse) whole[name] = sparse();
  for (const { name } of context.dense) whole[name] = next();
  for (const { name } of context.ragged) {
    whole[name] = isSingle ? next() : RaggedTensor.fromRowSplits(next(), next());
  }
  for (const { name } of steps.sparse) lists[name] = sparse();
  for (const { name } of steps.dense) lists[name] = next();
  if (!isSingle) { for (const { name } of steps.dense) counts[name] = next(); }
  for (const { name } of steps.ragged) {
    const values = next(), outer = next();
    lists[name] = isSingle
      ? RaggedTensor.fromRowSplits(values, outer)
      : RaggedTensor.fromRowSplits(RaggedTensor.fromRowSplits(values, next()), outer);
  }
  return [whole, lists, counts];
}
