/** Ragged features with partitions: the lists are those of TensorFlow's parse_example and parse_single_example. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const { io } = tf;
type Parts = readonly tf.io.RaggedPartition[];

const ints = (list: readonly number[]): bigint[] => list.map(BigInt);
const record = (features: Record<string, readonly number[]>): Uint8Array<ArrayBuffer> =>
  io.encodeExample(
    Object.fromEntries(Object.entries(features).map(([key, list]) => [key, ints(list)])),
  );

const A = record({
  v: [1, 2, 3, 4, 5, 6],
  splits: [0, 2, 2, 6],
  lengths: [2, 0, 4],
  starts: [0, 2, 2],
  limits: [2, 2, 6],
  ids: [0, 0, 2, 2, 2, 2],
  outer: [0, 1, 3],
});
const B = record({
  v: [7, 8],
  splits: [0, 2],
  lengths: [2],
  starts: [0],
  limits: [2],
  ids: [0, 0],
  outer: [0, 1],
});
const NONE = record({});

const THREE = [[1, 2], [], [3, 4, 5, 6]], ONE = [[7, 8]];
/** Partitions of the values, and the rows of both records. */
const CASES: Readonly<Record<string, readonly [Parts, first: unknown, second: unknown]>> = {
  rowSplits: [[{ rowSplits: "splits" }], THREE, ONE],
  rowLengths: [[{ rowLengths: "lengths" }], THREE, ONE],
  rowStarts: [[{ rowStarts: "starts" }], THREE, ONE],
  rowLimits: [[{ rowLimits: "limits" }], THREE, ONE],
  valueRowIds: [[{ valueRowIds: "ids" }], THREE, ONE],
  uniformRowLength: [[{ uniformRowLength: 2 }], [[1, 2], [3, 4], [5, 6]], ONE],
  "two lengths": [
    [{ uniformRowLength: 1 }, { uniformRowLength: 2 }],
    [[[1, 2]], [[3, 4]], [[5, 6]]],
    [ONE],
  ],
  "splits of lengths": [
    [{ rowSplits: "outer" }, { rowLengths: "lengths" }],
    [[[1, 2]], [[], [3, 4, 5, 6]]],
    [ONE],
  ],
  "one length of lengths": [
    [{ uniformRowLength: 1 }, { rowLengths: "lengths" }],
    [[[1, 2]], [[]], [[3, 4, 5, 6]]],
    [ONE],
  ],
};

/** Lists of numbers. */
function listOf(value: unknown): unknown {
  const { toList, toArray, arraySync } = value as Record<string, (() => unknown) | undefined>;
  const list = (toList ?? toArray ?? arraySync)!.call(value);
  const plain = (x: unknown): unknown => Array.isArray(x) ? x.map(plain) : Number(x);
  return plain(list);
}

for (const [name, [parts, first, second]] of Object.entries(CASES)) {
  testOnDevices(`values of ragged features are parted by ${name}`, async () => {
    const features = { x: io.RaggedFeature("int64", "v", parts), v: io.RaggedFeature("int64") };
    const all = [first, second, []];
    const batch = io.parseExample([A, B, NONE], features);
    assertEquals(listOf(batch.x), all);
    assertEquals(listOf(batch.v), [[1, 2, 3, 4, 5, 6], [7, 8], []]);
    assertEquals(listOf(io.parseSingleExample(A, features).x), first);

    const records = new tf.NdArray("string", [3], [A, B, NONE]);
    const compiled = tf.function((r: tf.Tensor) => io.parseExample(r, features).x);
    assertEquals(listOf(compiled(tf.tensor(records))), all);

    const rows = tf.data.fromTensorSlices(records);
    const singles = await rows.map((r) => io.parseSingleExample(r, features)).take(2).toArray();
    assertEquals(singles.map(({ x }) => listOf(x)), [first, second]);
    const batches = await rows.batch(3).map((r) => io.parseExample(r, features)).toArray();
    assertEquals(batches.map(({ x }) => listOf(x)), [all]);
  });
}

