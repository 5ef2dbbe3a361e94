/**
 * Pipelines beside TensorFlow's: specs, sizes, elements in their order, and errors are what make_pipelines.py found. What differs is
 * listed at the end, and in DIFFERENCES.md where a program would notice.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import fixtures from "./fixtures/pipelines.json" with { type: "json" };

const { data } = tf;
const { fromTensorSlices: slices, range: numbers, zip } = data;
type Numbers = tf.data.Dataset<tf.Tensor>;

const ints = (values: readonly number[]): tf.NdArray =>
  new tf.NdArray("int32", [values.length], Int32Array.from(values));
const list = tf.TensorSpec([null], "int32");

/** Elements 0, 1, …: lists of these lengths, each holding its number. */
const lists = (...lengths: number[]): Numbers =>
  data.fromGenerator(() => lengths.map((n, i) => new Int32Array(n).fill(i)), list);
const generated = (values: readonly unknown[], spec: tf.TensorSpec): Numbers =>
  data.fromGenerator(() => values, spec);

/** A number, but for those that fail. */
const failing = (...at: number[]) => (x: tf.Tensor) =>
  tf.debugging.checkNumerics(
    tf.where(tf.any(tf.equal(x, ints(at))), NaN, tf.cast(x, "float32")),
    "no",
  );
const scalar = tf.TensorSpec([], "int32");
/** So many elements of each number, which functions that say what they give may read. */
const rowsOf = (count: (i: number) => number) => (i: tf.Tensor) =>
  numbers(4).take(count(Number(i.item()))).map((k) => tf.add(tf.mul(i, 10), k));
const even = (x: tf.Tensor): tf.Tensor => tf.equal(tf.mod(x, 2), 0);
const sum = (s: tf.Tensor, x: tf.Tensor): tf.Tensor => tf.add(s, x);
const zero = (): tf.Tensor => tf.scalar(0, "int32");
const length = (x: tf.Tensor): tf.Tensor => tf.size(x);
const nest = () =>
  slices({
    b: ints([1, 2, 3]),
    a: [[[1, 2], [3, 4], [5, 6]], ["x", "y", "z"]].map((v) => tf.tensor(v)),
  });

async function items(dataset: Numbers | tf.data.DatasetIterator<tf.NdArray>): Promise<number[]> {
  const out: number[] = [];
  const pass = dataset instanceof data.Dataset ? dataset.asNumpyIterator() : dataset;
  for await (const x of pass) out.push(Number(x.item()));
  return out;
}

async function cached(): Promise<Numbers> {
  const seen: number[] = [];
  const look = (x: tf.NdArray): tf.NdArray => {
    seen.push(Number(x));
    return x;
  };
  const d = numbers(4).map((x) => tf.numpyFunction(look, [x], scalar)).cache();
  await items(d.take(2));
  await items(d);
  await items(d);
  return slices(ints(seen));
}

const sorted = (x: readonly number[]): string => String(x.toSorted((a, b) => a - b));

/** Which of two more passes equal the first, and which have the same elements. */
async function same(d: Numbers): Promise<Numbers> {
  const [first, ...others] = [await items(d), await items(d), await items(d)];
  return slices(tf.tensor([
    ...others.map((o) => String(o) === String(first)),
    ...others.map((o) => sorted(o) === sorted(first)),
  ]));
}

async function epochs(d: Numbers): Promise<Numbers> {
  const order = await items(d), [one, two] = [order.slice(0, 30), order.slice(30)];
  return slices(tf.tensor([String(one) === String(two), sorted(one) === sorted(two)]));
}

/** The elements after a checkpoint that was taken behind `count` of them. */
async function resumed(d: Numbers, count: number): Promise<Numbers> {
  const pass = d.asNumpyIterator();
  for (let i = 0; i < count; i++) await pass.next();
  const state = await pass.save();
  for (let i = 0; i < 2; i++) await pass.next();
  await pass.return();
  return slices(ints(await items(d.asNumpyIterator(state))));
}

