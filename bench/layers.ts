// Times `model.fit` and `model.predict` of TensorFlow.js's layers: over Weft, and over TensorFlow.js's own backends.
//
//   deno task bench layers [--only NAME] [--rounds N] [--write]
//
// One process: each round trains every model once on each system, which take turns; the median of the rounds is given. Weights begin
// alike and batches come in order, so losses after training are compared before times are believed. A backend that cannot train a
// model, or takes minutes for it, says so.

import { parseArgs } from "node:util";
import type * as Tfjs from "@tensorflow/tfjs-core";
import type * as Layers from "@tensorflow/tfjs-layers";
import { tfjsPackages } from "../tools/tfjs_packages.ts";
import { packageFolder } from "../tools/npm_folder.ts";
import { normals } from "./random.ts";
import { writeSection } from "./results.ts";

const RESULTS = new URL("./RESULTS.md", import.meta.url);
/** Rows of the data, and rows of a batch. */
const ROWS = 256, BATCH = 32;
/** A system that took longer for a model is not asked again. */
const PATIENCE_MS = 20_000;

/** One way to run layers. */
interface System {
  readonly name: string;
  readonly tf: typeof Tfjs;
  readonly tfl: typeof Layers;
  /** Makes it the one in use. */
  use(): Promise<void>;
}

/** A model to train. */
interface Model {
  readonly name: string;
  readonly what: string;
  readonly input: readonly number[];
  layers(tfl: typeof Layers): Layers.layers.Layer[];
}

const seeded = (seed: number) => ({
  kernelInitializer: { className: "GlorotUniform", config: { seed } },
});

const MODELS: readonly Model[] = [
  {
    name: "MLP",
    what: "784-256-128-10, relu",
    input: [784],
    layers: ({ layers }) => [
      layers.dense({ units: 256, activation: "relu", inputShape: [784], ...seeded(1) as object }),
      layers.dense({ units: 128, activation: "relu", ...seeded(2) as object }),
      layers.dense({ units: 10, activation: "softmax", ...seeded(3) as object }),
    ],
  },
  {
    name: "CNN",
    what: "28×28: conv 3×3×8, pool, conv 3×3×16, pool, dense 10",
    input: [28, 28, 1],
    layers: ({ layers }) => [
      layers.conv2d({
        filters: 8,
        kernelSize: 3,
        activation: "relu",
        inputShape: [28, 28, 1],
        ...seeded(1) as object,
      }),
      layers.maxPooling2d({ poolSize: 2 }),
      layers.conv2d({ filters: 16, kernelSize: 3, activation: "relu", ...seeded(2) as object }),
      layers.maxPooling2d({ poolSize: 2 }),
      layers.flatten(),
      layers.dense({ units: 10, activation: "softmax", ...seeded(3) as object }),
    ],
  },
  {
    name: "LSTM",
    what: "20 steps of 16, 32 units, dense 10",
    input: [20, 16],
    layers: ({ layers }) => [
      layers.lstm({ units: 32, inputShape: [20, 16], recurrentInitializer: "glorotUniform" }),
      layers.dense({ units: 10, activation: "softmax", ...seeded(3) as object }),
    ],
  },
];

async function systems(): Promise<System[]> {
  // First: whichever is loaded first is the engine that bundled copies of TensorFlow.js find.
  const tf: typeof Tfjs = await import("@tensorflow/tfjs-core");
  await import("@tensorflow/tfjs-backend-cpu");
  const wasm = await import("@tensorflow/tfjs-backend-wasm");
  const folder = new URL("dist/", await packageFolder("@tensorflow/tfjs-backend-wasm"));
  wasm.setWasmPaths(decodeURIComponent(folder.pathname));
  const tfl = await import("@tensorflow/tfjs-layers");
  tf.enableProdMode();
  const weft = await import("@weft/weft/tfjs-core") as unknown as typeof Tfjs;
  const { tfl: weftLayers } = await tfjsPackages();
  const made: System[] = [];
  for (const device of ["cpu", "webgpu"]) {
    if (!await weft.setBackend(device)) continue;
    const use = async () => void await weft.setBackend(device);
    made.push({ name: `Weft, ${device}`, tf: weft, tfl: weftLayers, use });
  }
  for (const name of ["wasm", "cpu"]) {
    const use = async () => {
      if (!await tf.setBackend(name)) throw new Error(`Cannot start the backend ${name}`);
    };
    made.push({ name: `TensorFlow.js, ${name}`, tf, tfl, use });
  }
  return made;
}

interface Times {
  /** Milliseconds of an epoch. */
  readonly fit: number[];
  /** Milliseconds of a prediction of all rows. */
  readonly predict: number[];
  /** Loss after each epoch. */
  readonly losses: number[];
  /** Why something has no time. */
  readonly failures: { fit?: string; predict?: string };
}

