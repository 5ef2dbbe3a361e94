/** Layers of words refuse settings, words, input and data by typed errors. */

import * as tf from "@weft/weft/tfjs-core";
import { errors } from "@weft/weft";
import { kerasLayers, layersTopology } from "@weft/weft/keras";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();
const layers = kerasLayers<Any>(tfl);
const { FailedPreconditionError, InvalidArgumentError, UnimplementedError, ValueError } = errors;

/** Runs what makes tensors, and frees them. */
async function scoped(work: () => Promise<void>): Promise<void> {
  tf.engine().startScope("test");
  try {
    await work();
  } finally {
    tf.engine().endScope();
    tf.disposeVariables();
  }
}

const same = async (found: tf.Tensor, wanted: Any, what: string): Promise<void> =>
  assertEquals(await found.array(), wanted, what);

/** Settings that no layer has. */
const SETTINGS:
  readonly (readonly [layer: keyof typeof layers, config: Any, error: Any, text: string])[] = [
    [
      "stringLookup",
      { maxTokens: 1 },
      ValueError,
      "maxTokens must be a whole number of at least 2",
    ],
    ["stringLookup", { padToMaxTokens: true }, ValueError, "padToMaxTokens wants maxTokens"],
    ["stringLookup", { numOovIndices: -1 }, ValueError, "numOovIndices must be"],
    ["stringLookup", { outputMode: "few" }, ValueError, "outputMode few is none of"],
    [
      "stringLookup",
      { invert: true, outputMode: "count" },
      ValueError,
      'invert wants outputMode "int"',
    ],
    ["stringLookup", { vocabulary: [] }, ValueError, "it has no words"],
    ["stringLookup", { vocabulary: ["a", "b", "a"] }, ValueError, "it has a more than once"],
    [
      "stringLookup",
      { vocabulary: ["a", "m"], maskToken: "m" },
      ValueError,
      '"m" stands for mask words',
    ],
    [
      "stringLookup",
      { vocabulary: ["a", "u"], oovToken: "u", invert: true },
      ValueError,
      '"u" stands for unknown words',
    ],
    [
      "stringLookup",
      { vocabulary: ["a", "b"], maxTokens: 2 },
      ValueError,
      "it has 3 words, more than maxTokens 2",
    ],
    ["stringLookup", { vocabulary: ["a"], outputMode: "tfIdf" }, ValueError, "wants idfWeights"],
    [
      "stringLookup",
      { vocabulary: ["a"], outputMode: "tfIdf", idfWeights: [1, 2, 3] },
      ValueError,
      "1 words and 3 idfWeights",
    ],
    [
      "stringLookup",
      { vocabulary: ["a"], idfWeights: [1] },
      ValueError,
      'idfWeights want outputMode "tf_idf"',
    ],
    ["stringLookup", { vocabulary: ["a", 1] }, TypeError, "must be texts"],
    ["stringLookup", { vocabulary: "words.txt" }, TypeError, "must be a list"],
    ["stringLookup", { salt: [1, 2, 3] }, ValueError, "salt must be"],
    ["stringLookup", { words: ["a"] }, TypeError, 'Unknown setting "words" of stringLookup'],
    ["integerLookup", { vocabulary: ["a"] }, TypeError, "must be whole numbers of 32 bits"],
    ["integerLookup", { vocabulary: [2 ** 31] }, TypeError, "must be whole numbers of 32 bits"],
    ["integerLookup", { salt: 3 }, ValueError, 'salt wants oovMethod "farmhash"'],
    [
      "textVectorization",
      { standardize: "upper" },
      UnimplementedError,
      'standardize "upper" is not supported',
    ],
    ["textVectorization", { split: "," }, UnimplementedError, 'split "," is not supported'],
    ["textVectorization", { ngrams: 0 }, ValueError, "ngrams must be"],
    [
      "textVectorization",
      { outputSequenceLength: 3, outputMode: "count" },
      ValueError,
      "outputSequenceLength must be",
    ],
    ["textVectorization", { outputMode: "oneHot" }, UnimplementedError, "ragged results"],
    ["hashing", {}, ValueError, "numBins must be"],
    ["hashing", { numBins: 2, salt: "x" }, ValueError, "salt must be"],
  ];

Deno.test("layers of words refuse settings that contradict each other", async () => {
  await tf.setBackend("cpu");
  for (const [layer, config, error, text] of SETTINGS) {
    assertThrows(() => layers[layer](config), error, text);
  }
  assertThrows(() => layers.hashing(3 as Any), TypeError, "must be an object");
  assertThrows(() => kerasLayers({} as Any), TypeError, "tfl must be");
});

