/** Texts, sequences and draws in vmap: what a loop over the rows gives, without one. */

import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices } from "../devices.ts";

// deno-lint-ignore no-explicit-any
type Any = any;
type Row = (...row: Any[]) => unknown;

/** Runs a test, and returns the ops that ran in a loop. */
async function looped(run: () => Promise<void>): Promise<string[]> {
  const { write, named } = loopWarning;
  loopWarning.write = () => {};
  named.clear();
  try {
    await run();
    return [...named];
  } finally {
    loopWarning.write = write;
    named.clear();
  }
}

const WORDS = [["Ab ", "c1"], [" dé", "22"], ["", "x y"]];
const ints = (shape: number[], ...values: number[]) =>
  new tf.NdArray("int32", shape, Int32Array.from(values));

/** Functions of rows, with their rows. */
const CASES: Readonly<Record<string, [Row, ...tf.TensorLike[]]>> = {
  lower: [(x) => tf.strings.lower(x), WORDS],
  "upper of letters of all scripts": [(x) => tf.strings.upper(x, "utf-8"), WORDS],
  strip: [(x) => tf.strings.strip(x), WORDS],
  length: [(x) => tf.strings.length(x, "UTF8_CHAR"), WORDS],
  "length of a text": [(x) => tf.strings.length(x), ["a", "bc", ""]],
  numbers: [(x) => tf.strings.toNumber(x), [["1", "2.5"], ["-3", "1e3"]]],
  "numbers as texts": [(x) => tf.strings.asString(x), [[1.5, 2], [3, -4]]],
  matches: [(x) => tf.strings.regexFullMatch(x, "[a-c].*"), WORDS],
  replaced: [(x) => tf.strings.regexReplace(x, "[a-c]", "_"), WORDS],
  "static replaced": [(x) => tf.string.staticRegexReplace(x, "[a-c]", "_"), WORDS],
  "base 64": [(x) => tf.strings.decodeBase64(tf.strings.encodeBase64(x)), WORDS],
  buckets: [
    (x) => [
      tf.strings.toHashBucket(x, 7),
      tf.strings.toHashBucketFast(x, 7),
      tf.strings.toHashBucketStrong(x, 7, [1, 2]),
    ],
    WORDS,
  ],
  transcoded: [(x) => tf.strings.unicodeTranscode(x, "UTF-8", "UTF-16-BE"), WORDS],
  "parts at one place": [(x) => tf.strings.substr(x, 0, 2), [["abc", "de"], ["fgh", "ij"]]],
  "parts at a place for each": [
    (x, at) => tf.strings.substr(x, at, [1, 2]),
    [["abc", "def"], ["ghi", "jkl"]],
    ints([2, 2], 0, 1, 2, 0),
  ],
  joined: [(x) => tf.strings.join([x, "-", ["1", "2"], x]), WORDS],
  "joined along an axis": [(x) => tf.strings.reduceJoin(x, 0, false, "+"), WORDS],
  scripts: [
    (x) => tf.strings.unicodeScript(x),
    ints([2, 2], 65, 32, 0x3b1, 49),
  ],
  bytes: [(x) => tf.io.decodeRaw(x, "uint8"), [["ab", "cd"], ["ef", "gh"]]],
  "fingerprints of numbers": [(x) => tf.fingerprint(x), [[[1, 2], [3, 4]], [[1, 2], [5, 6]]]],
  "fingerprints of texts": [(x) => tf.fingerprint(x), WORDS],
  "distances of rows of one form": [
    (values) =>
      tf.editDistance(
        new tf.SparseTensor([[0, 0], [0, 1], [1, 0]], values, [2, 2]),
        new tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ints([3], 1, 2, 3), [2, 3]),
        false,
      ),
    ints([2, 3], 1, 2, 2, 3, 1, 3),
  ],
  "places in an order": [
    (i) => tf.random.indexShuffle(i, [3, 4], 9),
    ints([2, 2], 0, 1, 5, 9),
  ],
  "all classes": [
    (x) => tf.random.allCandidateSampler(x, 2, 5, true),
    ints([2, 1, 2], 0, 1, 4, 2),
  ],
};

for (const [name, [fn, ...elems]] of Object.entries(CASES)) {
  testOnDevices(`vectorizedMap() of texts and sequences: ${name}`, async () => {
    using _s = tf.scope();
    const flat = (x: unknown): tf.Tensor[] => [x].flat(3) as tf.Tensor[];
    const given = elems.map((x) => tf.tensor(x as Any)), rows = given.map((x) => tf.unstack(x));
    const found = await looped(async () => {
      const run = (...all: tf.Tensor[]) =>
        tf.vectorizedMap(
          (row: Any) => flat(fn(...[row].flat())),
          (all.length === 1 ? all[0] : all) as Any,
        ) as unknown;
      const compiled = tf.function(run as Any);
      for (const all of [flat(run(...given)), flat(await compiled.async(...given))]) {
        for (const [i] of rows[0].entries()) {
          for (const [o, y] of flat(fn(...rows.map((r) => r[i]))).entries()) {
            assertEquals(
              (await tf.unstack(all[o])[i].ndarray()).toArray(),
              (await y.ndarray()).toArray(),
              `row ${i}, output ${o}`,
            );
          }
        }
      }
    });
    assertEquals(found, []);
  });
}

testOnDevices("vectorizedMap() draws for each row anew, of its own parameters", async () => {
  using _s = tf.scope();
  const rates = tf.tensor([[1, 1], [60, 1000]]);
  const draws: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
    poisson: (rate) => tf.random.poisson([300], rate),
    gamma: (alpha) => tf.random.gamma([300], alpha),
    "poisson of one rate": (x) => tf.add(tf.random.poisson([300], [3, 4]), tf.mul(x, 0)),
  };
  const found = await looped(async () => {
    for (const [name, draw] of Object.entries(draws)) {
      const y = tf.vectorizedMap(draw, rates) as tf.Tensor;
      const means = await tf.mean(y, 1).array() as number[][];
      const want = name.endsWith("rate") ? [[3, 4], [3, 4]] : [[1, 1], [60, 1000]];
      means.flat().forEach((v, i) => {
        const mean = want.flat()[i];
        assert(Math.abs(v - mean) < 0.4 + 0.6 * Math.sqrt(mean), `${name}: ${means}`);
      });
    }
    const logits = tf.log(tf.tensor([[[1, 0.001]], [[0.001, 1]]]));
    const picked = tf.vectorizedMap(
      (x: tf.Tensor) => tf.random.categorical(x as tf.Tensor2D, 200),
      logits,
    ) as tf.Tensor;
    assertEquals(picked.shape, [2, 1, 200]);
    const shares = await tf.mean(tf.cast(picked, "float32"), [1, 2]).array() as number[];
    assert(shares[0] < 0.1 && shares[1] > 0.9, String(shares));
  });
  assertEquals(found, []);
  const same = tf.vectorizedMap(
    (x: tf.Tensor) => tf.add(tf.random.poisson([64], [9]), tf.mul(x, 0)),
    [
      [0],
      [0],
    ],
  ) as tf.Tensor;
  const [a, b] = await same.array() as number[][][];
  assert(String(a) !== String(b));
});