const { RaggedFeature } = io;
const { RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength } =
  RaggedFeature;
/** Partitions by TensorFlow's names: what its parse_example makes of two records and parse_single_example of the first, and their shapes. */
const NAMED: Readonly<
  Record<string, readonly [Parts, first: unknown, second: unknown, rank: number, dims: unknown]>
> = {
  RowSplits: [[RowSplits("splits")], THREE, ONE, 2, [2, null, null]],
  RowLengths: [[RowLengths("lengths")], THREE, ONE, 2, [2, null, null]],
  RowStarts: [[RowStarts("starts")], THREE, ONE, 2, [2, null, null]],
  RowLimits: [[RowLimits("limits")], THREE, ONE, 2, [2, null, null]],
  ValueRowIds: [[ValueRowIds("ids")], THREE, ONE, 2, [2, null, null]],
  UniformRowLength: [[UniformRowLength(2)], [[1, 2], [3, 4], [5, 6]], ONE, 1, [2, null, 2]],
  "two lengths": [
    [UniformRowLength(1), UniformRowLength(2)],
    [[[1, 2]], [[3, 4]], [[5, 6]]],
    [ONE],
    1,
    [2, null, 1, 2],
  ],
  "RowSplits of RowLengths": [
    [RowSplits("outer"), RowLengths("lengths")],
    [[[1, 2]], [[], [3, 4, 5, 6]]],
    [ONE],
    3,
    [2, null, null, null],
  ],
};

for (const [name, [parts, first, second, rank, dims]] of Object.entries(NAMED)) {
  testOnDevices(`RaggedFeature.${name}: TensorFlow's rows, ragged rank and extents`, () => {
    const x = RaggedFeature("int64", "v", parts);
    const batch = io.parseExample([A, B], { x }).x;
    assertEquals(listOf(batch), [first, second]);
    assertEquals(batch.raggedRank, rank);
    const extents = batch.flatValues.shape.slice(1);
    const tail = (dims as (number | null)[]).slice(rank + 1);
    assertEquals([batch.rowSplits.shape[0] - 1, ...extents], [2, ...tail]);
    assertEquals(listOf(io.parseSingleExample(A, { x }).x), first);
  });
}

testOnDevices("rows of one length that does not divide give TensorFlow's error", () => {
  const five = record({ v: [1, 2, 3, 4, 5] });
  const cases: readonly (readonly [Uint8Array<ArrayBuffer>[], Parts, count: number, of: number])[] =
    [
      [[five, B], [UniformRowLength(2)], 7, 2],
      [[five], [UniformRowLength(2)], 5, 2],
      [[A], [UniformRowLength(4)], 6, 4],
      [[five, B], [{ uniformRowLength: 4 }], 7, 4],
      [[five, B], [UniformRowLength(1), UniformRowLength(2)], 7, 2],
      [[A], [UniformRowLength(2), UniformRowLength(2)], 6, 4],
      [[five, B], [RowLengths("lengths"), UniformRowLength(2)], 7, 2],
    ];
  for (const [records, parts, count, of] of cases) {
    const x = RaggedFeature("int64", "v", parts);
    const parses = [() => io.parseExample(records, { x }).x];
    const compiled = tf.function((r: tf.Tensor) => io.parseExample(r, { x }).x);
    parses.push(() => compiled(tf.tensor(new tf.NdArray("string", [records.length], records))));
    if (records.length === 1) {
      parses.push(() => io.parseSingleExample(records[0], { x }).x as tf.RaggedTensor);
    }
    for (const parse of parses) {
      assertThrows(
        () => listOf(parse()),
        tf.errors.InvalidArgumentError,
        `Input to reshape is a tensor with ${count} values, but the requested shape requires a multiple of ${of}`,
      );
    }
  }
  for (const make of [RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds]) {
    assertThrows(() => make(3 as never), tf.ValueError, "Cannot part a ragged feature by");
  }
  for (const length of [0, -1, 1.5, "2"]) {
    assertThrows(
      () => UniformRowLength(length as never),
      tf.ValueError,
      "Cannot part a ragged feature by",
    );
  }
});

