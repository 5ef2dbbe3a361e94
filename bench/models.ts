// Loads and runs TensorFlow.js's models that npm packages bring, in Weft and in TensorFlow.js, compares what they give, and times both.
//
//   deno task bench models [cpu|webgpu] [--modules FOLDER] [--only NAME]... [--check] [--write]
//
// --modules names a `node_modules` that has the packages; without it Deno fetches them (170 MB). --check compares and does not
// time, --write puts the table into bench/RESULTS.md. TensorFlow.js runs on its wasm backend, on its cpu backend where that
// lacks an op; both systems take one thread.

import { parseArgs } from "node:util";
import * as tf from "@weft/weft";
import type * as Tfjs from "@tensorflow/tfjs-core";
import { type ModelFile, modelFiles } from "./model_files.ts";
import {
  type Converter,
  type Input,
  type Layers,
  layersRunner,
  ours,
  type Runner,
  theirs,
  type Value,
} from "./model_runners.ts";
import { createTfjsPeer } from "./peers/tfjs.ts";
import { tfjsPackages } from "../tools/tfjs_packages.ts";
import { writeSection } from "./results.ts";
import { limitThreads } from "./threads.ts";

const CONVERTER = "npm:@tensorflow/tfjs-converter@4.22.0";
const CPU_BACKEND = "@tensorflow/tfjs-backend-cpu";

/** A line of the table. */
interface Line {
  readonly name: string;
  readonly loadMs?: number;
  readonly theirLoadMs?: number;
  readonly ms?: number;
  readonly theirMs?: number;
  readonly backend?: string;
  readonly error?: number;
  /** Change of TensorFlow.js's outputs for inputs changed in their last place; computed if the error is large. */
  readonly sensitivity?: number;
  /** Difference of the outputs of TensorFlow.js's cpu backend from those of its wasm backend; computed with it. */
  readonly between?: number;
  readonly note?: string;
}

/** The result of a comparison. */
type Found = Pick<Line, "error" | "note" | "sensitivity" | "between">;

/** Largest difference allowed, relative to the largest magnitude of an output. */
const TOLERANCE = 2e-4;

/** A line for a model of layers. */
async function layersLine(
  file: ModelFile,
  { tfjs, device, check }: {
    readonly tfjs: typeof Tfjs;
    readonly device: string;
    readonly check: boolean;
  },
): Promise<Line> {
  const weft = await import("@weft/weft/tfjs-core") as unknown as typeof Tfjs;
  await weft.setBackend(device);
  await tfjs.setBackend("wasm");
  const { tfl } = await tfjsPackages();
  const mine = await layersRunner(file, { tf: weft, layers: tfl });
  const other = await layersRunner(file, { tf: tfjs, layers: tfjs as unknown as Layers });
  try {
    const found = compare(await mine.values(), await other.values(), ["output"]);
    const [ms, theirMs] = check ? [] : await time([mine, other]);
    return {
      name: file.name,
      backend: "wasm",
      loadMs: mine.loadMs,
      theirLoadMs: other.loadMs,
      ...(ms === undefined ? {} : { ms }),
      ...(theirMs === undefined ? {} : { theirMs }),
      ...found,
    };
  } finally {
    mine.dispose();
    other.dispose();
  }
}

/** The largest difference relative to the scale of its output; a note where shapes differ. */
function compare(
  a: readonly Value[],
  b: readonly Value[],
  names: readonly string[],
): Found {
  let error = 0;
  for (const [k, value] of a.entries()) {
    const other = b[k]!;
    if (value.shape.join() !== other.shape.join()) {
      return { note: `${names[k]}: [${value.shape}], TensorFlow.js [${other.shape}]` };
    }
    let scale = 0, worst = 0;
    for (let i = 0; i < other.data.length; i++) {
      const x = value.data[i]!, y = other.data[i]!;
      if (Object.is(x, y) || Number.isNaN(x) && Number.isNaN(y)) continue;
      scale = Math.max(scale, Math.abs(y));
      const d = Math.abs(x - y);
      worst = Math.max(worst, Number.isNaN(d) ? Infinity : d);
    }
    for (let i = 0; i < other.data.length; i++) scale = Math.max(scale, Math.abs(other.data[i]!));
    error = Math.max(error, worst === 0 ? 0 : worst / scale);
  }
  return { error };
}

/** Values that differ in their last place. */
function inLastPlace(values: Input["values"]): Input["values"] {
  if (!(values instanceof Float32Array)) return values;
  return values.map((v, i) => v * (1 + (i % 3 - 1) * 2 ** -23));
}

async function time(runners: readonly Runner[]): Promise<number[]> {
  const samples = runners.map((): number[] => []);
  const started = performance.now();
  for (let round = 0; round < 31; round++) {
    for (const [k, runner] of runners.entries()) {
      const before = performance.now();
      await runner.run();
      samples[k]!.push(performance.now() - before);
    }
    if (round >= 2 && performance.now() - started > 4000) break;
  }
  return samples.map((s) => s.sort((a, b) => a - b)[s.length >> 1]!);
}

