/** The stage of `tf.data` for each of TensorFlow's dataset ops. */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { toNdArray } from "../../engine/core/convert.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { rowOf } from "../../engine/core/arrays/rows.ts";
import type { Element } from "../../library/data/element.ts";
import { fromTensors, fromTensorSlices, range, zip } from "../../library/data/mod.ts";
import { bytes, text } from "../../tensorflow/graph_def/values.ts";
import type { AnyDataset, StageNode } from "./dataset_graph.ts";
import { flat, packed } from "./nests.ts";
import { generated, interleaved, rebatched } from "./stages.ts";

type Rule = (node: StageNode) => Promise<AnyDataset>;

const pass: Rule = (node) => node.input();

/** The number that lets the runtime choose. */
const AUTOTUNE = -1;
/** TensorFlow's number of shards that stands for the number of workers. */
const SHARD_HINT = -1;

async function map(node: StageNode): Promise<AnyDataset> {
  const input = await node.input(), f = await node.fn("f");
  const isParallel = node.def.op.startsWith("Parallel");
  const calls = isParallel ? await node.number(1 + node.captured) : 1;
  const { s = "default" } = node.def.attr?.deterministic ?? {};
  return input.map((element: unknown) => f(flat<Tensor>(element)), {
    numParallelCalls: calls,
    ...isDeterministic(text(s)),
  });
}

/** Returns the stage's option of order; none where it is left to the options of the pipeline. */
function isDeterministic(text: string): { deterministic?: boolean } {
  return text === "true" || text === "false" ? { deterministic: text === "true" } : {};
}

async function filter(node: StageNode): Promise<AnyDataset> {
  const f = await node.fn("predicate"), input = await node.input();
  const predicate = (element: unknown): Tensor => f(flat<Tensor>(element))[0];
  return node.def.op === "TakeWhileDataset" ? input.takeWhile(predicate) : input.filter(predicate);
}

/** Applies TensorFlow's `Options`. Only field 1 changes elements here: whether the order must be that of the inputs. */
async function options(node: StageNode): Promise<AnyDataset> {
  const { s = "" } = node.def.attr?.serialized_options ?? {};
  const reader = new BinaryReader(bytes(s)), input = await node.input();
  let deterministic: boolean | undefined;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.Varint) deterministic = reader.bool();
    else reader.skip(type);
  }
  return deterministic === undefined ? input : input.withOptions({ deterministic });
}

async function batch(node: StageNode): Promise<AnyDataset> {
  const input = await node.input();
  // `BatchDataset` lacks the last input, which says whether a smaller batch is dropped.
  const dropRemainder = node.def.op !== "BatchDataset" && await node.number(-1) !== 0;
  return input.batch(await node.number(1), { dropRemainder });
}

async function paddedBatch(node: StageNode): Promise<AnyDataset> {
  const input = await node.input(), n = node.specs.length;
  const at = (from: number): Promise<NdArray[]> =>
    Promise.all(Array.from({ length: n }, (_, i) => node.value(from + i)));
  const shapes = (await at(2)).map((x) =>
    Array.from(x.data as BigInt64Array, (d) => d < 0 ? null : Number(d))
  );
  const values = (await at(2 + n)).map((x) => x.at(0));
  const isV2 = node.def.op === "PaddedBatchDatasetV2";
  return input.paddedBatch(await node.number(1), {
    paddedShapes: packed(input.elementSpec, shapes),
    paddingValues: packed(input.elementSpec, values),
    dropRemainder: isV2 && await node.number(-1) !== 0,
  });
}

/** Shuffles by Weft's generator: reproducible where a seed is given, but not in TensorFlow's order. */
async function shuffle(node: StageNode): Promise<AnyDataset> {
  const input = await node.input(), { op, attr = {} } = node.def;
  const seeds = op === "ShuffleDatasetV2" ? [0, 0] : [await node.number(2), await node.number(3)];
  const shuffled = input.shuffle(await node.number(1), {
    ...(seeds.some((seed) => seed !== 0) && { seed: seeds.join("/") }),
    reshuffleEachIteration: attr.reshuffle_each_iteration?.b ?? true,
  });
  return op.startsWith("ShuffleAndRepeat") ? shuffled.repeat(await node.number(4)) : shuffled;
}

async function cache(node: StageNode): Promise<AnyDataset> {
  const file = (await node.value(1)).at(0) as Uint8Array;
  if (file.length === 0) return (await node.input()).cache();
  throw new UnimplementedError(
    `Cannot run "${node.def.name}": a cache in a file is not written for a graph from elsewhere, wanted one in memory`,
    { op: node.def.op, node: node.def.name },
  );
}

async function interleave(node: StageNode): Promise<AnyDataset> {
  const open = await node.datasets("f"), at = 1 + node.captured;
  const { op, attr = {} } = node.def, isFlat = op === "FlatMapDataset";
  const cycle = isFlat ? 1 : await node.number(at), block = isFlat ? 1 : await node.number(at + 1);
  const length = cycle === AUTOTUNE ? 4 : cycle,
    calls = op.startsWith("Parallel") ? await node.number(-1) : 1;
  return interleaved(await node.input(), open, {
    kind: op,
    specs: node.specs,
    length,
    block,
    ahead: calls === 1 ? 0 : calls === AUTOTUNE ? length : Math.min(calls, length),
    ...isDeterministic(text(attr.deterministic?.s ?? "")),
  });
}

