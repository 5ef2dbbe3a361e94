/**
 * `deno task fuzz`: reads very many mutated files of models and messages, in processes of their own, and lists what no reader should do: an error
 * that is not ours or names no file, a crash, a hang, memory that the file is not worth, tensors left behind.
 *
 *     deno task fuzz                          a million files: all kinds alike, seeds from 0 on
 *     deno task fuzz --files=50000 --jobs=1   as many, one process at a time (2 if not said)
 *     deno task fuzz --kind=SavedModel        only kinds of files with this in their names
 *     deno task fuzz --from=1000000           other seeds
 *     deno task fuzz --json=out/fuzz.json     what is known; a run that finds the file goes on where that ended
 *     deno task fuzz --minutes=9              ends after so long
 *
 * `deno task fuzz programs` runs random programs instead, and `deno task fuzz kills` kills processes in the middle of
 * saves; each has a `--help` of its own.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { run } from "./command.ts";
import { runTask } from "./dev/help.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot } from "./files.ts";
import { chooseImports } from "./jsr.ts";

/** The program of a process. */
const PROGRAM = "tests/hostile/fuzz_batch.ts";

/** Files for a process: its start takes as long as a few hundred. */
const BATCH = 5000;
/** A process that reads no file for so long hangs, also on a machine that is busy. */
const HANG_MS = 600_000;

/** Seeds of a kind. */
export interface Batch {
  readonly kind: string;
  readonly from: number;
  readonly count: number;
}

/** The result of a batch. */
export interface Outcome extends Batch {
  readonly read: number;
  readonly refused: number;
  readonly failures: readonly { readonly seed: number; readonly message: string }[];
}

function start(
  imports: readonly string[],
  args: readonly string[],
  folder?: string,
): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", ...imports, PROGRAM, ...args],
    env: folder === undefined ? {} : { TMPDIR: folder },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Reads a batch in a process, and what is left of it in another where that one ends at a file. */
async function inProcess(batch: Batch, imports: readonly string[]): Promise<Outcome> {
  const folder = await Deno.makeTempDir({ prefix: "weft-fuzz-" });
  const progress = `${folder}/seed`, { kind, from, count } = batch;
  try {
    Deno.writeTextFileSync(progress, String(from));
    const child = start(imports, [JSON.stringify(batch), progress], folder);
    let last = "", since = performance.now(), hangs = false;
    const timer = setInterval(() => {
      const seed = Deno.readTextFileSync(progress);
      if (seed !== last) [last, since] = [seed, performance.now()];
      else if (performance.now() - since > HANG_MS) {
        try {
          child.kill("SIGKILL");
          hangs = true;
        } catch {
          // It has ended, and its output is still being read.
          since = Infinity;
        }
      }
    }, 1000);
    const { stdout, stderr, code } = await child.output();
    clearInterval(timer);
    const text = new TextDecoder();
    if (code === 0) return JSON.parse(text.decode(stdout)) as Outcome;
    const seed = Number(Deno.readTextFileSync(progress));
    const end = text.decode(stderr).slice(-2000);
    const message = hangs
      ? `no end within ${HANG_MS} ms`
      : `the process ended with ${code}: ${end}`;
    const rest = { kind, from: seed + 1, count: from + count - seed - 1 };
    // What came before is not known any more, but for its end.
    const after = rest.count > 0
      ? await inProcess(rest, imports)
      : { read: 0, refused: 0, failures: [] };
    return { ...batch, ...after, from, count, failures: [{ seed, message }, ...after.failures] };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function batches(kinds: readonly string[], files: number, first: number): Batch[] {
  const each = Math.ceil(files / kinds.length), out: Batch[] = [];
  for (let from = 0; from < each; from += BATCH) {
    const count = Math.min(BATCH, each - from);
    for (const kind of kinds) out.push({ kind, from: first + from, count });
  }
  return out;
}

function report(outcomes: readonly Outcome[]): number {
  const sum = (list: readonly Outcome[], of: (o: Outcome) => number): number =>
    list.reduce((n, o) => n + of(o), 0);
  for (const [kind, list] of Map.groupBy(outcomes, (o) => o.kind)) {
    const [files, refused, failures] = [
      sum(list, (o) => o.count),
      sum(list, (o) => o.refused),
      sum(list, (o) => o.failures.length),
    ];
    console.log(
      `${String(files).padStart(8)} of ${kind}: ${refused} refused, ${failures} failures`,
    );
  }
  const failures = outcomes.flatMap((o) => o.failures.map((f) => ({ kind: o.kind, ...f })));
  for (const { kind, seed, message } of failures.slice(0, 20)) {
    console.log(`\n${kind}, seed ${seed}: ${message}`);
  }
  console.log(`${sum(outcomes, (o) => o.count)} files, ${failures.length} failures`);
  return failures.length > 0 ? 1 : 0;
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: "string", default: "1000000" },
      from: { type: "string", default: "0" },
      jobs: { type: "string", default: "2" },
      kind: { type: "string", default: "" },
      minutes: { type: "string", default: "Infinity" },
      json: { type: "string" },
    },
  });
  enterRoot();
  const imports = (await chooseImports()).args;
  const known: Outcome[] = [];
  if (values.json !== undefined) {
    try {
      known.push(...JSON.parse(await Deno.readTextFile(values.json)));
    } catch (e) {
      if (!(e instanceof Deno.errors.NotFound)) throw e;
    }
  }
  const key = ({ kind, from, count }: Batch): string => `${kind} ${from} ${count}`;
  const done = new Set(known.map(key));
  const { stdout } = await start(imports, []).output();
  const all = JSON.parse(new TextDecoder().decode(stdout)) as string[];
  const kinds = all.filter((kind) => kind.includes(values.kind));
  const waiting = batches(kinds, Number(values.files), Number(values.from))
    .filter((batch) => !done.has(key(batch))).values();
  const end = performance.now() + Number(values.minutes) * 60e3;
  await Promise.all(Array.from({ length: Number(values.jobs) }, async () => {
    for (const batch of waiting) {
      if (performance.now() > end) break;
      known.push(await inProcess(batch, imports));
      if (values.json !== undefined) await Deno.writeTextFile(values.json, JSON.stringify(known));
    }
  }));
  return report(known);
}

/** Other programs that try at random, by their names. */
const OTHERS: Readonly<Record<string, string>> = {
  programs: "tools/fuzz_programs/main.ts",
  kills: "tests/io/kills.ts",
};

/** Runs one of {@linkcode OTHERS}, with what WebGPU needs. */
async function runOther(program: string, args: readonly string[]): Promise<number> {
  enterRoot();
  prepareWebGpu();
  const flags = ["run", "--allow-all", "--no-check", ...(await chooseImports()).args];
  const { code } = await run(Deno.execPath(), [...flags, program, ...args]);
  return code;
}

if (import.meta.main) {
  const [what, ...rest] = Deno.args;
  const other = OTHERS[what ?? ""];
  if (other === undefined) await runTask(import.meta.url, main);
  else Deno.exit(await runOther(other, rest));
}
