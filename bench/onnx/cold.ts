// First results from nothing: a process of its own imports a system, loads a model and runs it once.
//
//   deno task bench onnx --cold --models FOLDER... [cpu|webgpu] [--threads N] [--only NAME]... [--write]
//
// Weft is the package as it is published, like its peer. Processes alternate; Deno has the code of both in its caches by then.

import { cpuUsage } from "node:process";
import { buildPackage } from "../../tools/build.ts";
import { folderFiles } from "./files.ts";
import { onnxruntime, weft } from "./systems.ts";
import { writeSection } from "../results.ts";
import type { Device } from "../row.ts";
import { limitThreads, threadsText } from "../threads.ts";

/** Processes of each system that are timed, after one that is not. */
const ROUNDS = 5;

const NAMES = ["weft", "onnxruntime-web"] as const;

/** Milliseconds of a process from before its import to its first result: by the clock, and of the processor. */
interface Times {
  readonly clock: number;
  readonly processor: number;
}

/** Options of {@linkcode coldStarts}. */
export interface ColdOptions {
  readonly models: readonly string[];
  readonly only: readonly string[];
  readonly device: Device;
  readonly threads: number;
  readonly write: boolean;
}

async function startProcess(args: readonly string[]): Promise<Times> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.url, ...args],
  }).output();
  const found = new TextDecoder().decode(stdout).match(/^RESULT (.*) (.*)$/m);
  if (found === null) throw new Error(new TextDecoder().decode(stderr));
  return { clock: Number(found[1]), processor: Number(found[2]) };
}

function median(list: readonly number[]): number {
  return [...list].sort((a, b) => a - b)[list.length >> 1]!;
}

/** Makes the table of first results. Returns an exit code. */
export async function coldStarts(
  { models, only, device, threads, write }: ColdOptions,
): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "weft_bench_" });
  const rows: string[][] = [
    ["model", "Weft", "onnxruntime-web", "× theirs", "Weft, processor", "theirs", "× theirs"],
  ];
  const ratios: number[] = [];
  try {
    await buildPackage(folder, { types: false });
    for (const place of models) {
      for (const { name } of await folderFiles(place)) {
        if (only.length > 0 && !only.some((o) => name.includes(o))) continue;
        const times: Record<typeof NAMES[number], Times[]> = { weft: [], "onnxruntime-web": [] };
        for (let round = 0; round <= ROUNDS; round++) {
          for (const system of NAMES) {
            const args = [system, device, String(threads), place, name, folder];
            const found = await startProcess(args);
            if (round > 0) times[system].push(found);
          }
        }
        const of = (system: typeof NAMES[number], key: keyof Times) =>
          median(times[system].map((t) => t[key]));
        const cells = (["clock", "processor"] as const).flatMap((key) => {
          const [ours, theirs] = [of("weft", key), of("onnxruntime-web", key)];
          if (key === "processor") ratios.push(theirs / ours);
          return [ours.toFixed(0), theirs.toFixed(0), (theirs / ours).toFixed(2)];
        });
        rows.push([name, ...cells]);
        console.log(rows.at(-1)!.join("  "));
      }
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
  const summary = `${ratios.length} models: theirs takes ${
    median(ratios).toFixed(2)
  } times the processor's time of ours in the median, ${
    Math.min(...ratios).toFixed(2)
  } times at least.`;
  console.log(summary);
  if (write) {
    const row = (r: readonly string[]) => `| ${r.join(" | ")} |`;
    const [head, ...lines] = rows;
    await writeSection(new URL("../RESULTS.md", import.meta.url), {
      title: `First results of ONNX models from nothing, ${device}, ${threadsText(threads)}`,
      text:
        `${new Date().toISOString().slice(0, 10)}, milliseconds, at a load of ${
          Deno.loadavg()[0]!.toFixed(1)
        }. A process imports the package, loads a model's bytes and runs it once; medians of ${ROUNDS} alternating ` +
        `processes, by the clock and of the processor.\n\n${
          [row(head!), row(head!.map((_, i) => i === 0 ? "---" : "---:")), ...lines.map(row)]
            .join("\n")
        }\n\n${summary}`,
    });
  }
  return 0;
}

/** A process of one first result. */
async function child(
  [system, device, threads, models, name, folder]: readonly string[],
): Promise<void> {
  limitThreads(Number(threads));
  const file = (await folderFiles(models!)).find((f) => f.name === name)!;
  const given = { bytes: await file.bytes(), external: await file.external() };
  const now = (): Times => {
    const { user, system } = cpuUsage();
    return { clock: performance.now(), processor: (user + system) / 1000 };
  };
  const began = now();
  const made = system === "weft" ? await weft(device as Device, folder) : await onnxruntime();
  const session = await made.load(given, file.inputs);
  await session.run();
  const ended = now();
  // Libraries print advice on the console; the marker tells our line from theirs.
  console.log(`RESULT ${ended.clock - began.clock} ${ended.processor - began.processor}`);
  Deno.exit(0);
}

if (import.meta.main) await child(Deno.args);
