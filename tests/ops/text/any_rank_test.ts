/** Strings of any rank and in ragged rows: parts, joins and functions of each, beside TensorFlow 2.21's results. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import goldens from "./any_rank.json" with { type: "json" };

const { strings } = tf;
// deno-lint-ignore no-explicit-any -- dense and ragged strings go through the same functions.
type Texts = any;

/** The inputs; ragged ones are made inside, as a signature may be of them. */
const INPUTS: Readonly<Record<string, () => Texts>> = {
  "scalar": () => tf.tensor("aé b"),
  "vector": () => tf.tensor(["a b", "c"]),
  "matrix": () => tf.tensor([["a b"], ["c"]]),
  "rank 3": () => tf.tensor([[["a b", "é"]], [["c", ""]]]),
  "ragged": () => tf.ragged.constant([["Ab", " c"], ["1d"]]),
  "ragged twice": () => tf.ragged.constant([[["a", "b"], ["c"]], [[]], [["é"]]]),
  "no rows": () => tf.zeros([0, 2], "string"),
};
const FUNCTIONS: Readonly<Record<string, (x: Texts) => Texts>> = {
  split: (x) => strings.split(x),
  splitB: (x) => strings.split(x, "b", 1),
  bytes: (x) => strings.bytesSplit(x),
  decode: (x) => strings.unicodeDecode(x, "UTF-8"),
  offsets: (x) => strings.unicodeDecodeWithOffsets(x, "UTF-8")[1],
  letters: (x) => strings.unicodeSplit(x, "UTF-8"),
  encode: (x) => strings.unicodeEncode(strings.unicodeDecode(x, "UTF-8"), "UTF-8"),
  script: (x) => strings.unicodeScript(strings.unicodeDecode(x, "UTF-8") as tf.Tensor),
  join: (x) => strings.join([x, "-", x]),
  substr: (x) => strings.substr(x, 0, 1),
  regex: (x) => strings.regexReplace(x, "[ab]", "x"),
  strong: (x) => strings.toHashBucketStrong(x, 10, [1, 2]),
  transcode: (x) => strings.unicodeTranscode(x, "UTF-8", "UTF-16-BE"),
  reduceAll: (x) => strings.reduceJoin(x, undefined, false, "-"),
  reduceLast: (x) => strings.reduceJoin(x, -1, false, "-"),
  reduceFirst: (x) => strings.reduceJoin(x, 0, false, "-"),
  keep: (x) => strings.reduceJoin(x, -1, true, "-"),
};

/** Reads a value; bytes as characters of Latin 1. */
function read(value: Texts): unknown {
  const plain = (x: unknown): unknown =>
    Array.isArray(x) ? x.map(plain) : x instanceof Uint8Array ? String.fromCharCode(...x) : x;
  const t = value;
  if (t instanceof tf.RaggedTensor) {
    const rows = value.dtype === "string" ? bytesOf(value) : value.toList();
    return plain(rows);
  }
  return plain(nested(value.ndarraySync()));
}

/** Elements as they lie, in nested arrays. */
function nested({ data, shape }: tf.NdArray): unknown {
  const at = (axis: number, from: number, size: number): unknown => {
    if (axis === shape.length) return (data as unknown[])[from];
    const part = size / shape[axis];
    return Array.from({ length: shape[axis] }, (_, i) => at(axis + 1, from + i * part, part));
  };
  return at(0, 0, data.length);
}

/** The rows of ragged strings, as bytes. */
function bytesOf(x: tf.RaggedTensor): unknown[] {
  const { values, rowSplits } = x, ends = rowSplits.arraySync() as number[];
  const all =
    (values instanceof tf.RaggedTensor
      ? bytesOf(values)
      : nested(values.ndarraySync())) as unknown[];
  return ends.slice(1).map((end, i) => all.slice(ends[i], end));
}

for (const [name, run] of Object.entries(FUNCTIONS)) {
  testOnDevices(`strings of any rank: ${name}`, () => {
    const wanted = goldens[name as keyof typeof goldens] as Record<string, unknown>;
    for (const [kind, make] of Object.entries(INPUTS)) {
      tf.tidy(() => {
        const x = make();
        // TensorFlow takes no axis of a scalar.
        if (String(wanted[kind]).startsWith("error")) {
          assertThrows(() => run(x), tf.ValueError);
          return;
        }
        assertEquals(read(run(x)), wanted[kind], kind);
        const compiled = tf.function(run as (x: Texts) => Texts);
        assertEquals(read(compiled(x)), wanted[kind], `${kind}, compiled`);
        if (!(x instanceof tf.RaggedTensor) && x.rank > 0) {
          const inputSignature = [tf.TensorSpec(x.shape.map(() => null), "string")];
          const open = tf.function(run as (x: Texts) => Texts, { inputSignature });
          assertEquals(read(open(x)), wanted[kind], `${kind}, unknown extents`);
        }
      });
    }
  });
}

testOnDevices("strings that are fed are parted and joined in sessions", async () => {
  for (const [name, run] of Object.entries(FUNCTIONS)) {
    const wanted = goldens[name as keyof typeof goldens] as Record<string, unknown>;
    for (const kind of ["vector", "matrix", "rank 3", "no rows"]) {
      using _ = tf.scope();
      const graph = new tf.Graph(), x = INPUTS[kind]();
      const [fed, fetched] = graph.asDefault(() => {
        const fed = tf.placeholder("string", x.shape.map(() => null));
        return [fed, run(fed)];
      });
      await using session = new tf.Session({ graph });
      const found: Texts = await session.run(fetched, { feeds: new Map([[fed, x.ndarraySync()]]) });
      const made = found instanceof tf.RaggedArray
        ? tf.RaggedTensor.fromNestedRowSplits(
          tf.tensor(found.flatValues),
          found.nestedRowSplits.map((splits) => tf.tensor(splits)),
        )
        : tf.tensor(found, undefined, fetched.dtype);
      assertEquals(read(made), wanted[kind], `${name}, ${kind}`);
    }
  }
});

testOnDevices("strings of unknown rank are joined, split as a vector, or refused", () => {
  const of = (run: (x: Texts) => unknown) =>
    tf.function(run as (x: Texts) => Texts, {
      inputSignature: [tf.TensorSpec(null, "string")],
    });
  tf.tidy(() => {
    const vector = tf.tensor(["a b", "c"]), matrix = tf.tensor([["a", "b"], ["c", "d"]]);
    assertEquals(read(of(FUNCTIONS.split)(vector)), goldens.split.vector);
    assertThrows(() => of(FUNCTIONS.split)(matrix), tf.errors.InvalidArgumentError, "a vector");
    assertEquals(read(of(FUNCTIONS.reduceAll)(matrix)), "a-b-c-d");
    assertEquals(read(of(FUNCTIONS.reduceAll)(tf.tensor("a"))), "a");
    for (const name of ["bytes", "decode", "letters"]) {
      assertThrows(() => of(FUNCTIONS[name])(vector), tf.ValueError, "rank must be known");
    }
  });
});
