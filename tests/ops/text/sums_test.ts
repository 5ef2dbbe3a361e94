/** Texts under `tf.add`, as TensorFlow's `Add` joins them. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import { loopWarning } from "../../../src/engine/batching/walk.ts";

type Texts = tf.TensorLike;
const CASES: readonly (readonly [Texts, Texts, unknown])[] = [
  ["a", "b", "ab"],
  [["a", "€"], "z", ["az", "€z"]],
  ["z", [["a"], [""]], [["za"], ["z"]]],
  [["a", "b"], ["x", "y"], ["ax", "by"]],
  [["a", "b"], [["x"], ["y"]], [["ax", "bx"], ["ay", "by"]]],
  [[["a", "b"]], [["x"], ["y"]], [["ax", "bx"], ["ay", "by"]]],
];

testOnDevices("add() joins texts, broadcast as numbers are", async () => {
  const open = tf.function((x: tf.Tensor, y: tf.Tensor) => tf.add(x, y), {
    inputSignature: [new tf.TensorSpec(null, "string"), new tf.TensorSpec(null, "string")],
  });
  for (const [a, b, wanted] of CASES) {
    const x = tf.tensor(a), y = tf.tensor(b);
    assertEquals(await tf.add(x, b as tf.TensorLike).array(), wanted);
    assertEquals(await x.add(y).array(), wanted);
    assertEquals(await tf.function((p: tf.Tensor, q: tf.Tensor) => p.add(q))(x, y).array(), wanted);
    assertEquals(await (open(x, y) as tf.Tensor).array(), wanted, "shapes are not known");
    const graph = new tf.Graph();
    const z = graph.asDefault(() => tf.add(tf.placeholder("string", null, "x"), tf.constant(b)));
    await using session = new tf.Session({ graph });
    const run = await session.run(z, { feeds: { "x:0": x } });
    const flat = run instanceof tf.NdArray
      ? run.strings()
      : [new TextDecoder().decode(run as unknown as Uint8Array)];
    assertEquals(flat, [wanted].flat(2));
  }
  using none = tf.add(tf.zeros([0], "string"), "a");
  assertEquals(none.shape, [0]);
});

testOnDevices("add() of texts is batched, in branches, loops and datasets", async () => {
  const warned: string[] = [], { write } = loopWarning;
  loopWarning.write = (text) => void warned.push(text);
  try {
    const words = tf.tensor([["a", "b"], ["c", "d"]]), ends = tf.tensor(["x", "y"]);
    const wanted = [["ax", "bx"], ["cy", "dy"]];
    const join = tf.vmap((w: tf.Tensor, e: tf.Tensor) => tf.add(w, e));
    assertEquals(await join(words, ends).array(), wanted);
    assertEquals(await tf.vmap((w: tf.Tensor) => tf.add(w, ends))(words).array(), [
      ["ax", "by"],
      ["cx", "dy"],
    ]);
    assertEquals(await tf.vmap((e: tf.Tensor) => tf.add("z", e))(ends).array(), ["zx", "zy"]);
    assertEquals(warned, []);
  } finally {
    loopWarning.write = write;
  }
  const twice = tf.function((x: tf.Tensor, more: tf.Tensor) =>
    tf.cond(more, () => tf.add(x, x), () => tf.add(x, "!"))
  );
  assertEquals(await twice(tf.tensor(["a"]), tf.scalar(true, "bool")).array(), ["aa"]);
  assertEquals(await twice(tf.tensor(["a"]), tf.scalar(false, "bool")).array(), ["a!"]);
  const grown = tf.function((x: tf.Tensor) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, s: tf.Tensor) => [tf.add(i, 1), tf.add(s, x)],
      [tf.scalar(0, "int32"), x],
    )[1]
  );
  assertEquals(await (grown(tf.tensor(["a", "bc"])) as tf.Tensor).array(), ["aaaa", "bcbcbcbc"]);
  const set = tf.data.fromTensorSlices(tf.tensor(["a", "b"])).map((x) => tf.add(x, "."));
  const all: unknown[] = [];
  for await (using x of set) all.push(await x.array());
  assertEquals(all, ["a.", "b."]);
});

testOnDevices(
  "add() of texts refuses numbers and shapes that do not fit, and has no gradient",
  () => {
    const words = tf.tensor(["a", "b"]);
    assertThrows(() => tf.add(words, 1), TypeError);
    assertThrows(() => tf.add(words, tf.tensor([1, 2])), TypeError, "string as a of add");
    assertThrows(() => tf.add(words, tf.tensor(["a", "b", "c"])), tf.ValueError);
    assertThrows(() => tf.sub(words, words), TypeError);
    using tape = new tf.GradientTape();
    const x = tf.scalar(2);
    tape.watch(x);
    const y = tf.mul(x, tf.cast(tf.equal(tf.add(words, "b"), "ab"), "float32"));
    assertEquals((tape.gradient(tf.sum(y), x) as tf.Tensor).arraySync(), 1);
  },
);