async function shard(node: StageNode): Promise<AnyDataset> {
  const count = await node.number(1), own = node.options.shard;
  if (count !== SHARD_HINT) {
    return (await node.input()).shard(count, await node.number(2));
  }
  if (own !== undefined) return (await node.input()).shard(own.count, own.index);
  throw new ValueError(`Cannot run "${node.def.name}": the number of shards is unknown`);
}

/** Makes the rule of a source: all elements, or those whose index the dispatcher gives. */
function source(all: (node: StageNode) => Promise<AnyDataset>, row: SplitReader): Rule {
  return async (node) => {
    const provider = node.provider(), { splits, shard } = node.options;
    const { replicate_on_split: replicate, is_files: files } = node.def.attr ?? {};
    if (files?.b && node.options.shardFiles && shard !== undefined) {
      node.cut();
      return (await all(node)).shard(shard.count, shard.index);
    }
    if (splits === undefined || provider === null || replicate?.b) return await all(node);
    const read = await row(node);
    let repetitions = 0;
    return generated({ kind: "Splits", specs: node.specs }, async function* () {
      const repetition = repetitions++;
      for (let split; (split = await splits.next(provider, repetition)) !== null;) {
        yield read(split);
      }
    });
  };
}

type SplitReader = (node: StageNode) => Promise<(split: NdArray) => Element>;

/** A split of a range is the number itself, in TensorFlow's dtype for it. */
const numbers: SplitReader = ({ specs: [{ dtype }] }) =>
  Promise.resolve((
    split,
  ) => [split.dtype === dtype ? split : toNdArray(Number(split.at(0)), { dtype })]);

async function rangeOf(node: StageNode): Promise<AnyDataset> {
  const [start, stop, step] = await Promise.all([0, 1, 2].map((i) => node.number(i)));
  return range(start, stop, step, { dtype: node.specs[0].dtype });
}

async function components(node: StageNode): Promise<NdArray[]> {
  return await Promise.all(node.specs.map((_, i) => node.value(i)));
}

const rows: SplitReader = async (node) => {
  const all = await components(node);
  return (split) => all.map((x) => rowOf(x, Number(split.at(0))));
};

async function zipOf(node: StageNode): Promise<AnyDataset> {
  const inputs: AnyDataset[] = [];
  const count = Number(node.def.attr?.N?.i ?? 1);
  // Sources are numbered in this order, so inputs are built one after the other.
  for (let i = 0; i < count; i++) inputs.push(await node.input(i));
  return zip(inputs) as AnyDataset;
}

async function concatenate(node: StageNode): Promise<AnyDataset> {
  const first = await node.input(0);
  return first.concatenate(await node.input(1));
}

const RULES: readonly (readonly [string, Rule])[] = [
  ["RangeDataset", source(rangeOf, numbers)],
  ["TensorSliceDataset", source(async (node) => fromTensorSlices(await components(node)), rows)],
  [
    "TensorDataset",
    source(
      async (node) => fromTensors(await components(node)),
      async (node) => {
        const all = await components(node);
        return () => all;
      },
    ),
  ],
  ["ZipDataset", zipOf],
  ["ConcatenateDataset", concatenate],
  ["TakeDataset", async (node) => (await node.input()).take(await node.number(1))],
  ["SkipDataset", async (node) => (await node.input()).skip(await node.number(1))],
  ["RepeatDataset", async (node) => (await node.input()).repeat(await node.number(1))],
  ["PrefetchDataset", async (node) => (await node.input()).prefetch(await node.number(1))],
  ["UnbatchDataset", async (node) => (await node.input()).unbatch()],
  ["IgnoreErrorsDataset", async (node) => (await node.input()).ignoreErrors()],
  ["RebatchDatasetV2", async (node) =>
    rebatched(await node.input(), {
      specs: node.specs,
      sizes: Array.from((await node.value(1)).data as BigInt64Array, Number),
      dropRemainder: await node.number(2) !== 0,
    })],
  ["ShardDataset", shard],
  ["OptionsDataset", options],
  // Here the graph itself says how it is cut: by data, as there are no files.
  [
    "AutoShardDataset",
    async (node) => (await node.input()).shard(await node.number(1), await node.number(2)),
  ],
  ...["CacheDataset", "CacheDatasetV2"].map((op) => [op, cache] as const),
  ...["MapDataset", "ParallelMapDataset", "ParallelMapDatasetV2"].map((op) => [op, map] as const),
  ...["FilterDataset", "ParallelFilterDataset", "TakeWhileDataset"].map((op) =>
    [op, filter] as const
  ),
  ...["BatchDataset", "BatchDatasetV2", "ParallelBatchDataset"].map((op) => [op, batch] as const),
  ...["PaddedBatchDataset", "PaddedBatchDatasetV2"].map((op) => [op, paddedBatch] as const),
  ...[
    ...["ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3"],
    ...["ShuffleAndRepeatDataset", "ShuffleAndRepeatDatasetV2"],
  ].map((op) => [op, shuffle] as const),
  ...[
    ...["FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDatasetV2"],
    ...["ParallelInterleaveDatasetV3", "ParallelInterleaveDatasetV4"],
  ].map((op) => [op, interleave] as const),
  // Stages that only tune the run, or were checked where they were made.
  ...[
    ...["ModelDataset", "AssertCardinalityDataset", "OptimizeDatasetV2"],
    ...["MaxIntraOpParallelismDataset", "PrivateThreadPoolDataset", "FinalizeDataset"],
  ].map((op) => [op, pass] as const),
];

export const STAGES: ReadonlyMap<string, Rule> = new Map(RULES);
