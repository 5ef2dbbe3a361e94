/** Records of tf.train.Example, beside what TensorFlow writes and reads (make_example_fixtures.py). */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { spy } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import { mutateBytes, Random } from "../hostile/mutate.ts";
import fixtures from "./fixtures/examples.json" with { type: "json" };

const { io } = tf;

const RECORDS = Object.fromEntries(
  Object.entries(fixtures.records).map((
    [name, text],
  ) => [name, Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]),
);

interface Case {
  readonly records: readonly string[];
  readonly features: Readonly<Record<string, readonly unknown[]>>;
  readonly single: boolean;
  readonly names: readonly string[] | null;
  readonly out?: Readonly<Record<string, unknown>>;
  readonly error?: string;
}
const CASES = fixtures.cases as readonly unknown[] as readonly Case[];

type Features = tf.io.ExampleFeatures;

function featuresOf({ features }: Case): Features {
  return Object.fromEntries(
    Object.entries(features).map(([name, [kind, ...args]]) => [
      name,
      (io[kind as "VarLenFeature"] as (...args: unknown[]) => tf.io.VarLenFeature)(...args),
    ]),
  );
}

/** Whole numbers as their digits, as the fixtures have them. */
const plain = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(plain) : typeof value === "bigint" ? String(value) : value;

async function described(value: unknown): Promise<unknown> {
  if (value instanceof tf.RaggedTensor) return { ragged: plain(await value.array()) };
  if (value instanceof tf.SparseTensor) {
    // TensorFlow's indices are int64.
    const [indices, values, shape] = await Promise.all(value.components.map(described));
    return { sparse: [asInt64(indices), values, asInt64(shape)] };
  }
  const x = value as tf.Tensor;
  return { shape: x.shape, dtype: x.dtype, values: plain(await x.array()) };
}

function asInt64(described: unknown): unknown {
  const { shape, values } = described as { shape: unknown; values: unknown };
  const digits = (v: unknown): unknown => Array.isArray(v) ? v.map(digits) : String(v);
  return { shape, dtype: "int64", values: digits(values) };
}

function parsed(given: Case): unknown {
  const features = featuresOf(given), records = given.records.map((name) => RECORDS[name]);
  if (given.single) return io.parseSingleExample(records[0], features);
  return io.parseExample(
    records,
    features,
    given.names === null ? {} : { exampleNames: given.names },
  );
}

for (const given of CASES.filter((c) => c.out)) {
  const { records, features, single, out } = given;
  const name = `${single ? "parseSingleExample" : "parseExample"}(${records}, ${
    JSON.stringify(features).replaceAll('"', "")
  }) gives TensorFlow's tensors`;
  testOnDevices(name, async () => {
    const before = tf.memory().numTensors;
    const found = parsed(given) as Record<string, unknown>;
    for (const [key, wanted] of Object.entries(out!)) {
      assertEquals(await described(found[key]), wanted, key);
    }
    // What is handed out is all that is left, and it is the caller's.
    for (const value of Object.values(found)) (value as tf.Tensor).dispose();
    assertEquals(tf.memory().numTensors, before);
  });
}

testOnDevices("parseExample() refuses what TensorFlow refuses, in its words", () => {
  const refused = CASES.filter(({ error }) => error !== undefined);
  assertEquals(refused.length, 18);
  for (const given of refused) {
    assertThrows(() => parsed(given), tf.errors.InvalidArgumentError, given.error);
  }
});

Deno.test("parseSingleExample() names the feature that has another number of values", () => {
  for (const shape of [[], [2]]) {
    assertThrows(
      () => io.parseSingleExample(RECORDS.c, { n: io.FixedLenFeature(shape, "int64") }),
      tf.errors.InvalidArgumentError,
      `Key: n.  Number of int64 values != expected.  Values size: 8 but output shape: [${shape}]`,
    );
  }
});

