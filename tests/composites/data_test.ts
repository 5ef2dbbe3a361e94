// Stages of datasets of ragged and sparse tensors. Expected elements and specs are TensorFlow 2.21's.

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { deep, pairs, plain, ragged, sparse, sparseOf } from "./values.ts";

type Any = tf.data.Dataset<unknown>;

const slices = (make: () => unknown): Any => tf.data.fromTensorSlices(make() as tf.Tensor);
const one = (make: () => unknown): Any => tf.data.fromTensors(make() as tf.Tensor);
const wide = () => new tf.SparseTensor([[0, 1]], [5], [2, 4]);
const parsed = (): Any => {
  const records = [[1, 2], [3]].map((k) => tf.io.encodeExample({ k }));
  const features = { k: tf.io.VarLenFeature("float32") };
  return tf.data.fromTensorSlices(tf.tensor(records as unknown as string[], [2], "string"))
    .map((s: tf.Tensor) => tf.io.parseSingleExample(s, features).k);
};
const ROWS = [[1, 2], [], [3, 4, 5]];
const SPARSE_ROWS = [sparseOf([[1]], [5], [2]), sparseOf([], [], [2]), sparseOf([[0]], [6], [2])];
const SPARSE_PAIRS = [sparseOf([[0, 1]], [5], [2, 2]), sparseOf([[0, 0]], [6], [1, 2])];

const STAGES: Record<
  string,
  readonly [make: () => Any, spec: string, elements: readonly unknown[]]
