// Times `model.fit` and `model.predict` of TensorFlow.js's layers: over Weft, compiled and op by op, and over TensorFlow.js's own backends.
//
//   deno task bench layers [cpu|webgpu] [--only NAME] [--rounds N] [--write]
//
// One process: each round trains every model once on each system, which take turns; the median of the rounds is given. Weights begin
// alike and batches come in order, so losses after training are compared before times are believed. A backend that cannot train a
// model, or takes minutes for it, says so.

import { parseArgs } from "node:util";
import type * as Tfjs from "@tensorflow/tfjs-core";
import type * as Layers from "@tensorflow/tfjs-layers";
import { tfjsPackages } from "../tools/tfjs_packages.ts";
import { packageFolder } from "../tools/npm.ts";
import { normals } from "./random.ts";
import { writeSection } from "./results.ts";

const RESULTS = new URL("./RESULTS.md", import.meta.url);
/** Rows of the data, and rows of a batch. */
const ROWS = 256, BATCH = 32;
/** A system that took longer for a model is not asked again. */
const PATIENCE_MS = 20_000;

/** Rounds before the first that counts: Weft compiles a step when it has run sixteen times. */
const WARM_ROUNDS = { fit: 3, predict: 18 };

/** Backends of TensorFlow.js, by the device they are compared on. */
const THEIRS = { cpu: ["wasm", "cpu"], webgpu: ["webgpu"] } as const;
type Device = keyof typeof THEIRS;

/** One way to run layers. */
interface System {
  readonly name: string;
  readonly isOurs: boolean;
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

async function systems(device: Device): Promise<System[]> {
  // First: whichever is loaded first is the engine that bundled copies of TensorFlow.js find.
  const tf: typeof Tfjs = await import("@tensorflow/tfjs-core");
  await import("@tensorflow/tfjs-backend-cpu");
  const tfl = await import("@tensorflow/tfjs-layers");
  if (device === "webgpu") await import("@tensorflow/tfjs-backend-webgpu");
  else {
    const wasm = await import("@tensorflow/tfjs-backend-wasm");
    const folder = new URL("dist/", await packageFolder("@tensorflow/tfjs-backend-wasm"));
    wasm.setWasmPaths(decodeURIComponent(folder.pathname));
  }
  tf.enableProdMode();
  const weft = await import("@weft/weft/tfjs-core") as unknown as typeof Tfjs;
  const { tfl: weftLayers } = await tfjsPackages();
  if (!await weft.setBackend(device)) throw new Error(`There is no ${device} here`);
  const ours = (name: string, isCompiled: boolean): System => ({
    name,
    isOurs: true,
    tf: weft,
    tfl: weftLayers,
    use: () => Promise.resolve(weft.env().set("WEFT_COMPILE_LAYERS", isCompiled)),
  });
  const theirs = (name: string): System => ({
    name: `TensorFlow.js, ${name}`,
    isOurs: false,
    tf,
    tfl,
    async use() {
      if (!await tf.setBackend(name)) throw new Error(`Cannot start the backend ${name}`);
    },
  });
  return [ours("Weft", true), ours("Weft, op by op", false), ...THEIRS[device].map(theirs)];
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
  for (let round = -WARM_ROUNDS.predict; round < rounds; round++) {
    for (const { name, isOurs } of all) {
      const found = times.get(name)!, { fit, predict } = running.get(name)!;
      const work = { fit: async () => void found.losses.push(await fit()), predict };
      for (const what of ["fit", "predict"] as const) {
        // The others prepare their kernels in one round.
        if (round < -(isOurs ? WARM_ROUNDS[what] : 1)) continue;
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

/** A table of a device's systems. */
async function table(
  device: Device,
  { only, rounds }: { readonly only: string; readonly rounds: number },
): Promise<string> {
  const all = await systems(device);
  const lines = [
    `| model | ms of | ${all.map(({ name }) => name).join(" | ")} | ours × |`,
    `| --- | --- | ${all.map(() => "---:").join(" | ")} | ---: |`,
  ];
  for (const model of MODELS.filter(({ name }) => name.includes(only))) {
    const times = await measure(model, all, rounds);
    checkLosses(model.name, times);
    for (const what of ["fit", "predict"] as const) {
      const medians = all.map(({ name }) => median(times.get(name)![what]));
      const best = Math.min(...medians.filter((m, i) => m !== undefined && !all[i].isOurs));
      const cells = medians.map((m, i) =>
        m?.toFixed(1) ?? times.get(all[i].name)!.failures[what] ?? ""
      );
      const ratio = Number.isFinite(best) ? (best / medians[0]).toFixed(2) : "–";
      lines.push(`| ${model.name}: ${model.what} | ${what} | ${cells.join(" | ")} | ${ratio} |`);
      console.log(lines.at(-1));
    }
  }
  return lines.join("\n");
}

/** Runs the bench; gives the exit status. */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string", default: "" },
      rounds: { type: "string", default: "5" },
      write: { type: "boolean", default: false },
    },
  });
  const devices = positionals.length > 0 ? positionals : Object.keys(THEIRS);
  for (const device of devices as Device[]) {
    const made = await table(device, { only: values.only, rounds: Number(values.rounds) });
    const date = new Date().toISOString().slice(0, 10), [load] = Deno.loadavg();
    const text = `${date}, at a load of ${
      load.toFixed(1)
    }. An epoch of \`model.fit\` (${ROWS} rows in batches of ${BATCH}, Adam) and a \`model.predict\` of all rows, when Weft has compiled them; medians of ${values.rounds} interleaved rounds in one process, losses compared. "ours ×" is the best of TensorFlow.js's backends divided by Weft.\n\n${made}`;
    console.log(`\n${text}\n`);
    if (values.write) {
      const title = `Layers of TensorFlow.js${device === "cpu" ? "" : ", WebGPU"}`;
      await writeSection(RESULTS, { title, text });
    }
  }
  return 0;
}
