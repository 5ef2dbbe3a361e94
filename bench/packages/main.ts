// Times packages that are built on TensorFlow.js, unmodified, over Weft and over TensorFlow.js: the programs of tests/tfjs_core/packages.ts,
// each on each system in processes of its own, which take turns. What they tell is compared before times are believed.
//
//   deno task bench packages [--only NAME]... [--rounds N] [--seconds N] [--built FOLDER] [--write]
//
// Weft is the package that `deno task build` makes, by a bundler's alias; --built names a folder that has it. All systems take one thread. The processor's time is given beside
// the clock's: it is what counts where a machine is shared.

import { parseArgs } from "node:util";
import { stop } from "esbuild";
import { importing, PACKAGES } from "../../tests/tfjs_core/packages.ts";
import { buildPackage } from "../../tools/build.ts";
import { capture } from "../../tools/command.ts";
import { frozenArgs } from "../../tools/lock.ts";
import { fromFileUrl } from "../../tools/paths.ts";
import { TFJS_CORE } from "../../tools/tfjs_core.ts";
import { bundlePackages, type CoreFor, theirCore } from "../../tools/tfjs_packages.ts";
import { writeSection } from "../results.ts";
import { median } from "../starts/start.ts";
import type { Span, Took } from "./one.ts";

const RESULTS = new URL("../RESULTS.md", import.meta.url);
const ONE = fromFileUrl(new URL("./one.ts", import.meta.url));

/** The systems: Weft, and the backends of TensorFlow.js that a process has. */
const SYSTEMS = ["weft", "wasm", "cpu"] as const;
type System = typeof SYSTEMS[number];

/** Largest difference of what is told, relative to its size; to 1 below that. */
const TOLERANCE = 1e-3;

/** A line of the table: by system, what its processes took, or why they failed. */
interface Line {
  readonly name: string;
  readonly took: Partial<Record<System, Took[]>>;
  readonly failed: Partial<Record<System, string>>;
}

/** A call of this length, in milliseconds, leaves no doubt that plain loops take longer than WebAssembly. */
const LONG_MS = 5;

