/** Drivers of examples that learn from tables of numbers. */
import { csv, numbers, until } from "../made.ts";
import type { Any, Drivers } from "../types.ts";

/** Rows of numbers. */
function rows(count: number, width: number, seed?: number): number[][] {
  const values = numbers(count * width, seed);
  return Array.from({ length: count }, (_, i) => [...values.subarray(i * width, (i + 1) * width)]);
}

const sum = (row: readonly number[]) => row.reduce((a, b) => a + b, 0);

/** Sets an input of the page. */
function enter(id: string, value: number | string): void {
  (globalThis as Any).document.getElementById(id).value = String(value);
}

/** Columns of the weather of Jena; the examples look for the second. */
const WEATHER = ["p (mbar)", "T (degC)", "rh (%)", "wv (m/s)"];

function weather(count: number): string {
  const lines = rows(count, WEATHER.length).map((row, i) => {
    const time = new Date(Date.UTC(2009, 0, 1) + i * 600_000).toISOString();
    const [date, clock] = [time.slice(0, 10).split("-").reverse().join("."), time.slice(11, 19)];
    row[1] = 10 * Math.sin(i / 40) + row[1];
    return [`${date} ${clock}`, ...row].join(",");
  });
  return [["Date Time", ...WEATHER].map((name) => `"${name}"`).join(","), ...lines].join("\n");
}