> = {
  "slices of ragged": [() => slices(ragged), "ragged float32[?]", ROWS],
  "slices of ragged, batch": [() => slices(ragged).batch(2), "ragged float32[?,?]", [
    ROWS.slice(0, 2),
    [ROWS[2]],
  ]],
  "slices of ragged, whole batches": [
    () => slices(ragged).batch(2, { dropRemainder: true }),
    "ragged float32[2,?]",
    [ROWS.slice(0, 2)],
  ],
  "slices of ragged, raggedBatch": [() => slices(ragged).raggedBatch(2), "ragged float32[?,?]", [
    ROWS.slice(0, 2),
    [ROWS[2]],
  ]],
  "slices of deep ragged": [() => slices(deep), "ragged float32[?,?]", [[[1], []], [[2, 3]]]],
  "slices of deep ragged, batch": [() => slices(deep).batch(2), "ragged float32[?,?,?]", [[[
    [1],
    [],
  ], [[2, 3]]]]],
  "slices of slices of deep ragged": [() => slices(deep).unbatch(), "ragged float32[?]", [[1], [], [
    2,
    3,
  ]]],
  "slices of pairs": [() => slices(pairs), "ragged float32[?,2]", [[[1, 2]], [[3, 4], [5, 6]]]],
  "slices of pairs, batch": [() => slices(pairs).batch(2), "ragged float32[?,?,2]", [[[[1, 2]], [[
    3,
    4,
  ], [5, 6]]]]],
  "slices of sparse": [() => slices(sparse), "sparse float32[2]", SPARSE_ROWS],
  "slices of sparse, batch": [() => slices(sparse).batch(2), "sparse float32[?,2]", SPARSE_PAIRS],
  "slices of sparse, raggedBatch": [
    () => slices(sparse).raggedBatch(2),
    "sparse float32[?,2]",
    SPARSE_PAIRS,
  ],
  "one ragged": [() => one(ragged), "ragged float32[3,?]", [ROWS]],
  "one ragged, batch": [() => one(ragged).repeat(2).batch(2), "ragged float32[?,3,?]", [[
    ROWS,
    ROWS,
  ]]],
  "one ragged, whole batch": [
    () => one(ragged).repeat(2).batch(2, { dropRemainder: true }),
    "ragged float32[2,3,?]",
    [[ROWS, ROWS]],
  ],
  "one ragged, unbatch": [() => one(ragged).unbatch(), "ragged float32[?]", ROWS],
  "batches of ragged, rebatch": [() => slices(ragged).batch(3).rebatch(2), "ragged float32[?,?]", [
    ROWS.slice(0, 2),
    [ROWS[2]],
  ]],
  "batches of sparse, rebatch": [
    () => slices(sparse).batch(1).rebatch(2),
    "sparse float32[?,2]",
    SPARSE_PAIRS,
  ],
  "one sparse": [() => one(sparse), "sparse float32[3,2]", [
    sparseOf([[0, 1], [2, 0]], [5, 6], [3, 2]),
  ]],
  "one sparse, unbatch": [() => one(sparse).unbatch(), "sparse float32[2]", SPARSE_ROWS],
  "sparse of two shapes, batch": [
    () => one(sparse).concatenate(one(wide)).batch(2),
    "sparse float32[?,?,?]",
    [sparseOf([[0, 0, 1], [0, 2, 0], [1, 0, 1]], [5, 6, 5], [2, 3, 4])],
  ],
  "windows of ragged": [
    () => slices(ragged).window(2).flatMap((w) => w.batch(2) as Any),
    "ragged float32[?,?]",
    [ROWS.slice(0, 2), [ROWS[2]]],
  ],
  "windows of sparse": [
    () => slices(sparse).window(2).flatMap((w) => w.batch(2) as Any),
    "sparse float32[?,2]",
    SPARSE_PAIRS,
  ],
  "cache, shuffle, repeat": [
    () => slices(ragged).batch(3).cache().shuffle(2).repeat(2),
    "ragged float32[?,?]",
    [ROWS, ROWS],
  ],
  "cache and repeat of sparse": [
    () => slices(sparse).cache().repeat(2),
    "sparse float32[2]",
    [...SPARSE_ROWS, ...SPARSE_ROWS],
  ],
  "take, skip, concatenate": [
    () => slices(sparse).take(1).concatenate(slices(sparse).skip(2)),
    "sparse float32[2]",
    [SPARSE_ROWS[0], SPARSE_ROWS[2]],
  ],
  "map of ragged": [
    () => slices(ragged).batch(3).map((x) => (x as tf.RaggedTensor).map(tf.neg)),
    "ragged float32[?,?]",
    [[[-1, -2], [], [-3, -4, -5]]],
  ],
  "map of sparse to dense": [
    () => slices(sparse).map((x) => (x as tf.SparseTensor).toDense()),
    "float32[2]",
    [[0, 5], [0, 0], [6, 0]],
  ],
  "filter": [
    () => slices(ragged).filter((x) => tf.greater(tf.size(x as tf.Tensor), 0)),
    "ragged float32[?]",
    [[1, 2], [3, 4, 5]],
  ],
  "interleave": [
    () => slices(deep).interleave((x) => slices(() => x), { cycleLength: 2 }),
    "ragged float32[?]",
    [[1], [2, 3], []],
  ],
  "parsed examples, batch": [() => parsed().batch(2), "sparse float32[?,?]", [
    sparseOf([[0, 0], [0, 1], [1, 0]], [1, 2, 3], [2, 2]),
  ]],
  "bucketBySequenceLength": [
    () =>
      slices(ragged).bucketBySequenceLength((x) => tf.size(x as tf.Tensor), {
        bucketBoundaries: [2],
        bucketBatchSizes: [1, 2],
        noPadding: true,
      }),
    "ragged float32[?,?]",
    [[[]], [[1, 2], [3, 4, 5]]],
  ],
};

for (const [name, [make, spec, elements]] of Object.entries(STAGES)) {
  testOnDevices(`${name}: elements as TensorFlow has them`, async () => {
    const dataset = make(), found: unknown[] = [];
    assertEquals(String(dataset.elementSpec), spec);
    for await (const e of dataset) {
      found.push(await plain(e));
      tf.dispose(e);
    }
    assertEquals(found, elements);
  });
}