type Made = tf.data.Dataset<never> | tf.data.Dataset<unknown>;
const both = { cycleLength: 2, outputSignature: scalar };
const blocks = { ...both, blockLength: 2 };
const three = (): number => 3;
const buckets = { bucketBoundaries: [3, 5], bucketBatchSizes: [2, 2, 1] };

const PIPELINES: Readonly<Record<string, () => unknown>> = {
  // Sources.
  "numbers down": () => numbers(10, 0, -3),
  "no numbers": () => numbers(3, 1),
  "nested slices": nest,
  "slices of unequal lengths": () => slices([ints([1, 2]), ints([1, 2, 3])]),
  "slices of a scalar": () => slices(3),
  "one nested element": () => data.fromTensors({ x: ints([1, 2]), y: [tf.scalar(3)] }),
  "generator": () => lists(2, 0, 1),
  "generator of another shape": () => generated([[1, 2], [3]], tf.TensorSpec([2], "int32")),
  "generator of another type": () => generated([1, "two"], scalar),
  "generator of another nest": () => data.fromGenerator(() => [[1, 2], 3], [scalar, scalar]),
  "generator of unknown rank": () => generated([[1, 2], [[3]], 4], tf.TensorSpec(null, "int32")),
  "zip to the shortest": () => zip([numbers(3), numbers(5)]),
  "zip of a nest": () => zip({ q: numbers(2), p: [numbers(2), nest()] }),
  "zip with an endless one": () => zip([numbers(2).repeat(), numbers(3)]),
  "concatenate": () => numbers(2).concatenate(numbers(5, 7)),
  "concatenate of other shapes": () =>
    slices(tf.zeros([1, 2], "int32")).concatenate(slices(tf.ones([1, 3], "int32"))),
  "concatenate of another dtype": () => numbers(2).concatenate(slices([1])),
  "choose": () =>
    data.chooseFromDatasets([numbers(2), numbers(10, 15)], slices(ints([0, 1, 0, 1, 0, 1, 1]))),
  "choose to the longest": () =>
    data.chooseFromDatasets(
      [numbers(2), numbers(10, 15)],
      slices(ints([0, 1, 0, 1, 0, 1, 1])),
      false,
    ),
  "choose out of range": () =>
    data.chooseFromDatasets([numbers(2), numbers(2)], slices(ints([0, 2]))),
  "sample with a weight of zero": () =>
    data.sampleFromDatasets([numbers(2), numbers(10, 12)], { weights: [0, 1], seed: 1 }),
  "sample until one is empty": () =>
    data.sampleFromDatasets([numbers(0), numbers(10, 12)], {
      ...{ weights: [1, 0], seed: 1 },
      stopOnEmptyDataset: true,
    }),
  // Batches.
  "batch with a remainder": () => numbers(5).batch(2),
  "batch without a remainder": () => numbers(5).batch(2, { dropRemainder: true }),
  "batch that is never full": () => numbers(3).batch(5, { dropRemainder: true }),
  "batch of a nest": () => nest().batch(2),
  "batch of unequal shapes": () => lists(2, 2, 3, 1).batch(2),
  "batch of none": () => numbers(3).batch(0),
  "batch of an endless one": () => numbers(3).repeat().batch(2).take(3),
  "batch of unknown shapes": () => lists(2, 2, 2).batch(2),
  "unbatch": () => numbers(5).batch(2).unbatch(),
  "unbatch of a nest": () => nest().batch(2).unbatch(),
  "rebatch": () => numbers(7).batch(3).rebatch(2),
  "rebatch of whole batches": () => numbers(7).batch(3).rebatch(2, { dropRemainder: true }),
  "rebatch into a larger one": () => nest().batch(2).rebatch(9),
  "rebatch of scalars": () => numbers(3).rebatch(2),
  "unbatch of scalars": () => numbers(3).unbatch(),
  "unbatch of unequal lengths": () => data.fromTensors([ints([1, 2]), ints([1, 2, 3])]).unbatch(),
  "padded batch": () => lists(1, 3, 2).paddedBatch(2),
  "padded batch of a shape": () => lists(1, 3, 2).paddedBatch(2, { paddedShapes: [4] }),
  "padded batch with a value": () => lists(1, 3, 2).paddedBatch(2, { paddingValues: -1 }),
  "padded batch that is too small": () => lists(1, 3, 2).paddedBatch(2, { paddedShapes: [2] }),
  "padded batch without a remainder": () => lists(1, 3, 2).paddedBatch(2, { dropRemainder: true }),
  "padded batch of a nest": () => zip({ x: lists(1, 2), y: numbers(2) }).paddedBatch(2),
  "padded batch of unknown rank": () =>
    generated([[1], [2]], tf.TensorSpec(null, "int32")).paddedBatch(2),
  "padded batch of strings": () =>
    slices(["ab", "c"]).map((s) =>
      tf.numpyFunction((s: tf.NdArray) => [...s.text()], [s], tf.TensorSpec([null], "string"))
    ).paddedBatch(2),
  "ragged batch": () => lists(1, 0, 3).raggedBatch(2),
  "window": () => numbers(7).window(3, { shift: 2, stride: 2 }).flatMap((w) => w.batch(3)),
  "window without a remainder": () =>
    numbers(7).window(3, { shift: 2, stride: 2, dropRemainder: true }).flatMap((w) => w.batch(3)),
  "window of its own size": () => numbers(5).window(2).flatMap((w) => w.batch(9)),
  "window that leaves some out": () =>
    numbers(7).window(1, { shift: 3 }).flatMap((w) => w.batch(1)),
  "bucket": () =>
    lists(1, 3, 2, 5, 1, 4, 2).bucketBySequenceLength(length, {
      ...{ bucketBoundaries: [2, 4], bucketBatchSizes: [2, 2, 1] },
    }),
  "bucket to boundaries": () =>
    lists(1, 3, 2, 1, 2).bucketBySequenceLength(length, { ...buckets, padToBucketBoundary: true }),
  "bucket beyond boundaries": () =>
    lists(1, 6).bucketBySequenceLength(length, {
      ...{ ...buckets, bucketBatchSizes: [1, 1, 1], padToBucketBoundary: true },
    }),
  "bucket without a remainder": () =>
    lists(1, 3, 1, 2, 1).bucketBySequenceLength(length, {
      ...{ bucketBoundaries: [2], bucketBatchSizes: [2, 2], dropRemainder: true },
    }),
  // Which elements.
  "take and skip": () => numbers(6).skip(1).take(3),
  "take -1": () => numbers(3).take(-1),
  "take more": () => numbers(3).take(9),
  "take 0": () => numbers(3).take(0),
  "skip -1": () => numbers(3).skip(-1),
  "skip more": () => numbers(3).skip(9),
  "take of an endless one": () => numbers(2).repeat().take(5),
  "skip of an endless one": () => numbers(2).repeat().skip(3).take(2),
  "repeat 0": () => numbers(3).repeat(0),
  "repeat 2": () => numbers(2).repeat(2),
  "repeat of nothing": () => numbers(0).repeat(3),
  "shard": () => numbers(7).shard(3, 1),
  "shard of too high an index": () => numbers(7).shard(3, 3),
  "filter": () => numbers(6).filter(even),
  "filter of a nest": () => zip([numbers(4), numbers(4, 8)]).filter((a, _) => even(a)),
  "filter by a vector": () => slices(tf.tensor([[1, 2]], [1, 2], "int32")).filter(even),
  "filter by a number": () => numbers(3).filter((x) => x),
  "takeWhile": () => numbers(9).takeWhile((x) => tf.less(x, 3)),
  "takeWhile of none": () => numbers(3).takeWhile((x) => tf.less(x, 0)),
  "enumerate": () => numbers(5, 7).enumerate(3),
  // Functions.
  "map to a list": () => numbers(2).map((x) => [x, tf.stack([tf.add(x, 1), tf.add(x, 2)])]),
  "map to a record": () => numbers(2).map((x) => ({ z: x, a: tf.neg(x) })),
  "map of components": () => zip([numbers(2), numbers(2)]).map((a, b) => tf.add(a, b)),
  "map to a constant": () => numbers(2).map(() => "seven"),
  "map in parallel": () => numbers(6).map((x) => tf.mul(x, x), { numParallelCalls: 3 }),
  "map that fails": () => numbers(4).map(failing(2)),
  "map in parallel that fails": () => numbers(5).map(failing(2), { numParallelCalls: 3 }),
  "map that fails, without its errors": () => numbers(5).map(failing(1, 3)).ignoreErrors(),
  "batch of what fails, without its errors": () =>
    numbers(6).map(failing(3)).batch(2).ignoreErrors(),
  "filter behind what fails, without its errors": () =>
    numbers(4).map(failing(1)).filter((x) => tf.less(x, 3)).ignoreErrors(),
  "flatMap": () => numbers(3).flatMap(rowsOf((i) => i + 1), { outputSignature: scalar }),
  "flatMap to no dataset": () => numbers(3).flatMap((x) => x as never),
  "flatMap of nothing within": () =>
    numbers(3).flatMap(rowsOf((i) => 3 * (i % 2)), { outputSignature: scalar }),
  "interleave": () => numbers(4).interleave(rowsOf(three), { ...both, blockLength: 1 }),
  "interleave in blocks": () => numbers(3).interleave(rowsOf(three), blocks),
  "interleave of unequal lengths": () =>
    numbers(4).interleave(rowsOf((i) => 1 + (i * 2) % 5), both),
  "interleave of more than there are": () =>
    numbers(2).interleave(rowsOf(() => 2), { ...both, cycleLength: 5, blockLength: 3 }),
  "interleave in parallel": () =>
    numbers(4).interleave(rowsOf((i) => 1 + i), {
      ...{ ...both, cycleLength: 3, blockLength: 2, numParallelCalls: 3 },
    }),
  "interleave with nothing within": () => numbers(5).interleave(rowsOf((i) => (i % 2) * 2), blocks),
  "scan": () => numbers(1, 5).scan(zero(), (s, x) => [tf.add(s, x), tf.mul(s, x)]),
  "scan to another dtype": () => numbers(2).scan(zero(), (s, x) => [tf.cast(s, "float32"), x]),
  "scan to another shape": () =>
    numbers(3).scan(ints([0]), (s, x) => [tf.concat([s, tf.reshape(x, [1])]), tf.sum(s)]),
  "reduce": async () => data.fromTensors(await numbers(5).reduce(tf.scalar(1, "int32"), sum)),
  "reduce of nothing": async () =>
    data.fromTensors(await numbers(0).reduce(tf.scalar(1, "int32"), sum)),
  "reduce of a nest": async () =>
    data.fromTensors(
      await zip([numbers(3), numbers(3)]).reduce(
        { n: zero(), s: zero() },
        (s, e) => ({ n: tf.add(s.n, 1), s: tf.add(s.s, tf.mul(e[0], e[1])) }),
      ),
    ),
  // What passes remember.
  "cache": () => numbers(3).cache().repeat(2),
  "cache whose first pass was left": cached,
  "shuffle of one": () => numbers(4).shuffle(1),
  "shuffle of none": () => numbers(3).shuffle(0),
  "shuffle keeps what it has": async () =>
    data.fromTensors(await numbers(9).shuffle(4, 2).reduce(zero(), sum)),
  "shuffle of a seed, thrice": () => same(numbers(30).shuffle(30, 3)),
  "shuffle of a seed, without another order": () => same(numbers(30).shuffle(30, 3, false)),
  "shuffle without a seed": () => same(numbers(30).shuffle(30)),
  "shuffle without a seed and without another order": () =>
    same(numbers(30).shuffle(30, { reshuffleEachIteration: false })),
  "shuffle before repeat": () => epochs(numbers(30).shuffle(30, 3).repeat(2)),
  "shuffle before repeat, without another order": () =>
    epochs(numbers(30).shuffle(30, 3, false).repeat(2)),
  "cache behind shuffle": () => same(numbers(30).shuffle(30).cache()),
  "shuffle in zip with itself": async () => {
    const d = numbers(30).shuffle(30, 3), pairs = zip([d, d]).map((a, b) => tf.equal(a, b));
    let all = true;
    for await (const isEqual of pairs.asNumpyIterator()) all &&= isEqual.item() === true;
    return slices(tf.tensor([all]));
  },
  "prefetch": () => numbers(3).prefetch(2),
  "prefetch 0": () => numbers(3).prefetch(0),
  "prefetch -2": () => numbers(3).prefetch(-2),
  "resumed": () => resumed(numbers(9).filter(even).repeat(2), 3),
  "resumed in a batch": () => resumed(numbers(9).batch(4).unbatch(), 3),
  "resumed in interleave": () => resumed(numbers(3).interleave(rowsOf(three), blocks), 3),
  "resumed at the end": () => resumed(numbers(3), 3),
  "resumed in a window": () => resumed(numbers(7).window(3, { shift: 2 }).flatMap((w) => w), 4),
  "resumed in a cache": () => resumed(numbers(4).cache().repeat(2), 5),
  "resumed in scan": () =>
    resumed(numbers(6).scan(zero(), (s, x) => [tf.add(s, x), tf.add(s, x)]), 3),
};

