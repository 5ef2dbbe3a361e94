// What can be said of a GPU in one run of a few minutes: what it is, whether every kernel is right on it, and how fast it is
// beside the peers and its own limits. Each part is a process of its own with a share of the time: one that crashes or hangs
// leaves its entries behind, and begins again after the item that it ended in. This file is all that a bundle has.

import { parseArgs } from "node:util";
import type { Tf } from "../peers/tfjs.ts";
import { adapterPart } from "./adapter.ts";
import { checkPart } from "./check.ts";
import { limitsPart } from "./limits.ts";
import { dispatchPart, memoryPart, readbackPart, stepsPart } from "./profile.ts";
import { type Lane, readEntries, Recorder } from "./record.ts";
import { opsPart, rowsPart } from "./rows.ts";
import { sweepPart } from "./sweep.ts";

/** Settings of parts beyond their time. */
export interface Setting {
  /** TensorFlow.js, where a bundle has it. */
  readonly tfjs?: () => Promise<Tf>;
  /** Small shapes and few of them: whether all of it runs can be seen on any machine. */
  readonly small: boolean;
  /** Weft without its peers, which take most of the time of a row. */
  readonly alone: boolean;
}

/** A part, and its share of the time. */
interface Part {
  readonly share: number;
  /** Processes that do its items at once, where no time is measured. */
  readonly lanes?: number;
  run(record: Recorder, setting: Setting): Promise<void>;
}

/** Processes of a part that measures no time: half the processors, and as many as one GPU has memory for. */
const LANES = Math.max(1, Math.min(8, navigator.hardwareConcurrency >> 1));

/** All parts, in their order. */
const PARTS: Readonly<Record<string, Part>> = {
  adapter: { share: 2, run: adapterPart },
  limits: { share: 4, run: limitsPart },
  check: { share: 22, lanes: LANES, run: checkPart },
  rows: { share: 26, run: rowsPart },
  sweep: { share: 30, run: sweepPart },
  ops: { share: 16, run: opsPart },
  dispatch: { share: 10, run: dispatchPart },
  readback: { share: 10, run: readbackPart },
  steps: { share: 40, run: stepsPart },
  memory: { share: 40, run: memoryPart },
};

/** The parts of each kind of run. */
const RUNS = {
  measure: ["adapter", "limits", "check", "rows", "sweep", "ops"],
  profile: ["adapter", "limits", "dispatch", "readback", "steps", "memory"],
} as const;

/** Maximum restarts of a crashed part. */
const RETRIES = 3;
/** Seconds that a part may exceed its time for its current item. */
const GRACE = 25;

interface Options {
  readonly parts: readonly string[];
  readonly minutes: number;
  readonly out: string;
  readonly small: boolean;
  readonly alone: boolean;
  /** This process is a part, with so many seconds. */
  readonly seconds?: number;
  readonly lane: Lane;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      parts: { type: "string" },
      minutes: { type: "string", default: "8" },
      out: { type: "string", default: "gpu.jsonl" },
      profile: { type: "boolean", default: false },
      small: { type: "boolean", default: false },
      alone: { type: "boolean", default: false },
      seconds: { type: "string" },
      lane: { type: "string", default: "0/1" },
    },
  });
  const parts = values.parts?.split(",") ?? RUNS[values.profile ? "profile" : "measure"];
  const unknown = parts.find((name) => !(name in PARTS));
  if (unknown !== undefined) {
    throw new RangeError(`Cannot run part "${unknown}": parts are ${Object.keys(PARTS)}`);
  }
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new RangeError(`Cannot run for ${values.minutes} minutes`);
  const { out, small, alone } = values, [index, count] = values.lane.split("/").map(Number);
  const lane = { index: index!, count: count! };
  return {
    parts,
    minutes,
    out,
    small,
    alone,
    lane,
    ...(values.seconds && { seconds: +values.seconds }),
  };
}

/** Runs a part in a process that is killed where it does not end. Resolves to true where it ended well. */
async function runApart(
  name: string,
  { out, small, alone, seconds, lane }: Options & { readonly seconds: number },
): Promise<boolean> {
  const own = ["--parts", name, "--seconds", String(seconds), "--out", out];
  if (small) own.push("--small");
  if (alone) own.push("--alone");
  own.push("--lane", `${lane.index}/${lane.count}`);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", Deno.mainModule, ...own],
    stdin: "null",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), 1000 * (seconds + GRACE));
  const { success } = await child.status;
  clearTimeout(timer);
  return success;
}

async function runAll(options: Options): Promise<number> {
  const { parts, minutes, out } = options;
  const end = performance.now() + 60_000 * minutes;
  const left = (): number => (end - performance.now()) / 1000;
  for (const [i, name] of parts.entries()) {
    const shares = parts.slice(i).reduce((sum, part) => sum + PARTS[part]!.share, 0);
    // What earlier parts did not use goes to those that are left.
    const until = left() * (1 - PARTS[name]!.share / shares), count = PARTS[name]!.lanes ?? 1;
    console.log(`== ${name}, ${(left() - until).toFixed(0)} s`);
    await Promise.all(Array.from({ length: count }, async (_, index) => {
      for (let turn = 0; turn <= RETRIES; turn++) {
        const seconds = Math.max(1, left() - until);
        const ended = await runApart(name, { ...options, seconds, lane: { index, count } });
        if (ended || left() - until < 1) break;
      }
    }));
  }
  const failed = (await readEntries(out)).filter(({ error }) => error !== undefined);
  console.log(`${out}: ${failed.length} items failed`);
  return 0;
}

/** Runs all parts, or, told so by itself, one. */
export async function main(
  args: readonly string[],
  load: Pick<Setting, "tfjs"> = {},
): Promise<number> {
  const options = readOptions(args);
  const { parts: [name], seconds, out, small, alone, lane } = options;
  if (seconds === undefined) return await runAll(options);
  const record = await Recorder.open(out, name!, { seconds, lane });
  await PARTS[name!]!.run(record, { ...load, small, alone });
  record.end();
  return 0;
}

// Workers and devices of the peers keep the event loop alive.
if (import.meta.main) Deno.exit(await main(Deno.args));
