/** Hashes, offsets and joined segments of strings, beside TensorFlow 2.21's results. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const { strings } = tf;
const WORDS = ["aéb", "", "日本"];

testOnDevices("strings.toHashBucket hashes as TensorFlow 1 did", async () => {
  using _s = tf.scope();
  const words = ["Hello", "TensorFlow", "2.x", ""], wanted = [941, 232, 300, 899];
  assertEquals(await strings.toHashBucket(words, 1000).array(), wanted);
  const spec = [new tf.TensorSpec([null], "string")];
  const compiled = tf.function((x) => strings.toHashBucket(x, 1000), { inputSignature: spec });
  assertEquals(await (compiled(tf.tensor(words)) as tf.Tensor).array(), wanted);
  assertEquals(strings.toHashBucket("a", 5).dtype, "int32");
});

testOnDevices("strings.unicodeDecodeWithOffsets and unicodeSplitWithOffsets", async () => {
  using _s = tf.scope();
  const offsets = [[0, 1, 3], [], [0, 3]];
  const read = async (list: unknown[]) =>
    await Promise.all(list.map((r) => (r as tf.RaggedTensor).array()));
  const codes = [[97, 233, 98], [], [26085, 26412]];
  const letters = [["a", "é", "b"], [], ["日", "本"]];
  assertEquals(await read(strings.unicodeDecodeWithOffsets(WORDS, "UTF-8")), [codes, offsets]);
  assertEquals(await read(strings.unicodeSplitWithOffsets(WORDS, "UTF-8")), [letters, offsets]);
  const compiled = tf.function((x: tf.Tensor) => strings.unicodeSplitWithOffsets(x, "UTF-8"), {
    inputSignature: [new tf.TensorSpec([null], "string")],
  });
  assertEquals(await read(compiled(tf.tensor(WORDS)) as unknown[]), [letters, offsets]);
  const one = strings.unicodeDecodeWithOffsets("aéb", "UTF-8") as tf.Tensor[];
  assertEquals(await Promise.all(one.map((t) => t.array())), [codes[0], offsets[0]]);
  assertEquals(await strings.unicodeDecode("é", "UTF-8").array(), [233]);
});

testOnDevices("strings.unsortedSegmentJoin", async () => {
  using _s = tf.scope();
  const pairs = [["a", "x"], ["b", "y"], ["c", "z"]];
  const wanted = [["b", "y"], ["a-c", "x-z"], ["", ""]];
  assertEquals(await strings.unsortedSegmentJoin(pairs, [1, 0, 1], 3, "-").array(), wanted);
  const spec = [new tf.TensorSpec(null, "string"), new tf.TensorSpec([null], "int32")];
  const compiled = tf.function((x, ids) => strings.unsortedSegmentJoin(x, ids, 3, "-"), {
    inputSignature: spec,
  });
  assertEquals(
    await (compiled(tf.tensor(pairs), tf.cast([1, 0, 1], "int32")) as tf.Tensor).array(),
    wanted,
  );
  assertEquals(await strings.unsortedSegmentJoin(["a", "b"], [0, 0], 1).array(), ["ab"]);
  const graph = new tf.Graph();
  const y = graph.asDefault(() => strings.unsortedSegmentJoin(["a", "b"], [0, 0], 1, " "));
  const session = new tf.Session({ graph });
  assertEquals((await session.run(y) as tf.NdArray).strings(), ["a b"]);
  session.close();
});

testOnDevices("these functions of strings check their arguments", () => {
  using _s = tf.scope();
  // deno-lint-ignore no-explicit-any
  const s = strings as any;
  for (
    const [call, type, text] of [
      [() => s.toHashBucket(["a"], 0), tf.ValueError, "Number of buckets must be at least 1"],
      [() => s.toHashBucket(["a"], 1.5), tf.ValueError, "1.5 buckets"],
      [() => s.toHashBucketStrong(["a"], 0, [1, 2]), tf.ValueError, "0 buckets"],
      [() => s.toHashBucket([1], 3), TypeError, ""],
      [() => s.unicodeSplitWithOffsets("a", "UTF-8", { error: "x" }), TypeError, "error"],
      [() => s.unicodeDecodeWithOffsets("a", "UTF-8", { errors: "x" }), tf.ValueError, "errors"],
      [() => s.unsortedSegmentJoin(["a"], [0], -1), tf.ValueError, "numSegments"],
      [() => s.unsortedSegmentJoin(["a"], [0], 1, 2), TypeError, "separator"],
      [() => s.unsortedSegmentJoin(["a"], [0, 1], 2), tf.ValueError, ""],
      [
        () => s.unsortedSegmentJoin(["a"], [2], 2).dataSync(),
        tf.errors.InvalidArgumentError,
        "segment_ids[0] = 2 is not in [0, 2)",
      ],
    ] as const
  ) {
    assertThrows(call, type as new () => Error, text, `${call}`);
  }
});