interface Outcome {
  readonly size?: number;
  readonly specs?: unknown;
  readonly elements?: unknown;
  readonly error?: string;
}

const NESTED = (value: unknown): value is object =>
  Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;

function plain(value: unknown): unknown {
  if (value instanceof tf.NdArray) {
    const texts = (v: unknown): unknown =>
      v instanceof Uint8Array ? new TextDecoder().decode(v) : Array.isArray(v) ? v.map(texts) : v;
    return texts(value.toArray());
  }
  if (Array.isArray(value)) return value.map(plain);
  if (!NESTED(value)) return (value as { toList(): unknown }).toList();
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, plain(v)]));
}

/** Specs in the order of flattened nests. */
function specsOf(spec: unknown): unknown[] {
  if (spec instanceof tf.RaggedTensorSpec) return [`ragged ${spec.dtype}`];
  if (Array.isArray(spec)) return spec.flatMap(specsOf);
  if (!NESTED(spec)) return [[(spec as tf.TensorSpec).dtype, (spec as tf.TensorSpec).shape]];
  const entries = Object.entries(spec).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.flatMap(([, v]) => specsOf(v));
}

async function outcome(make: () => unknown): Promise<Outcome> {
  const out: { -readonly [K in keyof Outcome]: Outcome[K] } = {};
  try {
    const dataset = await make() as tf.data.Dataset<tf.Tensor>;
    const { size } = dataset;
    out.size = size === null ? -2 : size === Infinity ? -1 : size;
    out.specs = specsOf(dataset.elementSpec);
    const elements: unknown[] = [];
    out.elements = elements;
    for await (const element of dataset.asNumpyIterator()) elements.push(plain(element));
  } catch (e) {
    out.error = (e as Error).name;
  }
  return out;
}

