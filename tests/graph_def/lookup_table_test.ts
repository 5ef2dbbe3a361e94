/** Lookup tables of imported graphs: what is found, what is known of its shape, and what is refused. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";

type Type = "float32" | "int64" | "string";
const ENUMS = { float32: "DT_FLOAT", int64: "DT_INT64", string: "DT_STRING" } as const;

/** A table with keys, values and what is looked up. */
interface Case {
  readonly types: readonly [Type, Type];
  readonly keys: tf.TensorLike;
  readonly values: tf.TensorLike;
  readonly asked: tf.TensorLike;
  readonly missing: tf.TensorLike;
}

const WORDS: Case = {
  types: ["string", "int64"],
  keys: ["a", "bc", "a"],
  values: [5n, 7n, 5n],
  asked: [["bc", "?"], ["a", "A"]],
  missing: -1n,
};

/** Imports the ops of a table over tensors of ours. */
function build(
  { types, keys, values, asked, missing }: Case,
  version: "" | "V2",
  askedShape?: readonly (number | null)[] | null,
) {
  const graph = new tf.Graph();
  const parts = graph.asDefault(() => {
    const [key, value] = types.map((type) => ({ type: ENUMS[type] }));
    const [k, v] = [tf.constant(keys, types[0]), tf.constant(values, types[1])];
    const ask = askedShape === undefined
      ? tf.constant(asked, types[0])
      : tf.placeholder(types[0], askedShape);
    const inputMap = { k, v, ask, missing: tf.constant(missing, types[1]) };
    const inputs = Object.entries(inputMap).map(([name, { dtype }]) => {
      return { name, op: "Placeholder", attr: { dtype: { type: ENUMS[dtype as Type] } } };
    });
    const attr = { key_dtype: key, value_dtype: value };
    const node = [
      ...inputs,
      { name: "table", op: `HashTable${version}`, attr },
      ...["LookupTableImport", "InitializeTable"].map((op) => {
        const attr = op === "InitializeTable"
          ? { Tkey: key, Tval: value }
          : { Tin: key, Tout: value };
        return { name: op, op: `${op}${version}`, input: ["table", "k", "v"], attr };
      }),
      {
        name: "find",
        op: `LookupTableFind${version}`,
        input: ["table", "ask", "missing"],
        attr: { Tin: key, Tout: value },
      },
      { name: "size", op: `LookupTableSize${version}`, input: ["table"] },
    ];
    const [found, size] = tf.importGraphDef(
      { node, versions: { producer: 1 } } as unknown as tf.GraphDefJson,
      { inputMap, prefix: "", returnElements: ["find:0", "size:0"] },
    ) as tf.Tensor[];
    return { found, size };
  });
  return { graph, ...parts };
}

/** Arrays with texts in place of bytes. */
function textsIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(textsIn);
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
}

/** Fills a table and returns the values found and the number of keys. */
async function find(given: Case, version: "" | "V2" = "V2", fill = "LookupTableImport") {
  const { graph, found, size } = build(given, version);
  await using session = new tf.Session({ graph });
  if (fill !== "") await session.run(graph.getOperationByName(fill));
  const [values, count] = await session.run([found, size]) as [tf.NdArray, bigint];
  return [values.dtype, textsIn(values.toArray()), count];
}

Deno.test("tables find the values of keys of every kind, and give the default for others", async () => {
  const words = [[7n, -1n], [5n, -1n]];
  for (const version of ["", "V2"] as const) {
    for (const fill of ["LookupTableImport", "InitializeTable"]) {
      assertEquals(await find(WORDS, version, fill), ["int64", words, 2n]);
    }
  }
  const numbers: Case = {
    types: ["int64", "string"],
    keys: [3n, 2n ** 60n],
    values: ["three", "many"],
    asked: [2n ** 60n, 2n ** 60n + 1n, 3n],
    missing: "none",
  };
  assertEquals(await find(numbers), ["string", ["many", "none", "three"], 2n]);
  const floats: Case = { ...numbers, types: ["int64", "float32"], values: [0.5, NaN], missing: 9 };
  assertEquals(await find(floats), ["float32", [NaN, 9, 0.5], 2n]);
});

Deno.test("what is found has the shape of the keys, as far as that is known", () => {
  const shapes = [null, [], [2, null], [4]].map((shape) =>
    build(WORDS, "V2", shape).found.staticShape
  );
  assertEquals(shapes, [null, [], [2, null], [4]]);
});

Deno.test("tables refuse keys with two values, other counts, and being read before they are filled", async () => {
  const { InvalidArgumentError, FailedPreconditionError } = tf.errors;
  const conflict = { ...WORDS, values: [5n, 7n, 6n] };
  await assertRejects(
    () => find(conflict),
    InvalidArgumentError,
    "HashTable has different value for same key. Key a of table",
  );
  const same: Case = {
    ...WORDS,
    types: ["string", "string"],
    missing: "",
    values: ["x", "y", "xx"],
  };
  await assertRejects(() => find(same), InvalidArgumentError, "different value for same key");
  const equal = await find({ ...same, values: ["x", "y", "x"] });
  assertEquals(equal, ["string", [["y", ""], ["x", ""]], 2n]);
  await assertRejects(
    () => find({ ...WORDS, values: [1n, 2n] }),
    InvalidArgumentError,
    "3 keys and 2 values",
  );
  await assertRejects(() => find(WORDS, "V2", ""), FailedPreconditionError, "is not initialised");
  // The size of one that is not filled is no secret.
  const { graph, size } = build(WORDS, "V2");
  await using session = new tf.Session({ graph });
  assertEquals(await session.run(size), 0n);
});

Deno.test("one key cannot be the empty and the deleted one of a dense table", () => {
  const int64 = { type: "DT_INT64" }, attr = { key_dtype: int64, value_dtype: int64 };
  const five = { dtype: "DT_INT64", tensorShape: {}, int64Val: ["5"] };
  const node = [
    { name: "five", op: "Const", attr: { dtype: int64, value: { tensor: five } } },
    { name: "table", op: "MutableDenseHashTableV2", input: ["five", "five"], attr },
  ];
  const graph = new tf.Graph(), def = { node, versions: { producer: 1 } };
  assertThrows(
    () => graph.asDefault(() => tf.importGraphDef(def as unknown as tf.GraphDefJson)),
    tf.ValueError,
    "mpty and deleted keys cannot be equal",
  );
});