/** Types tell which key a partition has: this compiles. */
const typed: { readonly rowSplits: string } = RowSplits("s");

Deno.test("partitions by TensorFlow's names are those by ours", () => {
  assertEquals(typed, { rowSplits: "s" });
  assertEquals(UniformRowLength(3), { uniformRowLength: 3 });
  assertEquals(
    RaggedFeature("int64", "v", [RowSplits("s"), UniformRowLength(3)]),
    RaggedFeature("int64", "v", [{ rowSplits: "s" }, { uniformRowLength: 3 }]),
  );
});

Deno.test("features of one key may be parted in many ways at once, and floats and strings too", () => {
  const own = io.encodeExample({ f: [1, 2, 3], s: ["a", "b", "c"], n: [1n, 2n] });
  const got = io.parseExample([own, own], {
    f: io.RaggedFeature("float32", undefined, [{ rowLengths: "n" }]),
    g: io.RaggedFeature("float32", "f"),
    s: io.RaggedFeature("string", "s", [{ uniformRowLength: 3 }]),
    n: io.RaggedFeature("int64"),
  });
  assertEquals(got.f.toList(), [[[1], [2, 3]], [[1], [2, 3]]]);
  assertEquals(got.g.toList(), [[1, 2, 3], [1, 2, 3]]);
  assertEquals(got.s.toList() as unknown, [[["a", "b", "c"]], [["a", "b", "c"]]]);
  assertEquals(listOf(got.n), [[1, 2], [1, 2]]);
});

Deno.test("partitions that do not fit are refused", () => {
  const wrong: readonly (readonly [Record<string, readonly number[]>, Parts])[] = [
    [{ v: [1, 2], p: [0, 1] }, [{ rowSplits: "p" }]],
    [{ v: [1, 2], p: [1, 2] }, [{ rowSplits: "p" }]],
    [{ v: [1, 2], p: [0, 3, 2] }, [{ rowSplits: "p" }]],
    [{ v: [1, 2], p: [1] }, [{ rowLengths: "p" }]],
    [{ v: [1, 2], p: [3, -1] }, [{ rowLengths: "p" }]],
    [{ v: [1, 2], p: [1] }, [{ rowStarts: "p" }]],
    [{ v: [1, 2], p: [1] }, [{ rowLimits: "p" }]],
    [{ v: [1, 2], p: [1, 0] }, [{ valueRowIds: "p" }]],
    [{ v: [1, 2], p: [0] }, [{ valueRowIds: "p" }]],
    [{ v: [1, 2] }, [{ rowSplits: "p" }]],
  ];
  for (const [features, parts] of wrong) {
    const x = io.RaggedFeature("int64", "v", parts);
    for (
      const parse of [
        () => io.parseExample([record(features)], { x }),
        () => io.parseSingleExample(record(features), { x }),
      ]
    ) {
      assertThrows(
        () => listOf(parse().x),
        tf.errors.InvalidArgumentError,
        "do not form a valid RaggedTensor",
      );
    }
  }
  for (const part of [{}, { rowSplits: 3 }, { rows: "p" }, { uniformRowLength: 0 }, null, "p"]) {
    assertThrows(
      () => io.RaggedFeature("int64", "v", [part] as never),
      tf.ValueError,
      "Cannot part a ragged feature by",
    );
  }
  const x = io.RaggedFeature("int64", "v", [{ rowSplits: "p" }]);
  assertThrows(
    () => io.parseSequenceExample([A], { contextFeatures: { x } }),
    tf.ValueError,
    "Unsupported partitions",
  );
  assertThrows(
    () => io.parseExample([A], { x, p: io.VarLenFeature("int64") }),
    tf.ValueError,
    'Cannot ask for the feature "p" both as',
  );
});