testOnDevices("stages keep ragged and sparse tensors in nests apart", async () => {
  const both = tf.data.fromTensorSlices(
    { r: ragged(), s: sparse(), y: [7, 8, 9] } as unknown as tf.Tensor,
  );
  const found: unknown[] = [];
  for await (const e of both.batch(2) as Any) found.push(await plain(e));
  assertEquals(found, [
    { r: [[1, 2], []], s: SPARSE_PAIRS[0], y: [7, 8] },
    { r: [[3, 4, 5]], s: SPARSE_PAIRS[1], y: [9] },
  ]);
  const zipped = tf.data.zip([slices(ragged), slices(sparse)]) as Any;
  for await (const e of zipped.take(1)) assertEquals(await plain(e), [[1, 2], SPARSE_ROWS[0]]);
});

testOnDevices("datasets of ragged and sparse tensors are saved and loaded", async () => {
  const file = await Deno.makeTempFile();
  for (const make of [() => slices(ragged), () => slices(sparse).batch(2)]) {
    const wanted: unknown[] = [], found: unknown[] = [];
    for await (const e of make()) wanted.push(await plain(e));
    await make().save(file);
    const loaded = await tf.data.load(file) as unknown as Any;
    for await (const e of loaded) found.push(await plain(e));
    assertEquals(found, wanted);
  }
});

/** Stages that hold elements, or parts of them, where a pass is saved. */
const HELD: Readonly<Record<string, () => Any>> = {
  "ragged rows, shuffled": () => slices(ragged).repeat(2).shuffle(3, 7),
  "sparse rows, shuffled": () => slices(sparse).repeat(2).shuffle(3, 7),
  "ragged batches, rebatched": () => slices(ragged).repeat(3).batch(3).rebatch(2),
  "sparse batches, unbatched": () => slices(sparse).repeat(2).batch(3).unbatch(),
  "windows of sparse rows": () =>
    slices(sparse).repeat(2).window(2).flatMap((w) => w.batch(2) as Any),
  "rows of deep ragged ones": () => slices(deep).interleave((x) => slices(() => x)),
  "both in a nest, read ahead": () =>
    tf.data.zip([slices(ragged), slices(sparse)]).repeat(2).prefetch(2) as Any,
};

for (const [name, make] of Object.entries(HELD)) {
  testOnDevices(`a pass over ${name}, goes on from wherever it was saved`, async () => {
    const wanted: unknown[] = [];
    for await (const e of make()) wanted.push(await plain(e));
    for (let at = 0; at <= wanted.length; at++) {
      using _scope = tf.scope();
      const pass = make().iterator();
      for (let i = 0; i < at; i++) await pass.next();
      const state = await pass.save();
      await pass.return();
      const found: unknown[] = [], rest = make().iterator(state);
      for await (const e of rest) found.push(await plain(e));
      assertEquals(found, wanted.slice(at), `from ${at}`);
    }
  });
}

testOnDevices("stages that take tensors alone name the composite value", async () => {
  assertThrows(
    () => slices(ragged).paddedBatch(2),
    TypeError,
    "paddedBatch() is only supported for datasets that produce tensor elements, but elements hold ragged float32[?]",
  );
  assertThrows(() => slices(sparse).paddedBatch(2), TypeError, "elements hold sparse float32[2]");
  assertThrows(
    () => slices(sparse).unbatch(),
    tf.ValueError,
    "Cannot slice values of sparse float32[2]: rank of input SparseTensor should be > 1, but saw rank: 1",
  );
  assertThrows(
    () => tf.data.fromTensorSlices({ r: ragged(), y: [1, 2] } as unknown as tf.Tensor),
    tf.ValueError,
    "Dimensions 3 and 2 are not compatible",
  );
  assertThrows(
    () => slices(ragged).concatenate(slices(sparse)),
    TypeError,
    "no common element type",
  );
  // A row is a tensor to a function, whose results are tensors of different lengths.
  const mapped = slices(ragged).map((x) => tf.neg(x as tf.Tensor)).batch(2);
  await assertRejects(
    () => Array.fromAsync(mapped as Any),
    tf.errors.InvalidArgumentError,
    "number of elements does not match",
  );
});