/** Our built package, where imports of TensorFlow.js's core lead. */
async function ourCore(folder: string): Promise<CoreFor> {
  const { exports } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`));
  return (specifier) => {
    const found = exports[specifier.replace(TFJS_CORE, "./tfjs-core").replace(/\.js$/, "")];
    return { path: `${folder}/${found.default}`, external: true };
  };
}

/** Makes the bundles of a package and gives their files. */
async function bundle(name: string, home: string, core: CoreFor): Promise<Record<System, string>> {
  const contents = await importing([name]);
  const ours = `${home}/ours.mjs`, theirs = `${home}/theirs.mjs`;
  await bundlePackages(contents, ours, { core });
  await bundlePackages(
    `${contents}\nexport * as wasm from "@tensorflow/tfjs-backend-wasm";`,
    theirs,
    { core: await theirCore() },
  );
  return { weft: ours, wasm: theirs, cpu: theirs };
}

async function runOne(path: string, name: string, system: System, seconds: number): Promise<Took> {
  const backend = system === "weft" ? "cpu" : system;
  const args = ["run", "-A", ...frozenArgs(), ONE, path, name, backend, `${seconds}`];
  const { code, stdout, stderr } = await capture(Deno.execPath(), args, { timeoutMs: 300_000 });
  const last = stdout.trimEnd().split("\n").at(-1)!;
  if (code === 0) return JSON.parse(last);
  const error = stderr.split("\n").find((line) => /[Ee]rror/.test(line)) ?? `exit code ${code}`;
  // deno-lint-ignore no-control-regex
  throw new Error(error.replace(/\x1b\[[\d;]*m/g, "").slice(0, 160));
}

/** True if two systems tell the same. */
function isClose(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length &&
    a.every((v, i) => Math.abs(v - b[i]!) <= TOLERANCE * Math.max(1, Math.abs(b[i]!)));
}

/** Effort of a measurement. */
interface Effort {
  readonly rounds: number;
  readonly seconds: number;
}

async function line(name: string, core: CoreFor, { rounds, seconds }: Effort): Promise<Line> {
  const home = await Deno.makeTempDir({ prefix: "weft-bench-packages-" });
  const took: Partial<Record<System, Took[]>> = {}, failed: Partial<Record<System, string>> = {};
  try {
    const paths = await bundle(name, home, core);
    for (let round = 0; round < rounds; round++) {
      for (const system of SYSTEMS) {
        if (failed[system] !== undefined || system === "cpu" && isEnough(took)) continue;
        try {
          (took[system] ??= []).push(await runOne(paths[system], name, system, seconds));
        } catch (error) {
          failed[system] = (error as Error).message;
          delete took[system];
        }
      }
    }
  } finally {
    await Deno.remove(home, { recursive: true });
  }
  const told = took.weft?.[0]?.told;
  for (const system of ["wasm", "cpu"] as const) {
    const theirs = took[system]?.[0]?.told;
    if (!told || !theirs || isClose(told, theirs)) continue;
    failed[system] = "tells another thing than Weft";
    delete took[system];
  }
  return { name, took, failed };
}

/** From the backend's start to what is told first, and later calls. */
const PARTS = ["first", "warm"] as const;
type Part = typeof PARTS[number];

function span(took: readonly Took[] | undefined, part: Part): Span | undefined {
  if (!took?.length) return undefined;
  const of = (i: 0 | 1) =>
    median(took.map((t) => part === "warm" ? t.warm[i] : t.open[i] + t.first[i]));
  return [of(0), of(1)];
}

/** True if TensorFlow.js's cpu backend need not be asked: its wasm backend tells the same in a long call. */
function isEnough({ weft, wasm }: Line["took"]): boolean {
  if (!weft?.length || !wasm?.length || !isClose(weft[0]!.told, wasm[0]!.told)) return false;
  return span(wasm, "warm")![1] > LONG_MS;
}

/** The backend of TensorFlow.js that takes least of the processor for later calls. */
function best({ took }: Line): "wasm" | "cpu" | undefined {
  const [first] = (["wasm", "cpu"] as const)
    .filter((system) => took[system])
    .toSorted((a, b) => span(took[a], "warm")![1] - span(took[b], "warm")![1]);
  return first;
}

const number = (n: number): string => n >= 100 ? n.toFixed(0) : n.toPrecision(3);
const cell = (s: Span | undefined): string =>
  s === undefined ? "–" : `${number(s[0])} (${number(s[1])})`;

/** Their processor time divided by Weft's. */
function ratio(line: Line, part: Part): string {
  const system = best(line), ours = span(line.took.weft, part);
  if (system === undefined || ours === undefined) return "–";
  return (span(line.took[system], part)![1] / ours[1]).toFixed(2);
}

function cells(line: Line): string[] {
  const system = best(line);
  return [
    line.name,
    system ?? "–",
    ...PARTS.flatMap((part) => [
      cell(span(line.took.weft, part)),
      cell(system && span(line.took[system], part)),
      ratio(line, part),
    ]),
  ];
}

const HEAD = ["package", "backend", ...PARTS.flatMap((part) => [part, "theirs", "ours ×"])];

function markdown(lines: readonly Line[]): string {
  const row = (r: readonly string[]) => `| ${r.join(" | ")} |`;
  const notes = lines.flatMap(({ name, failed }) =>
    Object.entries(failed).map(([system, why]) => `- ${name} on ${system}: ${why}`)
  );
  return [
    row(HEAD),
    row(HEAD.map((_, i) => (i < 2 ? "---" : "---:"))),
    ...lines.map((l) => row(cells(l))),
    ...(notes.length > 0 ? ["", ...notes] : []),
  ].join("\n");
}

async function write(lines: readonly Line[], { rounds }: Effort): Promise<void> {
  const date = new Date().toISOString().slice(0, 10), load = Deno.loadavg()[0]!.toFixed(0);
  const processes = rounds === 1
    ? "a process for each system"
    : `medians of ${rounds} processes for each system, which take turns`;
  await writeSection(RESULTS, {
    title: "Packages over TensorFlow.js, CPU, 1 thread",
    text:
      `${date}, load ${load}. Milliseconds by the clock (of the processor), ${processes}. "first": the backend is started, models are loaded and the program of tests/tfjs_core/packages.ts runs; "warm": it runs again, the median of later calls. "theirs" is the backend of TensorFlow.js that takes least for later calls; "ours ×" divides processor times.\n\n${
        markdown(lines)
      }`,
  });
}

/** Makes the table. Returns an exit code: 1 where Weft fails or no backend tells the same. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "2" },
      built: { type: "string" },
      write: { type: "boolean", default: false },
    },
  });
  const names = Object.keys(PACKAGES).filter((name) =>
    values.only.length === 0 || values.only.some((part) => name.includes(part))
  );
  const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
  const home = await Deno.makeTempDir({ prefix: "weft-bench-packages-" });
  const folder = values.built ?? `${home}/weft`, lines: Line[] = [];
  try {
    if (values.built === undefined) {
      await Deno.mkdir(folder);
      await buildPackage(folder, { types: false });
    }
    const core = await ourCore(folder);
    for (const name of names) {
      const made = await line(name, core, effort);
      lines.push(made);
      console.log(cells(made).join("  "), ...Object.entries(made.failed).flat());
      if (values.write) await write(lines, effort);
    }
  } finally {
    await stop();
    await Deno.remove(home, { recursive: true });
  }
  return lines.every((l) => l.took.weft && best(l)) ? 0 : 1;
}
