// Loads and runs models of ONNX in Weft and in onnxruntime-web, in one process, compares both with what the files want, and times them.
//
//   deno task bench onnx --models FOLDER... [cpu|webgpu] [--threads N] [--only NAME]... [--native PYTHON] [--check] [--first] [--write]
//
// A folder has NAME.onnx and NAME.io.bin; `bench/onnx/models.py` makes one of larger models. "first" is the time from the file's
// bytes to the first result, the model's first load in the process, "again" the median of three more loads, "run" the median of
// interleaved runs, with one thread in time of the processor, all with results in JavaScript's memory. --native names a Python that has onnxruntime, for a column of it.
// --first leaves the runs out. --cold starts a process for each first result instead, see cold.ts. --write puts the table into
// bench/RESULTS.md.

import { cpuUsage } from "node:process";
import { parseArgs } from "node:util";
import { coldStarts } from "./cold.ts";
import { errorOf, folderFiles, type OnnxFile } from "./files.ts";
import { onnxruntime, type Results, type Session, type System, weft } from "./systems.ts";
import { writeSection } from "../results.ts";
import { limitThreads, threadsText } from "../threads.ts";

/** Milliseconds of runs before the timed ones, by the clock that times: on a busy machine code is compiled later. */
const WARM_MS = 600;

/** Its threads spin for about 50 ms after a run. */
const SPIN_MS = 80;

/** Times of one system for a model. */
interface Times {
  readonly first?: number;
  readonly again?: number;
  readonly run?: number;
  readonly error?: number;
  readonly failure?: string;
}

interface Line {
  readonly name: string;
  readonly times: readonly Times[];
  readonly native?: number;
}

/** Milliseconds that have passed; with one thread, of the processor: work of others counts less. */
function clockOf(isParallel: boolean): () => number {
  if (isParallel) return () => performance.now();
  return () => {
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  };
}

/** Loads a model and runs it once; `count` times, one after the other. */
async function firstResults(
  system: System,
  file: OnnxFile,
  { count, clock }: { readonly count: number; readonly clock: () => number },
): Promise<{
  readonly session: Session;
  readonly results: Results;
  readonly times: number[];
}> {
  const times: number[] = [];
  for (let i = 0;; i++) {
    // A session may keep or change what it is given.
    const given = { bytes: await file.bytes(), external: await file.external() };
    const started = clock();
    const session = await system.load(given, file.inputs), results = await session.run();
    times.push(clock() - started);
    if (i === count - 1) return { session, results, times };
    session.dispose();
  }
}

/** Median times of interleaved runs; short runs are timed several at once. */
async function medians(sessions: readonly Session[], isParallel: boolean): Promise<number[]> {
  const samples = sessions.map((): number[] => []), counts: number[] = [];
  const clock = clockOf(isParallel);
  for (const session of sessions) {
    // Code is compiled as it becomes hot.
    const until = clock() + WARM_MS;
    for (let i = 0; i < 3 || clock() < until; i++) await session.run();
    const started = performance.now();
    await session.run();
    counts.push(Math.max(1, Math.min(50, Math.round(4 / (performance.now() - started)))));
  }
  const began = performance.now();
  for (let round = 0; round < 61; round++) {
    for (const [k, session] of sessions.entries()) {
      if (isParallel) await new Promise((resolve) => setTimeout(resolve, SPIN_MS));
      const started = clock();
      for (let i = 0; i < counts[k]!; i++) await session.run();
      samples[k]!.push((clock() - started) / counts[k]!);
    }
    if (round >= 6 && performance.now() - began > 3000) break;
  }
  return samples.map(median);
}

function median(list: readonly number[]): number {
  return [...list].sort((a, b) => a - b)[list.length >> 1]!;
}

async function measure(
  file: OnnxFile,
  systems: readonly System[],
  { loads, runs, isParallel }: {
    readonly loads: number;
    readonly runs: boolean;
    readonly isParallel: boolean;
  },
): Promise<Line> {
  const clock = clockOf(isParallel);
  const times: Times[] = [], sessions: Session[] = [];
  for (const system of systems) {
    try {
      const made = await firstResults(system, file, { count: loads, clock });
      sessions.push(made.session);
      times.push({
        first: made.times[0]!,
        again: loads > 1 ? median(made.times.slice(1)) : NaN,
        error: errorOf(made.results, file.outputs),
      });
    } catch (e) {
      times.push({ failure: String(e).split("\n")[0]! });
    }
  }
  if (runs && sessions.length > 0) {
    const found = await medians(sessions, isParallel);
    let at = 0;
    times.forEach((t, i) => {
      if (t.failure === undefined) times[i] = { ...t, run: found[at++]! };
    });
  }
  sessions.forEach((s) => s.dispose());
  return { name: file.name, times };
}

