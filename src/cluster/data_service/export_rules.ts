/** The TensorFlow dataset op of each stage of tf.data. */
import { base64 } from "../../tensorflow/graph_def/values.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { CallSettings, Settings, TraceInner } from "../../library/data/settings.ts";
import type { AttrValueJson } from "../../engine/graph/graph_def_json.ts";
import type { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";

/** A function as a node names it, with the names of what it captures. */
export interface WrittenFunction {
  readonly name: string;
  readonly captured: readonly string[];
  readonly types: readonly DType[];
}

/** Writer of a stage's node and of what it refers to: each method returns the name under which the node reads it. */
export interface StageScope {
  constant(value: NdArray | Promise<NdArray>): string;
  tensor(t: Tensor): string;
  function(f: ConcreteFunction): WrittenFunction;
  inner(trace: TraceInner): WrittenFunction;
  /** Throws: the stage cannot be written. */
  refuse(why: string): never;
}

/** A node without its name and the types of its elements. */
export interface StageNode {
  readonly op: string;
  readonly input: readonly string[];
  readonly attr?: Readonly<Record<string, AttrValueJson>>;
}

type Rule<S> = (settings: S, inputs: readonly string[], scope: StageScope) => StageNode;
type Rules = { readonly [K in Settings["stage"]]: Rule<Extract<Settings, { stage: K }>> };

const plain = ({ stage }: Settings, input: readonly string[]): StageNode => ({
  op: `${stage}Dataset`,
  input,
});

const counted: Rule<Extract<Settings, { count: number }>> = ({ stage, count }, inputs, scope) => ({
  op: `${stage}Dataset`,
  input: [...inputs, int64(scope, count)],
});

const values: Rule<Extract<Settings, { leaves: unknown }>> = (
  { stage, leaves, arrays },
  _,
  scope,
) => ({
  op: `${stage}Dataset`,
  input: leaves.map((leaf, i) =>
    leaf instanceof NdArray || !leaf.isSymbolic
      ? scope.constant(arrays.then((all) => all[i]))
      : scope.tensor(leaf)
  ),
});

const predicate: Rule<Extract<Settings, { stage: "Filter" | "TakeWhile" }>> = (
  { stage, f },
  inputs,
  scope,
) => {
  const { captured, attr } = called(scope.function(f), "predicate");
  return { op: `${stage}Dataset`, input: [...inputs, ...captured], attr };
};

const cycle: Rule<Extract<Settings, { trace: unknown }>> = (settings, inputs, scope) => {
  const { cycleLength, blockLength, calls } = settings;
  const { captured, attr } = called(scope.inner(settings.trace), "f");
  const input = [...inputs, ...captured];
  if (settings.stage === "FlatMap") return { op: "FlatMapDataset", input, attr };
  input.push(int64(scope, cycleLength), int64(scope, blockLength));
  if (calls.calls === 1) return { op: "InterleaveDataset", input, attr };
  // The reading program chooses how many elements it keeps ready.
  for (const n of [-1, -1, calls.calls]) input.push(int64(scope, n));
  return { op: "ParallelInterleaveDatasetV4", input, attr: { ...attr, ...deterministic(calls) } };
};

const RULES: Rules = {
  Range({ start, stop, step }, _, scope) {
    const all = [start, stop, step];
    if (!all.every(Number.isSafeInteger)) {
      scope.refuse("TensorFlow's ranges are of whole numbers; make fractions of them in map()");
    }
    return { op: "RangeDataset", input: all.map((n) => int64(scope, n)) };
  },
  Tensor: values,
  TensorSlice: values,
  Zip: ({ order }, inputs) => ({
    op: "ZipDataset",
    input: order.map((i) => inputs[i]),
    attr: { N: { i: String(order.length) } },
  }),
  Concatenate: plain,
  Unbatch: plain,
  Cache: (_, inputs, scope) => ({
    op: "CacheDataset",
    input: [...inputs, scope.constant(new NdArray("string", [], [new Uint8Array()]))],
  }),
  Take: counted,
  Skip: counted,
  Repeat: counted,
  Prefetch: counted,
  Shard: ({ numShards, index }, inputs, scope) => ({
    op: "ShardDataset",
    input: [...inputs, int64(scope, numShards), int64(scope, index)],
  }),
  IgnoreErrors: ({ logWarning }, input) => ({
    op: "IgnoreErrorsDataset",
    input,
    attr: { log_warning: { b: logWarning } },
  }),
  Options: ({ deterministic }, input) => ({
    op: "OptionsDataset",
    input,
    attr: { serialized_options: { s: base64(optionBytes(deterministic)) } },
  }),
  Filter: predicate,
  TakeWhile: predicate,
  Map({ f, calls }, inputs, scope) {
    const { captured, attr } = called(scope.function(f), "f");
    const input = [...inputs, ...captured];
    if (calls.calls === 1) return { op: "MapDataset", input, attr };
    input.push(int64(scope, calls.calls));
    return { op: "ParallelMapDatasetV2", input, attr: { ...attr, ...deterministic(calls) } };
  },
  Batch: ({ batchSize, dropRemainder }, inputs, scope) => ({
    op: "BatchDatasetV2",
    input: [...inputs, int64(scope, batchSize), bool(scope, dropRemainder)],
  }),
  PaddedBatch: ({ batchSize, dropRemainder, shapes, values }, inputs, scope) => ({
    op: "PaddedBatchDatasetV2",
    input: [
      ...inputs,
      int64(scope, batchSize),
      ...shapes.map((shape) => int64(scope, shape.map((d) => d ?? -1))),
      ...values.map((value) => scope.constant(value)),
      bool(scope, dropRemainder),
    ],
    attr: { N: { i: String(shapes.length) } },
  }),
  Shuffle: ({ bufferSize, seeds, reshuffleEachIteration }, inputs, scope) => ({
    op: "ShuffleDataset",
    input: [...inputs, int64(scope, bufferSize), ...seeds.map((seed) => int64(scope, seed ?? 0))],
    attr: { reshuffle_each_iteration: { b: reshuffleEachIteration } },
  }),
  FlatMap: cycle,
  Interleave: cycle,
};

/** Makes the node of a stage from the names of its inputs. */
export function stageNode(
  settings: Settings,
  inputs: readonly string[],
  scope: StageScope,
): StageNode {
  return (RULES[settings.stage] as Rule<Settings>)(settings, inputs, scope);
}

function called({ name, captured, types }: WrittenFunction, as: "f" | "predicate") {
  const type = types.map((t) => DTYPES[t].tfEnum);
  return { captured, attr: { [as]: { func: { name } }, Targuments: { list: { type } } } };
}

function deterministic({ deterministic }: CallSettings) {
  return {
    deterministic: { s: base64(new TextEncoder().encode(String(deterministic ?? "default"))) },
  };
}

/** TensorFlow's `Options`: field 1 says whether the order must be that of the elements. */
function optionBytes(deterministic: boolean | undefined): Uint8Array {
  return Uint8Array.from(deterministic === undefined ? [] : [1 << 3, Number(deterministic)]);
}

function int64(scope: StageScope, value: number | readonly number[]): string {
  const data = BigInt64Array.from([value].flat(), BigInt);
  return scope.constant(new NdArray("int64", Array.isArray(value) ? [data.length] : [], data));
}

function bool(scope: StageScope, value: boolean): string {
  return scope.constant(new NdArray("bool", [], Uint8Array.of(Number(value))));
}