/** Examples over tables. */
export const TABLES: Drivers = {
  "abalone-node": {
    isSeeded: true,
    inBrowser: true,
    async run({ tf, load, serve }) {
      const columns = ["sex", "length", "diameter", "height", "rings"];
      const sexes = ["F", "M", "I"];
      const table = csv(columns, 120, (row) => 3 * sum(row)).split("\n").map((line, i) =>
        i === 0 || line === "" ? line : line.replace(/^[^,]+/, sexes[i % 3])
      ).join("\n");
      serve("abalone.csv", table);
      const { dataset, numOfColumns } = await (await load("data.js"))("http://made/abalone.csv");
      const model = (await load("model.js"))([numOfColumns]);
      await model.fitDataset(dataset.batch(30), { epochs: 6, verbose: 0 });
      return { values: await model.predict(tf.tensor2d([[0, 0.6, 0.4, 0.1]])).data() };
    },
  },
  "baseball-node": {
    isSeeded: false,
    inBrowser: true,
    async run({ load, serve }) {
      const columns = ["vx0", "vy0", "vz0", "ax", "ay", "az", "start_speed", "left_handed_pitcher"];
      const table = csv([...columns, "pitch_code"], 140, (row) => Math.floor(7 * row[7]));
      serve("training_data.csv", table);
      serve("test_data.csv", table);
      const { model, trainingData } = await load("pitch_type.js");
      await model.fitDataset(trainingData, { epochs: 15, verbose: 0 });
    },
  },
  "boston-housing": {
    exposes: { "index.js": ["bostonData", "tensors"] },
    edits: { "index.js": [["NUM_EPOCHS = 200", "NUM_EPOCHS = 4"]] },
    isSeeded: true,
    async run({ load }) {
      const index = await load("index.js");
      const target = (features: number[][]) => features.map((row) => [sum(row)]);
      const [train, test] = [rows(100, 12), rows(20, 12, 2)];
      Object.assign(index.bostonData, {
        trainFeatures: train,
        trainTarget: target(train),
        testFeatures: test,
        testTarget: target(test),
      });
      index.arraysToTensors();
      index.computeBaseline();
      await index.run(index.multiLayerPerceptronRegressionModel2Hidden(), "twoHidden", false);
    },
  },
  "data-csv": {
    exposes: { "index.js": ["countRowsHandler", "getColumnNamesHandler", "getSampleRowHandler"] },
    isSeeded: true,
    async run({ load, serve }) {
      serve("made.csv", csv(["a", "b", "c"], 37, sum));
      enter("query-url", "http://made/made.csv");
      enter("which-sample-input", 5);
      const index = await load("index.js");
      await index.countRowsHandler();
      await index.getColumnNamesHandler();
      await index.getSampleRowHandler();
      const { document } = globalThis as Any;
      const outputs = [
        "row-count-output",
        "column-names-output-container",
        "sample-row-output-container",
      ];
      const shown = outputs.map((id) => document.getElementById(id).innerHTML).join(" ");
      return { values: shown.match(/\d+(\.\d+)?/g)!.map(Number) };
    },
  },
  "data-generator": {
    exposes: { "index.js": ["createDNNModel", "gameToFeaturesAndLabel"] },
    isSeeded: true,
    inBrowser: true,
    async run({ load }) {
      const index = await load("index.js");
      const model = index.createDNNModel();
      model.compile({ optimizer: "rmsprop", loss: "binaryCrossentropy", metrics: ["accuracy"] });
      const games = index.GAME_GENERATOR_DATASET.map(index.gameToFeaturesAndLabel).batch(32);
      await model.fitDataset(games, { batchesPerEpoch: 10, epochs: 3, verbose: 0 });
    },
  },
  "getting-started": {
    exposes: { "index.js": ["run"] },
    edits: { "index.js": [["\nrun();", ""]] },
    isSeeded: true,
    async run({ tf, load }) {
      // Its page loads the library as a script, which makes a global of it.
      (globalThis as Any).tf = tf;
      const { run } = await load("index.js");
      await run();
      return {
        values: [Number((globalThis as Any).document.getElementById("micro-out-div").innerText)],
      };
    },
  },
  "iris": {
    exposes: { "index.js": ["trainModel"] },
    edits: { "index.js": [["\niris();", ""]] },
    isSeeded: true,
    inBrowser: true,
    async run({ load }) {
      const { getIrisData } = await load("data.js");
      enter("train-epochs", 4);
      enter("learning-rate", 0.02);
      const { trainModel } = await load("index.js");
      await trainModel(...getIrisData(0.15));
    },
  },
  "iris-fitDataset": {
    exposes: { "index.js": ["trainModel", "evaluateModelOnTestData"] },
    edits: { "index.js": [["\niris();", ""]] },
    isSeeded: true,
    async run({ load }) {
      enter("train-epochs", 4);
      enter("learning-rate", 0.02);
      const index = await load("index.js");
      const sets = await (await load("data.js")).getIrisData(0.15);
      const [train, test] = sets.map((set: Any) => set.batch(32));
      await index.evaluateModelOnTestData(await index.trainModel(train, test), test);
    },
  },
  "jena-weather": {
    edits: {
      "models.js": [
        ["TRAIN_MAX_ROW = 200000", "TRAIN_MAX_ROW = 300"],
        ["VAL_MIN_ROW = 200001", "VAL_MIN_ROW = 301"],
        ["VAL_MAX_ROW = 300000", "VAL_MAX_ROW = 400"],
        ["batchesPerEpoch: 500", "batchesPerEpoch: 5"],
      ],
    },
    isSeeded: true,
    async run({ load, serve }) {
      serve("jena_climate_2009_2016.csv", weather(420));
      const { JenaWeatherData } = await load("data.js");
      const { buildModel, trainModel } = await load("models.js");
      const data = new JenaWeatherData();
      await data.load();
      const [lookBack, step, delay, batchSize, epochs] = [24, 6, 6, 32, 3];
      const model = buildModel("gru", lookBack / step, WEATHER.length);
      await trainModel(model, data, true, false, lookBack, step, delay, batchSize, epochs, {});
    },
  },
  "polynomial-regression": {
    exposes: { "index.js": ["fitModel", "generateXYData", "renderModelPredictions"] },
    edits: { "index.js": [["\nfitAndRender();", ""]] },
    isSeeded: true,
    async run({ load }) {
      const { fitModel, generateXYData, renderModelPredictions } = await load("index.js");
      const canvas = (globalThis as Any).document.getElementById("canvas");
      const [model, ...scales] = await fitModel(
        generateXYData(canvas, [1e-5, 1e-3, 0.1, 2]),
        30,
        0.1,
      );
      renderModelPredictions(canvas, 3, model, ...scales);
    },
  },
  "polynomial-regression-core": {
    exposes: { "index.js": ["train", "predict", "a"] },
    edits: { "index.js": [["\nlearnCoefficients();", ""]] },
    isSeeded: true,
    inBrowser: true,
    async run({ tf, load }) {
      const { train, predict } = await load("index.js");
      const xs = tf.tensor1d(numbers(50).map((x) => 2 * x - 1));
      const ys = tf.tidy(() =>
        tf.add(tf.mul(tf.pow(xs, tf.scalar(3, "int32")), -0.8), tf.mul(xs, 0.9))
      );
      await train(xs, ys, 12);
      return { values: await predict(xs).data() };
    },
  },
  "quantization": {
    edits: { "data_housing.js": [["Math.seedrandom('1337');", ""]] },
    isSeeded: false,
    async run({ load, serve }) {
      const { featureColumns, getDatasetStats, getNormalizedDatasets } = await load(
        "data_housing.js",
      );
      serve(
        "california_housing_train_10k.csv",
        csv([...featureColumns, "median_house_value"], 200, (row) => 100 * sum(row)),
      );
      const { createModel } = await load("model_housing.js");
      const { count, featureMeans, featureStddevs, labelMean, labelStddev } =
        await getDatasetStats();
      const stats = [featureMeans, featureStddevs, labelMean, labelStddev];
      const sets = await getNormalizedDatasets(count, ...stats, 0.2, 0.1);
      const model = createModel();
      await model.fit(sets.trainXs, sets.trainYs, {
        epochs: 12,
        batchSize: 32,
        validationData: [sets.valXs, sets.valYs],
        verbose: 0,
      });
      model.evaluate(sets.evalXs, sets.evalYs);
    },
  },
  "website-phishing": {
    edits: { "index.js": [["epochs = 400", "epochs = 5"]] },
    isSeeded: true,
    async run({ tf, load, serve }) {
      const features = Array.from({ length: 30 }, (_, i) => `f${i}`);
      for (const [kind, count, seed] of [["train", 700, 1], ["test", 100, 2]] as const) {
        const made = rows(count, 30, seed);
        serve(`${kind}-data.csv`, [features, ...made].map((row) => row.join(",")).join("\n"));
        serve(`${kind}-target.csv`, ["y", ...made.map((row) => Number(row[0] > 0.5))].join("\n"));
      }
      await load("index.js");
      const { document } = globalThis as Any;
      // It says so when it has trained.
      await until(tf, () => /AUC/.test(document.getElementById("status").innerText));
    },
  },
};