/** Differences from TensorFlow, with the reasons. */
const DIFFERENT: Readonly<Record<string, { readonly why: string } & Outcome>> = {
  ...Object.fromEntries(
    ["batch of none", "shard of too high an index", "shuffle of none", "prefetch -2"].map((
      name,
    ) => [
      name,
      {
        why: "A count that can be none is a ValueError: DIFFERENCES.md, counts",
        error: "ValueError",
      },
    ]),
  ),
  "flatMap to no dataset": {
    why: "Python has no attribute of a tensor that a dataset has",
    error: "TypeError",
  },
  "bucket beyond boundaries": {
    why: "TensorFlow's assertion fails within another function, which makes it internal",
    error: "InvalidArgumentError",
  },
  "bucket without a remainder": {
    why: "All batches are of two",
    specs: [["int32", [2, null]]],
  },
};

const names = Object.keys(fixtures);

testOnDevices("pipelines give what TensorFlow's give", async () => {
  assertEquals(Object.keys(PIPELINES), names);
  const wrong: string[] = [];
  for (const name of names) {
    const { text: _, ...tensorflow } =
      (fixtures as Record<string, Outcome & { text?: string }>)[name];
    const { why: _why, ...different } = DIFFERENT[name] ?? {};
    const wanted = { ...tensorflow, ...different }, found = await outcome(PIPELINES[name]);
    try {
      assertEquals(found, wanted);
    } catch {
      wrong.push(`${name}: ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
    }
  }
  assert(wrong.length === 0, wrong.join("\n"));
});