testOnDevices("records of a file are parsed one by one or in batches, in tf.data", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/records.tfrecord`;
    const writer = new io.TFRecordWriter(path);
    for (let i = 0; i < 10; i++) {
      const ids = Array.from({ length: i % 4 }, (_, k) => BigInt(10 * i + k));
      await writer.write(io.encodeExample({ x: [i, i / 2], ids, name: `n${i}` }));
    }
    await writer.close();
    const features = {
      x: io.FixedLenFeature([2], "float32"),
      ids: io.RaggedFeature("int64"),
      name: io.VarLenFeature("string"),
    };
    const batches = tf.data.tfrecord(path).batch(4).map((r) => io.parseExample(r, features));
    assertEquals(
      String(batches.elementSpec),
      "{x: float32[?,2], ids: ragged int64[?,?], name: sparse string[?,?]}",
    );
    const ids: unknown[] = [], names: unknown[] = [], sizes: number[] = [];
    for await (const batch of batches) {
      ids.push(...batch.ids.toList() as unknown[]);
      names.push(...batch.name.values.arraySync() as unknown[]);
      sizes.push(batch.x.shape[0]!);
      tf.dispose(batch);
    }
    assertEquals(sizes, [4, 4, 2]);
    assertEquals(ids.slice(1, 4), [[10n], [20n, 21n], [30n, 31n, 32n]]);
    assertEquals(names, Array.from({ length: 10 }, (_, i) => `n${i}`));
    const single = tf.data.tfrecord(path).map((r) => io.parseSingleExample(r, features));
    assertEquals(
      String(single.elementSpec),
      "{x: float32[2], ids: int64[?], name: sparse string[?]}",
    );
    // What is parsed is batched as any other elements are.
    const padded = single.map(({ x, ids }) => ({ x, ids })).paddedBatch(5);
    const shapes: unknown[] = [];
    for await (using batch of padded) shapes.push([batch.x.shape, batch.ids.shape]);
    assertEquals(shapes, [[[5, 2], [5, 3]], [[5, 2], [5, 3]]]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

testOnDevices("parseExample() runs in graphs, and in those that were written down", async () => {
  const graph = new tf.Graph();
  const names = graph.asDefault(() => {
    const records = tf.placeholder("string", [null], "records");
    const { x, s } = io.parseExample(records, {
      x: io.FixedLenFeature([2], "float32", [7, 8]),
      s: io.VarLenFeature("string"),
    });
    return [tf.mul(x, 2).name, s.values.name];
  });
  assertEquals(tf.portability(graph), []);
  const copy = new tf.Graph();
  const text = JSON.stringify(graph.toGraphDef());
  copy.asDefault(() => tf.importGraphDef(JSON.parse(text), { prefix: "" }));
  for (const g of [graph, copy]) {
    await using sess = new tf.Session({ graph: g });
    const records = new tf.NdArray("string", [2], [RECORDS.a, RECORDS.empty]);
    const feeds = { "records:0": records };
    const [twice, words] = await sess.run(names, { feeds }) as tf.NdArray[];
    assertEquals([twice.toArray(), words.strings()], [[[2, 4], [14, 16]], ["p", "q€"]]);
  }
});

Deno.test("encodeExample() writes TensorFlow's bytes", () => {
  const { encodeExample } = io;
  assertEquals(encodeExample({ x: [1, 2], n: 3n, s: ["p", "q€"] }), RECORDS.a);
  assertEquals(
    encodeExample({ s: [], n: new BigInt64Array([4n, -5n]), x: new Float64Array([5, -0.5]) }),
    RECORDS.b,
  );
  const n = [2n ** 62n, -(2n ** 63n), 0n, 127n, 128n, 2n ** 31n, 2n ** 32n, -1n];
  assertEquals(encodeExample({ n }), RECORDS.c);
  assertEquals(encodeExample({}), RECORDS.empty);
  // Whatever holds the values.
  using x = tf.tensor([[1], [2]]);
  const bytes = [new TextEncoder().encode("p"), new TextEncoder().encode("q€")];
  const n8 = new tf.NdArray("uint8", [1], Uint8Array.of(3));
  assertEquals(encodeExample({ x, n: n8, s: bytes }), RECORDS.a);
});

Deno.test("what encodeExample() wrote parseExample() reads, bytes and long lists too", () => {
  const image = Uint8Array.from({ length: 300 }, (_, i) => i & 255);
  const floats = Float32Array.from({ length: 5000 }, (_, i) => Math.fround(i / 3));
  const record = io.encodeExample({ image, floats, flag: true, __proto__: "x" } as never);
  const { image: read, floats: list, flag } = io.parseSingleExample(record, {
    image: io.FixedLenFeature([], "string"),
    floats: io.FixedLenFeature([5000], "float32"),
    flag: io.FixedLenFeature([], "int64"),
  });
  assertEquals(read.ndarraySync().data[0], image);
  assertEquals(list.dataSync(), floats);
  assertEquals(flag.arraySync(), 1n);
  tf.dispose([read, list, flag]);
});

Deno.test("what no example can hold, and features that cannot be asked for, are named", () => {
  const cases: [unknown, string][] = [
    [undefined, 'Cannot write the feature "a": Cannot convert undefined'],
    [null, 'Cannot write the feature "a": Cannot convert null'],
    [[1, "b"], 'Cannot write the feature "a": Cannot convert "b" to float32'],
    [Promise.resolve(1), 'Cannot write the feature "a": Cannot convert a value of type Promise'],
    [[[1], [2, 3]], 'Cannot write the feature "a": Cannot convert a ragged nested array'],
    [new tf.NdArray("complex64", [1], Float32Array.of(1, 2)), "received complex64"],
  ];
  for (const [value, says] of cases) {
    assertThrows(() => io.encodeExample({ a: value as number }), TypeError, says);
  }
  assertThrows(() => io.encodeExample(3 as never), TypeError, "wanted an object of features");
  const wrong: [() => unknown, string][] = [
    [() => ({}), "Argument `features` cannot be null or empty"],
    [() => null, "Argument `features` cannot be null or empty: received null"],
    [() => ({ n: 3 }), "Unsupported feature 3 of type number for key 'n'"],
    [() => ({ n: io.VarLenFeature("int32" as "int64") }), "must be int64, float32 or string"],
    [() => ({ n: io.FixedLenFeature([null as never], "int64") }), "FixedLenSequenceFeature"],
    [() => ({ n: io.FixedLenFeature([2], "int64", 3) }), "default of shape [] for feature n"],
    [
      () => ({ n: io.FixedLenSequenceFeature([2], "int64", [1n, 2n]) }),
      "default of shape [2] for feature n: wanted one value",
    ],
    [
      () => ({ n: io.VarLenFeature("int64"), m: io.RaggedFeature("int64", "n") }),
      'Cannot ask for the feature "n" both as varLen and ragged',
    ],
  ];
  for (const [features, says] of wrong) {
    assertThrows(
      () => io.parseExample([RECORDS.a], features() as Features),
      tf.ValueError,
      says,
    );
  }
  const rows = { n: io.RaggedFeature("int64") };
  assertThrows(() => io.parseExample(RECORDS.a, rows), tf.ValueError, "parseSingleExample()");
  assertThrows(
    () => io.parseSingleExample([RECORDS.a] as never, rows),
    tf.ValueError,
    "must be a scalar",
  );
  assertThrows(
    () => io.parseExample([RECORDS.a], { n: io.FixedLenFeature([], "int64", 1.5) }),
    TypeError,
  );
});

Deno.test("damaged records among many end a pass, or are left out", async () => {
  const records = tf.data.fromTensorSlices(
    new tf.NdArray("string", [3], [RECORDS.a, RECORDS.garbage, RECORDS.b]),
  );
  const parsed = records.map((r) => io.parseSingleExample(r, { n: io.VarLenFeature("int64") }));
  const wanted = "Could not parse example input, value: 'abcdef'";
  await assertRejects(() => parsed.toArray(), tf.errors.InvalidArgumentError, wanted);
  const left: unknown[] = [];
  for await (const { n } of parsed.ignoreErrors().asNumpyIterator()) left.push(n.values.toArray());
  assertEquals(left, [[3n], [4n, -5n]]);
});

Deno.test("parseExample() of damaged bytes gives values, or says that they are no example", () => {
  const random = new Random(17), whole = Object.values(RECORDS);
  const features = {
    n: io.RaggedFeature("int64"),
    x: io.FixedLenSequenceFeature([], "float32"),
    s: io.VarLenFeature("string"),
  };
  let refused = 0;
  for (let i = 0; i < 400; i++) {
    const damaged = mutateBytes(random.of(whole), random, whole);
    try {
      tf.dispose(Object.values(io.parseExample([RECORDS.a, damaged], features)) as tf.Tensor[]);
    } catch (error) {
      if (!(error instanceof tf.errors.InvalidArgumentError)) throw error;
      assertMatch(error.message, /Could not parse example input|Data types don't match/);
      refused++;
    }
  }
  assert(refused > 100 && refused < 400, `${refused} of 400 were refused`);
});

Deno.test("parseExample() reads keys as texts once, however many records have them", () => {
  const decoded = (n: number): number => {
    const records = Array.from({ length: n }, (_, i) => io.encodeExample({ a: i, b: [i], c: "x" }));
    using read = spy(TextDecoder.prototype, "decode");
    io.parseExample(records, { b: io.FixedLenFeature([1], "float32") }).b.dispose();
    return read.calls.length;
  };
  assertEquals(decoded(1000), decoded(10));
});