/** Median times of native onnxruntime, by name. */
async function nativeTimes(
  python: string,
  folders: readonly string[],
  threads: number,
): Promise<Map<string, number>> {
  const script = new URL("./native.py", import.meta.url).pathname;
  const { success, stdout, stderr } = await new Deno.Command(python, {
    args: [script, String(threads), ...folders],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new Map(Object.entries(JSON.parse(new TextDecoder().decode(stdout))));
}

const HEAD = ["model", "first", "theirs", "again", "theirs", "run", "theirs", "ours ×"];

const shown = (n: number | undefined): string =>
  n === undefined || Number.isNaN(n) ? "–" : n.toPrecision(3);

function ratioOf({ times: [ours, theirs] }: Line): number {
  return (theirs?.run ?? NaN) / (ours?.run ?? NaN);
}

function cells(line: Line, withNative: boolean): string[] {
  const { name, times: [ours, theirs] } = line;
  return [
    name,
    shown(ours?.first),
    shown(theirs?.first),
    shown(ours?.again),
    shown(theirs?.again),
    shown(ours?.run),
    shown(theirs?.run),
    shown(ratioOf(line)),
    ...withNative ? [shown(line.native), shown((line.native ?? NaN) / (ours?.run ?? NaN))] : [],
    ours?.error === undefined ? "–" : ours.error.toExponential(1),
    theirs?.error === undefined ? "–" : theirs.error.toExponential(1),
  ];
}

function notes({ name, times }: Line, systems: readonly System[]): string[] {
  return times.flatMap(({ failure }, i) =>
    failure === undefined ? [] : [`- ${name}: ${systems[i]!.name}: ${failure}`]
  );
}

/** Makes the table. Returns an exit code: 1 where a model differs or fails. */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      models: { type: "string", multiple: true, default: [] },
      threads: { type: "string", default: "1" },
      only: { type: "string", multiple: true, default: [] },
      native: { type: "string" },
      check: { type: "boolean", default: false },
      first: { type: "boolean", default: false },
      cold: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const device = positionals[0] === "webgpu" ? "webgpu" : "cpu", threads = Number(values.threads);
  if (values.cold) return await coldStarts({ ...values, device, threads });
  limitThreads(threads);
  const systems = [await weft(device), await onnxruntime()];
  const native = values.native === undefined
    ? null
    : await nativeTimes(values.native, values.models, threads);
  const head = [...HEAD, ...native === null ? [] : ["native", "×"], "difference", "theirs"];
  console.log(head.join("  "));
  const lines: Line[] = [], wrong: string[] = [], { check } = values, isParallel = threads > 1;
  const how = { loads: check ? 1 : 4, runs: !check && !values.first, isParallel };
  let isStarted = false;
  for (const folder of values.models) {
    for (const file of await folderFiles(folder)) {
      if (values.only.length > 0 && !values.only.some((o) => file.name.includes(o))) continue;
      // The first session of a process starts the runtimes.
      if (!isStarted) await measure(file, systems, { ...how, loads: 1, runs: false });
      isStarted = true;
      const found = await measure(file, systems, how);
      const line = { ...found, ...native?.has(file.name) && { native: native.get(file.name)! } };
      lines.push(line);
      const error = line.times[0]!.error ?? Infinity;
      if (!(error <= file.tolerance)) wrong.push(file.name);
      console.log([...cells(line, native !== null), ...notes(line, systems)].join("  "));
    }
  }
  const ratios = lines.map(ratioOf).filter((r) => !Number.isNaN(r));
  const earlier = (key: "first" | "again"): number =>
    lines.filter(({ times: [a, b] }) => (a?.[key] ?? NaN) <= (b?.[key] ?? NaN)).length;
  const run = ratios.length === 0
    ? ""
    : `ours × ${shown(median(ratios))} in the median, ${shown(Math.min(...ratios))} at least; `;
  const summary = `${lines.length} models: ${run}${earlier("first")} first results no later, ${
    earlier("again")
  } further ones.`;
  console.log(summary);
  if (wrong.length > 0) console.log(`Differ or fail: ${wrong.join(", ")}`);
  if (values.write) {
    const row = (r: readonly string[]) => `| ${r.join(" | ")} |`;
    const table = [
      row(head),
      row(head.map((_, i) => i === 0 ? "---" : "---:")),
      ...lines.map((l) => row(cells(l, native !== null))),
      "",
      ...lines.flatMap((l) => notes(l, systems)),
      summary,
    ].join("\n");
    await writeSection(new URL("../RESULTS.md", import.meta.url), {
      title: `Models of ONNX beside onnxruntime-web, ${device}, ${threadsText(threads)}`,
      text:
        `${new Date().toISOString().slice(0, 10)}, milliseconds, at a load of ${
          Deno.loadavg()[0]!.toFixed(1)
        }${
          threads === 1 ? ", in time of the processor" : ""
        }. First: from the file's bytes to the first ` +
        `result; again: median of three more loads; run: median of interleaved runs.\n\n${table}`,
    });
  }
  return wrong.length > 0 ? 1 : 0;
}