testOnDevices(
  "layers of words refuse what they do not know, and input of another dtype",
  () =>
    scoped(async () => {
      const strict = layers.stringLookup({
        vocabulary: ["a", "b"],
        numOovIndices: 0,
        name: "strict",
      });
      await same(strict.apply(tf.tensor([["b", "a"]])), [[1, 0]], "strict");
      assertThrows(() => strict.apply(tf.tensor([["a", "zz"]])), InvalidArgumentError, "[a zz]");
      const numbers = layers.integerLookup({ vocabulary: [4, 2], numOovIndices: 0 });
      await same(numbers.apply(tf.tensor([2, 4], [2], "int32")), [1, 0], "numbers");
      assertThrows(
        () => numbers.apply(tf.tensor([2, 5], [2], "int32")),
        InvalidArgumentError,
        "[2 5]",
      );

      const empty = layers.stringLookup({ name: "empty_one" }), x = tf.tensor([["a"]]);
      assertThrows(
        () => empty.apply(x),
        FailedPreconditionError,
        "layer empty_one: it has no vocabulary",
      );
      assertEquals(empty.getVocabulary(), ["[UNK]"]);
      const wide = layers.textVectorization({ outputMode: "count" }),
        input = tfl.input({ shape: [1], dtype: "string" });
      assertThrows(() => wide.apply(input), FailedPreconditionError, "no vocabulary");
      wide.setVocabulary(["a", "b"]);
      assertEquals(wide.apply(input).shape, [null, 3]);
      assertThrows(() => wide.setVocabulary(["a"]), FailedPreconditionError, "3 wide");
      await assertRejects(() => wide.adapt(["a b c"]), FailedPreconditionError, "3 wide");
      wide.setVocabulary(["c", "b"]);
      await same(wide.apply(tf.tensor(["C c! a"])), [[1, 2, 0]], "other words of as many");

      assertThrows(
        () => strict.apply(tf.tensor([[1]])),
        TypeError,
        "must be strings, received float32",
      );
      assertThrows(
        () => wide.apply(tf.tensor([[1]])),
        TypeError,
        "must be strings, received float32",
      );
      assertThrows(() => numbers.apply(x), TypeError, "must be whole numbers, received string");
      assertThrows(() => wide.apply(tf.tensor([["a", "b"]])), ValueError, "received [1,2]");
      const masked = layers.hashing({ numBins: 3, maskValue: "x" });
      assertThrows(() => masked.apply(tf.tensor([[1]])), TypeError, 'maskValue "x"');
    }),
);

Deno.test("adapt() refuses vocabularies that were given, and data without words", async () => {
  await tf.setBackend("cpu");
  const given = layers.stringLookup({ vocabulary: ["a"] });
  await assertRejects(() => given.adapt(["b"]), ValueError, "was given with it");
  const layer = layers.textVectorization();
  await assertRejects(() => layer.adapt([""]), ValueError, "has no words");
  await assertRejects(() => layer.adapt(3 as Any, {}), TypeError);
  await assertRejects(() => layer.adapt({} as Any), TypeError, "received");
  await assertRejects(() => layer.adapt([{} as Any].values()), TypeError, "received");
});

Deno.test("layersTopology() refuses ragged results and Python's functions, and keeps words", async () => {
  await tf.setBackend("cpu");
  const text = (config: object) => ({
    class_name: "Sequential",
    registered_name: null,
    config: {
      name: "m",
      layers: [
        {
          class_name: "InputLayer",
          config: { batch_shape: [null, 1], dtype: "string", name: "x" },
        },
        { class_name: "TextVectorization", config: { name: "t", trainable: true, ...config } },
      ],
    },
  });
  assertThrows(
    () => layersTopology(text({ ragged: true })),
    UnimplementedError,
    "ragged results (t)",
  );
  const load = (config: object) =>
    tfl.loadLayersModel(tf.io.fromMemory({ modelTopology: text(config) as Any }));
  const written = {
    module: "builtins",
    class_name: "function",
    config: "f",
    registered_name: "function",
  };
  await assertRejects(() => load({ standardize: written }), UnimplementedError, "standardize");
  const model = await load({
    vocabulary: ["a_b", "aB", "_"],
    standardize: null,
    output_mode: "multi_hot",
  });
  assertEquals(model.layers.at(-1).getVocabulary(), ["[UNK]", "a_b", "aB", "_"]);
  assertEquals(await model.predict(tf.tensor(["_ a_b _"])).array(), [[0, 1, 0, 1]]);
});
