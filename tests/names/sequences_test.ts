// tf.io.parseSequenceExample beside TensorFlow, in graphs and files, and what it refuses.

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { plain } from "../composites/values.ts";
import { assertNear } from "./harness.ts";
import TOLD from "./fixtures/sequences.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

const { io } = tf;
const RECORDS = TOLD.records.map((text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
const CONTEXT = {
  label: io.FixedLenFeature([], "int64"),
  words: io.VarLenFeature("string"),
  box: io.FixedLenFeature([2], "float32"),
  none: io.FixedLenFeature([1], "float32", [9]),
};
const LISTS = {
  ids: io.FixedLenSequenceFeature([], "int64"),
  pairs: io.FixedLenSequenceFeature([2], "float32"),
  tags: io.VarLenFeature("string"),
};
const RAGGED = { tags: io.RaggedFeature("string"), ids: LISTS.ids };

/** All numbers as plain ones, for records hold int64. */
function numbers(x: unknown): unknown {
  if (typeof x === "bigint") return Number(x);
  if (Array.isArray(x)) return x.map(numbers);
  if (typeof x !== "object" || x === null) return x;
  return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, numbers(value)]));
}
async function same(got: unknown, want: unknown, name: string): Promise<void> {
  assertNear(numbers(await plain(got)), want, 1e-6, name);
}

testOnDevices(
  "records with steps are parsed as TensorFlow does, eagerly and compiled",
  async () => {
    using _s = tf.scope();
    const features = { contextFeatures: CONTEXT, sequenceFeatures: LISTS };
    const parse = (x: tf.Tensor) => io.parseSequenceExample(x, features);
    const records = tf.tensor(RECORDS as Any, [3], "string");
    await same(io.parseSequenceExample(RECORDS, features), TOLD.batch, "bytes");
    await same(parse(records), TOLD.batch, "eager");
    await same(await tf.function(parse as Any).async(records), TOLD.batch, "compiled");
    const open = tf.function(parse as Any, { inputSignature: [tf.TensorSpec([null], "string")] });
    await same(await open.async(records), TOLD.batch, "unknown");
    const deep = {
      contextFeatures: { label: io.RaggedFeature("int64") },
      sequenceFeatures: RAGGED,
    };
    await same(io.parseSequenceExample(RECORDS, deep), TOLD.ragged, "ragged");
    const f = tf.function(((x: tf.Tensor) => io.parseSequenceExample(x, deep)) as Any);
    await same(await f.async(records), TOLD.ragged, "ragged compiled");
  },
);

testOnDevices("one record has no axis of records, in datasets and after a script too", async () => {
  using _s = tf.scope();
  const features = { contextFeatures: CONTEXT, sequenceFeatures: LISTS };
  for (const [i, record] of RECORDS.entries()) {
    await same(io.parseSingleSequenceExample(record, features), TOLD.single[i], `record ${i}`);
    const deep = io.parseSingleSequenceExample(record, { sequenceFeatures: RAGGED });
    await same(deep, TOLD.singleRagged[i], `ragged record ${i}`);
  }
  const ids = tf.data.array(RECORDS.map((r) => tf.tensor([r] as Any, [1], "string")))
    .map((x: Any) => io.parseSingleSequenceExample(tf.reshape(x, []), features)[1].ids);
  const found: unknown[] = [];
  await ids.forEachAsync(async (t: Any) => {
    found.push(numbers(await t.array()));
  });
  assertEquals(found, TOLD.single.map(([, lists]) => (lists as Any).ids) as unknown[]);
  const f = tf.function((x: tf.Tensor) => {
    const own = tf.numpyFunction((a: tf.NdArray) => a, [x], "string", { shapeFn: (spec) => spec });
    const [, { ids }, lengths] = io.parseSequenceExample(own, features);
    return [tf.sum(tf.cast(ids, "float32")), tf.cast(lengths.ids, "int32")];
  });
  const [sum, counts] = await f.async(tf.tensor(RECORDS as Any, [3], "string")) as tf.Tensor[];
  assertEquals([await sum.array(), await counts.array()] as unknown, [13, [3, 1, 0]]);
});

