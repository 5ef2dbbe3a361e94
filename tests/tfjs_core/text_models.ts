/** Packages of `@tensorflow-models` that read texts, over small graphs of random weights and vocabularies of their own. */

import type { Any } from "../script/helpers.ts";
import { artifactsOf, type Case, check, constant, random, served, type } from "./graphs.ts";

const FLOAT = { T: type("DT_FLOAT") };
const INTS = { T: type("DT_INT32") };
const input = (name: string, ...sizes: number[]) => ({
  name,
  op: "Placeholder",
  attr: {
    dtype: type("DT_INT32"),
    shape: { shape: { dim: sizes.map((size) => ({ size: `${size}` })) } },
  },
});
const gather = (name: string, table: string, indices: string) => ({
  name,
  op: "GatherV2",
  input: [table, indices, "axis"],
  attr: { Tparams: type("DT_FLOAT"), Tindices: type("DT_INT32"), Taxis: type("DT_INT32") },
});

/** Numbers of texts' pieces become vectors, summed for each text. */
function encoder(tf: Any, pieces: number, texts: number): Promise<Any> {
  const names = { begin: [0, 0], size: [-1, 1] };
  const weights = {
    axis: tf.scalar(0, "int32"),
    table: tf.tensor(random(1, pieces * 8, 2), [pieces, 8]),
    wide: tf.tensor(random(2, 8 * 512, 1), [8, 512]),
    begin: tf.tensor1d(names.begin, "int32"),
    size: tf.tensor1d(names.size, "int32"),
    texts: tf.scalar(texts, "int32"),
    one: tf.scalar(1),
    zero: tf.scalar(0),
  };
  const node = [
    input("indices", -1, 2),
    input("values", -1),
    ...["axis", "begin", "size", "texts"].map((name) => constant(name, "DT_INT32")),
    ...["table", "wide", "one", "zero"].map((name) => constant(name)),
    gather("vectors", "table", "values"),
    { name: "column", op: "Slice", input: ["indices", "begin", "size"], attr: INTS },
    {
      name: "owners",
      op: "Squeeze",
      input: ["column"],
      attr: { ...INTS, squeeze_dims: { list: { i: ["1"] } } },
    },
    {
      name: "of",
      op: "OneHot",
      input: ["owners", "texts", "one", "zero"],
      attr: { ...FLOAT, axis: { i: "-1" } },
    },
    {
      name: "sums",
      op: "MatMul",
      input: ["of", "vectors"],
      attr: { ...FLOAT, transpose_a: { b: true } },
    },
    { name: "widened", op: "MatMul", input: ["sums", "wide"], attr: FLOAT },
    { name: "embeddings", op: "Tanh", input: ["widened"], attr: FLOAT },
  ];
  return artifactsOf(tf, { node, weights, outputs: ["embeddings"] });
}

/** Each piece of a text has a logit for the beginning of an answer and one for its end. */
function answerer(tf: Any, pieces: number): Promise<Any> {
  const weights = {
    axis: tf.scalar(0, "int32"),
    starts: tf.tensor1d(random(3, pieces, 12)),
    ends: tf.tensor1d(random(4, pieces, 12)),
    kinds: tf.tensor1d([-9, 3]),
  };
  const node = [
    input("input_ids", -1, 384),
    input("segment_ids", -1, 384),
    input("input_mask", -1, 384),
    input("global_step"),
    constant("axis", "DT_INT32"),
    ...["starts", "ends", "kinds"].map((name) => constant(name)),
    gather("kind", "kinds", "segment_ids"),
    gather("start", "starts", "input_ids"),
    gather("end", "ends", "input_ids"),
    { name: "start_logits", op: "AddV2", input: ["start", "kind"], attr: FLOAT },
    { name: "end_logits", op: "AddV2", input: ["end", "kind"], attr: FLOAT },
  ];
  return artifactsOf(tf, { node, weights, outputs: ["start_logits", "end_logits"] });
}

const WORDS =
  "the quick brown fox jumps over a lazy dog and sleeps in its warm den until night falls".split(
    " ",
  );

/** The packages by name. */
export const TEXT_MODELS: Readonly<Record<string, Case>> = {
  "universal-sentence-encoder": {
    found: "npm:@tensorflow-models/universal-sentence-encoder@1.3.3/package.json",
    entry: "dist/index.js",
    async open(use, tf) {
      const letters = "abcdefghijklmnopqrstuvwxyz".split("");
      const vocabulary = [
        ...Array.from({ length: 6 }, (_, i): [string, number] => [`reserved ${i}`, 0]),
        ...[...letters, "\u2581"].map((letter): [string, number] => [letter, -9]),
        ...WORDS.map((word, i): [string, number] => [`\u2581${word}`, -2 - i / 10]),
      ];
      const vocabUrl = "https://storage.googleapis.com/tfjs-models/use/vocab.json";
      return await served(tf, { [vocabUrl]: vocabulary }, async () => {
        const modelUrl = tf.io.fromMemory(await encoder(tf, vocabulary.length, 3));
        const model = await use.load({ modelUrl, vocabUrl });
        const texts = ["The quick fox", "a lazy dog sleeps, warm", "zebras"];
        return async () => {
          const found = await model.embed(texts.map((text) => text.toLowerCase()));
          return [...found.shape, ...await found.data()];
        };
      });
    },
  },
  qna: {
    found: "npm:@tensorflow-models/qna@1.0.2/package.json",
    entry: "dist/index.js",
    async open(qna, tf) {
      const vocabulary = [
        ...Array.from({ length: 999 }, (_, i) => `[unused${i}]`),
        ...WORDS.map((word) => `\u2581${word}`),
      ];
      const base = "https://tfhub.dev/tensorflow/tfjs-model/mobilebert/1";
      const files = {
        [base]: await answerer(tf, vocabulary.length),
        [`${base}/processed_vocab.json`]: vocabulary,
      };
      return await served(tf, files, async () => {
        const model = await qna.load();
        const text = `${WORDS.join(" ")}. ${WORDS.toReversed().join(" ")}.`;
        return async () => {
          const found = await model.findAnswers("the lazy fox", text);
          check(found.length > 1, `${found.length} answers`);
          return found.flatMap((
            { score, startIndex, endIndex }: Any,
          ) => [score, startIndex, endIndex]);
        };
      });
    },
  },
};