async function line(
  file: ModelFile,
  { tfjs, converter, check }: {
    readonly tfjs: typeof Tfjs;
    readonly converter: Converter;
    readonly check: boolean;
  },
): Promise<Line> {
  const { name } = file;
  let mine;
  try {
    mine = await ours(file);
  } catch (e) {
    return { name, note: `Weft: ${e}` };
  }
  const { runner, inputs, outputs } = mine;
  let values: Value[];
  try {
    values = await runner.values();
  } catch (e) {
    return { name, loadMs: runner.loadMs, note: `Weft: ${e}` };
  }
  let other: Runner | undefined, backend = "wasm", failure = "";
  for (backend of file.backend === undefined ? ["wasm", "cpu"] : [file.backend]) {
    await tfjs.setBackend(backend);
    tfjs.env().set("KEEP_INTERMEDIATE_TENSORS", file.keep === true);
    try {
      other = await theirs(file, { converter, tfjs, inputs, outputs });
      // Ops may be missing further on.
      await other.run();
      break;
    } catch (e) {
      failure = String(e).split("\n")[0]!;
      other = undefined;
    }
  }
  try {
    if (other === undefined) {
      const [ms] = check ? [] : await time([runner]);
      return {
        name,
        loadMs: runner.loadMs,
        ...(ms === undefined ? {} : { ms }),
        note: `TensorFlow.js: ${failure}`,
      };
    }
    const expected = await other.values();
    let found: Found = compare(values, expected, outputs);
    if (found.error !== undefined && found.error > TOLERANCE) {
      // Some nets amplify noise in the last place in any library.
      const distance = async (changed: readonly Input[]): Promise<number> => {
        const runner = await theirs(file, { converter, tfjs, outputs, inputs: changed });
        const { error = 0 } = compare(await runner.values(), expected, outputs);
        runner.dispose();
        return error;
      };
      const sensitivity = await distance(
        inputs.map((i) => ({ ...i, values: inLastPlace(i.values) })),
      );
      await tfjs.setBackend("cpu");
      found = { ...found, sensitivity, between: await distance(inputs) };
      await tfjs.setBackend(backend);
    }
    // What it does to keep tensors takes longer than the model.
    const timed = file.keep ? [runner] : [runner, other];
    const [ms, theirMs] = check ? [] : await time(timed);
    return {
      name,
      backend,
      loadMs: runner.loadMs,
      theirLoadMs: other.loadMs,
      ...(ms === undefined ? {} : { ms }),
      ...(theirMs === undefined ? {} : { theirMs }),
      ...found,
    };
  } finally {
    runner.dispose();
    other?.dispose();
  }
}

function cells({ name, loadMs, theirLoadMs, ms, theirMs, backend, error }: Line): string[] {
  const number = (n: number | undefined): string => n === undefined ? "–" : n.toPrecision(3);
  return [
    name,
    number(loadMs),
    number(theirLoadMs),
    number(ms),
    number(theirMs),
    backend ?? "–",
    ms === undefined || theirMs === undefined ? "–" : (theirMs / ms).toPrecision(3),
    error === undefined ? "–" : error.toExponential(1),
  ];
}

function notes({ name, note, sensitivity, between }: Line): string[] {
  return [
    ...(note === undefined ? [] : [`- ${name}: ${note}`]),
    ...(sensitivity === undefined ? [] : [
      `- ${name}: TensorFlow.js's own outputs change by ${
        sensitivity.toExponential(1)
      } where inputs change in their last place, and by ${
        between?.toExponential(1)
      } between its wasm and cpu backends`,
    ]),
  ];
}

const HEAD = ["model", "load", "theirs", "run", "theirs", "backend", "ours ×", "difference"];

/** The table in Markdown. */
function markdown(lines: readonly Line[]): string {
  const row = (r: readonly string[]) => `| ${r.join(" | ")} |`;
  return [
    row(HEAD),
    row(HEAD.map((_, i) => (i === 0 ? "---" : "---:"))),
    ...lines.map((l) => row(cells(l))),
    "",
    ...lines.flatMap(notes),
  ].join("\n");
}

/** Makes the table. Returns an exit code: 1 where a model differs or fails. */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      modules: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      check: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const device = positionals[0] === "webgpu" ? "webgpu" : "cpu";
  limitThreads(1);
  const { tf: tfjs } = await createTfjsPeer("cpu");
  await import(CPU_BACKEND);
  const converter: Converter = await import(CONVERTER);
  await tf.setBackend(device);
  const lines: Line[] = [];
  for (const file of await modelFiles(values.modules)) {
    if (values.only.length > 0 && !values.only.some((o) => file.name.includes(o))) continue;
    const l = file.layers
      ? await layersLine(file, { tfjs, device, check: values.check })
      : await line(file, { tfjs, converter, check: values.check });
    lines.push(l);
    console.log([...cells(l), ...notes(l)].join("  "));
  }
  const isRight = ({ error, sensitivity = 0 }: Line): boolean =>
    error !== undefined && error <= Math.max(TOLERANCE, 4 * sensitivity);
  const bad = lines.filter((l) => !isRight(l));
  if (bad.length > 0) console.log(`Differ or fail: ${bad.map((l) => l.name).join(", ")}`);
  if (values.write) {
    await writeSection(new URL("./RESULTS.md", import.meta.url), {
      title: `TensorFlow.js's models, ${device === "cpu" ? "CPU, 1 thread" : "WebGPU"}`,
      text: `${new Date().toISOString().slice(0, 10)}, ${
        values.check ? "outputs compared" : "milliseconds, medians of interleaved runs"
      }, at a load of ${Deno.loadavg()[0]!.toFixed(1)}.\n\n${markdown(lines)}`,
    });
  }
  return bad.length > 0 ? 1 : 0;
}