testOnDevices("graphs of files may have TensorFlow's older ops", async () => {
  using _s = tf.scope();
  const types = (...type: string[]) => ({ list: { type } });
  const shape = (...dim: number[]) => ({ dim: dim.map((size) => ({ size: String(size) })) });
  const strings = (name: string, values: Uint8Array[], dims: number[]) => ({
    name,
    op: "Const",
    attr: {
      dtype: { type: "DT_STRING" },
      value: {
        tensor: {
          dtype: "DT_STRING",
          tensorShape: shape(...dims),
          stringVal: values.map((v) => btoa(String.fromCharCode(...v))),
        },
      },
    },
  });
  const bytes = (s: string) => new TextEncoder().encode(s);
  const attr = {
    context_sparse_types: types("DT_STRING"),
    Ncontext_sparse: { i: "1" },
    feature_list_dense_types: types("DT_INT64"),
    Nfeature_list_dense: { i: "1" },
    feature_list_dense_shapes: { list: { shape: [shape()] } },
    feature_list_sparse_types: types("DT_STRING"),
    Nfeature_list_sparse: { i: "1" },
  };
  const keys = {
    context_sparse_keys: { list: { s: [btoa("words")] } },
    feature_list_dense_keys: { list: { s: [btoa("ids")] } },
    feature_list_sparse_keys: { list: { s: [btoa("tags")] } },
    feature_list_dense_missing_assumed_empty: { list: { s: [btoa("ids")] } },
  };
  const graph = new tf.Graph();
  const out = graph.asDefault(() =>
    tf.importGraphDef(
      {
        node: [
          strings("records", RECORDS, [3]),
          strings("none", [], [0]),
          strings("one", [RECORDS[0]], []),
          ...["words", "ids", "tags"].map((key) => strings(key, [bytes(key)], [])),
          strings("missing", [bytes("ids")], [1]),
          {
            name: "batch",
            op: "ParseSequenceExample",
            input: ["records", "none"],
            attr: { ...attr, ...keys },
          },
          {
            name: "single",
            op: "ParseSingleSequenceExample",
            input: ["one", "missing", "words", "tags", "ids", "words"],
            attr,
          },
        ],
      } as Any,
      {
        returnElements: ["batch:1", "batch:6", "batch:7", "single:1", "single:6"],
      } as Any,
    )
  ) as tf.Tensor[];
  const [words, ids, lengths, first, own] = await new tf.Session({ graph }).run(out) as Any[];
  const list = (x: Any): unknown => numbers(x?.toArray?.() ?? x);
  const decoded = (x: Any) =>
    [...x.data as Iterable<Uint8Array>].map((v) => new TextDecoder().decode(v));
  assertEquals(decoded(words), ["a", "bc"]);
  assertEquals(decoded(first), ["a", "bc"]);
  assertEquals(list(ids), (TOLD.batch as Any)[1].ids);
  assertEquals(list(lengths), (TOLD.batch as Any)[2].ids);
  assertEquals(list(own), [1, 2, 3]);
});

testOnDevices("records and features that do not fit are refused", async () => {
  using _s = tf.scope();
  const { InvalidArgumentError } = tf.errors, { ValueError } = tf, n = io as Any;
  const lists = (sequenceFeatures: Any) => () =>
    n.parseSequenceExample(RECORDS, { sequenceFeatures });
  const refusals: [() => unknown, Any, string][] = [
    [
      lists({ ids: io.FixedLenSequenceFeature([2], "int64") }),
      InvalidArgumentError,
      "values size: 1",
    ],
    [
      lists({ ids: io.FixedLenSequenceFeature([], "float32") }),
      InvalidArgumentError,
      "Data types don't match",
    ],
    [lists({ tags: io.VarLenFeature("int64") }), InvalidArgumentError, "Actual type: string"],
    [lists({ ids: io.FixedLenFeature([], "int64") }), ValueError, "FixedLenSequenceFeature"],
    [lists({ ids: { kind: "x" } }), ValueError, "Unsupported feature"],
    [lists({}), TypeError, "without features"],
    [() => n.parseSequenceExample(RECORDS, {}), TypeError, "without features"],
    [() => n.parseSequenceExample(RECORDS, { features: {} }), TypeError, "contextFeatures"],
    [() => n.parseSequenceExample(RECORDS[0], { sequenceFeatures: LISTS }), ValueError, "a vector"],
    [
      () => n.parseSingleSequenceExample(RECORDS, { sequenceFeatures: LISTS }),
      ValueError,
      "a scalar",
    ],
    [
      () => n.parseSequenceExample([Uint8Array.of(18, 5, 1)], { sequenceFeatures: LISTS }),
      InvalidArgumentError,
      "Could not parse",
    ],
    [
      () =>
        n.parseSequenceExample(RECORDS, {
          contextFeatures: { no: io.FixedLenFeature([], "int64") },
        }),
      InvalidArgumentError,
      "is required",
    ],
    [() => n.parseSequenceExample(5, { sequenceFeatures: LISTS }), TypeError, "string"],
  ];
  for (const [run, error, text] of refusals) {
    await assertRejects(
      async () => {
        const [context, steps] = await run() as Any;
        for (const x of [...Object.values(context), ...Object.values(steps)]) await plain(x as Any);
      },
      error,
      text,
      String(run),
    );
  }
});