/** A model on a system, and its data there. */
async function prepare({ tf, tfl, use }: System, model: Model) {
  await use();
  const net = tfl.sequential({ layers: model.layers(tfl) });
  // Recurrent weights have no seed of their own: all systems begin with the same.
  const weights = net.getWeights().map((w, i) => tf.tensor(normals(w.size, 10 + i, 0.1), w.shape));
  net.setWeights(weights);
  net.compile({ optimizer: tf.train.adam(0.001), loss: "categoricalCrossentropy" });
  const size = model.input.reduce((a, b) => a * b, 1);
  const x = tf.tensor(normals(ROWS * size, 1), [ROWS, ...model.input]);
  const classes = Int32Array.from({ length: ROWS }, (_, i) => i % 10);
  const y = tf.cast(tf.oneHot(tf.tensor1d(classes, "int32"), 10), "float32");
  return {
    async fit(): Promise<number> {
      await use();
      const { history } = await net.fit(x, y, {
        epochs: 1,
        batchSize: BATCH,
        shuffle: false,
        verbose: 0,
      });
      return Number(history.loss[0]);
    },
    async predict(): Promise<void> {
      await use();
      const out = net.predict(x, { batchSize: ROWS }) as Tfjs.Tensor;
      await out.data();
      out.dispose();
    },
  };
}

async function measure(
  model: Model,
  all: readonly System[],
  rounds: number,
): Promise<Map<string, Times>> {
  const times = new Map<string, Times>(
    all.map(({ name }) => [name, { fit: [], predict: [], losses: [], failures: {} }]),
  );
  const running = new Map<string, Awaited<ReturnType<typeof prepare>>>();
  for (const system of all) running.set(system.name, await prepare(system, model));
  // The round before the first prepares kernels.
  for (let round = -1; round < rounds; round++) {
    for (const [name, { fit, predict }] of running) {
      const found = times.get(name)!;
      const work = { fit: async () => void found.losses.push(await fit()), predict };
      for (const what of ["fit", "predict"] as const) {
        if (found.failures[what] !== undefined) continue;
        try {
          const began = performance.now();
          await work[what]();
          const took = performance.now() - began;
          if (took > PATIENCE_MS) found.failures[what] = "takes too long";
          if (round >= 0 || took > PATIENCE_MS) found[what].push(took);
        } catch (error) {
          found.failures[what] = (error as Error).message.split("\n")[0].slice(0, 70);
        }
      }
    }
  }
  return times;
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Throws where systems that trained alike came to different losses. */
function checkLosses(model: string, times: ReadonlyMap<string, Times>): void {
  const [[first, { losses }], ...others] = [...times].filter(([, t]) => t.losses.length > 0);
  for (const [name, other] of others) {
    const n = Math.min(losses.length, other.losses.length);
    for (let i = 0; i < n; i++) {
      if (Math.abs(losses[i] - other.losses[i]) < 0.02 * losses[i]) continue;
      throw new Error(
        `${model}: epoch ${i} of ${first} has loss ${losses[i]}, of ${name} ${other.losses[i]}`,
      );
    }
  }
}

/** Runs the bench; gives the exit status. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", default: "" },
      rounds: { type: "string", default: "5" },
      write: { type: "boolean", default: false },
    },
  });
  const all = await systems();
  const lines = [
    `| model | ms of | ${all.map(({ name }) => name).join(" | ")} | ours × |`,
    `| --- | --- | ${all.map(() => "---:").join(" | ")} | ---: |`,
  ];
  for (const model of MODELS.filter(({ name }) => name.includes(values.only))) {
    const times = await measure(model, all, Number(values.rounds));
    checkLosses(model.name, times);
    for (const what of ["fit", "predict"] as const) {
      const medians = all.map(({ name }) => median(times.get(name)![what]));
      const of = (mine: boolean) =>
        Math.min(
          ...medians.filter((m, i) => m !== undefined && all[i].name.startsWith("Weft") === mine),
        );
      const cells = medians.map((m, i) =>
        m?.toFixed(1) ?? times.get(all[i].name)!.failures[what] ?? ""
      );
      lines.push(
        `| ${model.name}: ${model.what} | ${what} | ${cells.join(" | ")} | ${
          (of(false) / of(true)).toFixed(2)
        } |`,
      );
      console.log(lines.at(-1));
    }
  }
  const text =
    `An epoch of \`model.fit\` (${ROWS} rows in batches of ${BATCH}, Adam) and a \`model.predict\` of all rows; medians of ${values.rounds} interleaved rounds in one process, losses compared.\n\n${
      lines.join("\n")
    }`;
  console.log(`\n${text}`);
  if (values.write) {
    await writeSection(RESULTS, { title: "Layers of TensorFlow.js", text });
  }
  return 0;
}
