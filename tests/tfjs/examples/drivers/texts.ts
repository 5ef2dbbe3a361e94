/** Drivers of examples that learn from texts and sequences. */
import { numbers, serveLayers } from "../made.ts";
import type { Any, Drivers } from "../types.ts";

/** The common start of the two examples that learn to add: digits, examples, a GRU. */
const ADDITION = {
  digits: 1,
  trainingSize: 40,
  rnnType: "GRU",
  layers: 1,
  hiddenSize: 16,
  trainIterations: 3,
  batchSize: 18,
  numTestExamples: 4,
};

const TEXT = "the quick brown fox jumps over the lazy dog and sings. ".repeat(12);

/** Examples over texts. */
export const TEXTS: Drivers = {
  "addition-rnn": {
    exposes: { "index.js": ["AdditionRNNDemo"] },
    isSeeded: true,
    async run({ load }) {
      const { AdditionRNNDemo } = await load("index.js");
      const { digits, trainingSize, rnnType, layers, hiddenSize } = ADDITION;
      const demo = new AdditionRNNDemo(digits, trainingSize, rnnType, layers, hiddenSize);
      await demo.train(ADDITION.trainIterations, ADDITION.batchSize, ADDITION.numTestExamples);
    },
  },
  "addition-rnn-webworker": {
    isSeeded: true,
    async run({ load }) {
      const { promise, resolve } = Promise.withResolvers<void>();
      let left = 2 * ADDITION.trainIterations;
      (globalThis as Any).postMessage = () => void (--left === 0 && resolve());
      await load("worker.js");
      globalThis.dispatchEvent(new MessageEvent("message", { data: ADDITION }));
      await promise;
    },
  },
  "date-conversion-attention": {
    isSeeded: true,
    async run({ tf, load }) {
      const format = await load("date_format.js");
      const { createModel, runSeq2SeqInference } = await load("model.js");
      const model = createModel(
        format.INPUT_VOCAB.length,
        format.OUTPUT_VOCAB.length,
        format.INPUT_LENGTH,
        format.OUTPUT_LENGTH,
      );
      const dates = Array.from({ length: 24 }, () => format.generateRandomDateTuple());
      const inputs = dates.map((date, i) => format.INPUT_FNS[i % format.INPUT_FNS.length](date));
      const outputs = dates.map(format.dateTupleToYYYYDashMMDashDD);
      const codes = format.encodeOutputDateStrings(outputs);
      const shifted = tf.concat([
        tf.fill([24, 1], format.START_CODE),
        tf.slice(codes, [0, 0], [24, 9]),
      ], 1);
      const y = tf.cast(tf.oneHot(codes, format.OUTPUT_VOCAB.length), "float32");
      const x = [format.encodeInputDateStrings(inputs), tf.cast(shifted, "float32")];
      await model.fit(x, y, { epochs: 4, batchSize: 12, verbose: 0 });
      await runSeq2SeqInference(model, inputs[0], true);
    },
  },
  "intent-classifier": {
    isSeeded: true,
    inBrowser: true,
    async run({ tf, load }) {
      const { getModel } = await load("training/intent_model.js");
      const xs = tf.tensor2d(numbers(40 * 512), [40, 512]);
      const labels = Array.from({ length: 40 }, (_, i) => i % 4);
      const ys = tf.cast(tf.oneHot(tf.tensor1d(labels, "int32"), 4), "float32");
      await getModel(["a", "b", "c", "d"]).fit(xs, ys, { epochs: 10, batchSize: 20, verbose: 0 });
      const tagger = await load("training/tagger_model.js");
      const sequenceLength = 6, options = { embeddingDims: 16, sequenceLength, numLabels: 3 };
      const model = tagger.getModel({ ...options, modelType: "bidirectional-lstm" });
      const tokens = tf.tensor3d(numbers(8 * 6 * 16), [8, 6, 16]);
      const tags = tf.cast(tf.oneHot(tf.zeros([8, 6], "int32"), 3), "float32");
      await model.fit(tokens, tags, { epochs: 3, batchSize: 8, verbose: 0 });
    },
  },
  "lstm-text-generation": {
    isSeeded: true,
    async run({ load }) {
      const { TextData } = await load("data.js");
      const { compileModel, createModel, fitModel, generateText } = await load("model.js");
      const data = new TextData("made", TEXT, 10, 3);
      const model = createModel(data.sampleLen(), data.charSetSize(), [24]);
      compileModel(model, 0.02);
      await fitModel(model, data, 3, 96, 32, 0.0625, {});
      const [, seed] = data.getRandomSlice();
      await generateText(model, data, seed, 3, 0.5);
    },
  },
  "sentiment": {
    exposes: { "index.js": ["SentimentPredictor"] },
    edits: { "index.js": [["\nsetupSentiment();", ""]] },
    isSeeded: true,
    async run(stage) {
      const { tf, load, serve } = stage;
      const { buildModel } = await load("train.js");
      const model = buildModel("lstm", 8, 40, 6);
      model.compile({ loss: "binaryCrossentropy", optimizer: "adam", metrics: ["acc"] });
      const words = numbers(48 * 8).map((x) => Math.floor(40 * x));
      const ys = Array.from({ length: 48 }, (_, i) => [Number(words[8 * i + 7] > 20)]);
      await model.fit(tf.tensor2d(words, [48, 8]), tf.tensor2d(ys), {
        epochs: 6,
        batchSize: 16,
        verbose: 0,
      });
      await serveLayers(stage, "model.json", model);
      const wordIndex = Object.fromEntries(["a", "good", "film"].map((word, i) => [word, i + 1]));
      const metadata = { index_from: 3, max_len: 8, word_index: wordIndex, vocabulary_size: 40 };
      serve("metadata.json", JSON.stringify(metadata));
      const { SentimentPredictor } = await load("index.js");
      const urls = { model: "http://made/model.json", metadata: "http://made/metadata.json" };
      const { score } = (await new SentimentPredictor().init(urls)).predict("A good film!");
      return { values: [score] };
    },
  },
  "translation": {
    exposes: { "index.js": ["Translator"], "translation.ts": ["readData", "seq2seqModel"] },
    edits: {
      "index.js": [["\nsetupTranslator();", ""]],
      "translation.ts": [["\nmain();", ""], ["process.stdout", "undefined"]],
    },
    isSeeded: true,
    async run(stage) {
      const { args, load, serve } = stage;
      const folder = Deno.makeTempDirSync({ prefix: "weft-translation-" });
      try {
        Deno.writeTextFileSync(
          `${folder}/pairs.txt`,
          "Go.\tVa !\nRun!\tCours !\nStop!\tStop !\nHi.\tSalut.",
        );
        Object.assign(args, { latent_dim: 12, num_samples: 9, artifacts_dir: folder });
        const { readData, seq2seqModel } = await load("translation.ts");
        const data = await readData(`${folder}/pairs.txt`);
        const { model } = seq2seqModel(data.numEncoderTokens, data.numDecoderTokens, 12);
        model.compile({ optimizer: "rmsprop", loss: "categoricalCrossentropy" });
        const inputs = [data.encoderInputData, data.decoderInputData];
        await model.fit(inputs, data.decoderTargetData, { epochs: 6, batchSize: 2, verbose: 0 });
        await serveLayers(stage, "model.json", model);
        serve("metadata.json", Deno.readTextFileSync(`${folder}/metadata.json`));
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
      const { Translator } = await load("index.js");
      const urls = { model: "http://made/model.json", metadata: "http://made/metadata.json" };
      const translator = await new Translator().init(urls);
      translator.decodeSequence(translator.encodeString("Go."));
    },
  },
};
