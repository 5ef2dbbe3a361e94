/**
 * `deno task fuzz programs`: runs random whole programs eagerly, compiled, in sessions and as gradients, and prints the smallest program
 * of each difference.
 *
 *     deno task fuzz programs                      two minutes on each device, seeds of the day
 *     deno task fuzz programs --seed=7 --count=1   that program
 *     deno task fuzz programs --device=webgpu --minutes=60
 *     deno task fuzz programs --faults=1           ends at the first fault (20 if not said)
 *     deno task fuzz programs --list               only names the seeds and modes that fail, and shrinks nothing
 *     deno task fuzz programs --table              also lists the lines that could never be run
 *     deno task fuzz programs --line=tf.sparse     short programs that begin with the lines of that text, one after the other;
 *                                                several may be given
 *
 * @module
 */

import { parseArgs } from "node:util";
import * as tf from "@weft/weft";
import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";
import { runTask } from "../dev/help.ts";
import { type Fault, faultsOf, firstLine } from "./check.ts";
import { generate, taken, TEMPLATES } from "./generator.ts";
import { type Program, programText } from "./program.ts";
import { kindOf, shrink } from "./shrink.ts";
import type { Template } from "./templates.ts";

/** Seeds of a day: a million for each. */
function seedOfToday(): number {
  return Math.floor(Date.now() / 86_400_000) * 1_000_000 % 2_000_000_000;
}

/** Returns a key that two faults of one cause mostly have in common. */
function keyOf(program: Program, fault: Fault): string {
  const kind = kindOf(fault);
  return kind === "differs" ? program.lines.map((l) => l.code.replace(/\d+/g, "")).join() : kind;
}

/** Reports one seed. */
async function tell(
  seed: number,
  { device, first, seen, list }: {
    readonly device: string;
    /** The line that the program begins with, null for any. */
    readonly first: Template | null;
    /** The causes that were told of. */
    readonly seen: Set<string>;
    readonly list: boolean;
  },
): Promise<number> {
  const program = generate(seed, first);
  if (program === null) return 0;
  let faults: Fault[];
  try {
    faults = await faultsOf(program, device);
  } catch (error) {
    faults = [{ mode: "eager", message: `throws ${firstLine(error)}` }];
  }
  if (list) {
    if (faults.length > 0) console.log(`seed ${seed} ${faults.map((f) => f.mode).join("; ")}`);
    return faults.length > 0 ? 1 : 0;
  }
  let told = 0;
  // One cause mostly shows in several modes: the first is shrunk.
  for (const fault of faults.slice(0, 1)) {
    const found = await shrink(program, fault, { device });
    const text = programText(found.program, fault.mode, device);
    const key = keyOf(found.program, found.fault);
    if (seen.has(key)) continue;
    seen.add(key);
    told++;
    const others = faults.map((f) => f.mode).join("; ");
    console.log(
      `\nseed ${seed}, ${fault.mode}: ${found.fault.message}\nalso in: ${others}\n${text}`,
    );
    console.log(`// as data: ${JSON.stringify(found.program)}`);
  }
  return told;
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      count: { type: "string", default: "Infinity" },
      minutes: { type: "string", default: "2" },
      device: { type: "string" },
      faults: { type: "string", default: "20" },
      line: { type: "string", multiple: true },
      list: { type: "boolean", default: false },
      table: { type: "boolean", default: false },
    },
  });
  // Programs cut gradients and make functions again and again on purpose.
  console.warn = () => {};
  // Attentions of programs are small: one op is made of them all the same.
  attentionOptions.leastOnCpu = 0;
  await tf.ready();
  const first = values.seed === undefined ? seedOfToday() : Number(values.seed);
  const both = (await tf.listDevices()).some((d) => JSON.stringify(d).includes("GPU"))
    ? ["cpu", "webgpu"]
    : ["cpu"];
  const devices = values.device === undefined ? both : [values.device];
  const texts = values.line ?? [""];
  const lines = TEMPLATES.filter(([, code]) => texts.some((text) => code.includes(text)));
  if (lines.length === 0) throw new Error(`No line has the text "${texts.join('" or "')}"`);
  let told = 0;
  for (const device of devices) {
    await tf.setBackend(device as never);
    const end = performance.now() + Number(values.minutes) * 60e3, seen = new Set<string>();
    let seed = first;
    for (; seed < first + Number(values.count) && performance.now() < end; seed++) {
      const first = values.line === undefined ? null : lines[seed % lines.length]!;
      told += await tell(seed, { device, first, seen, list: values.list });
      if (told >= Number(values.faults)) break;
    }
    console.log(`${device}: seeds ${first} to ${seed - 1}, ${told} faults`);
  }
  if (values.table) {
    for (const [code, { taken: n, refused, error }] of taken) {
      if (refused > 3 * n) console.log(`${n} taken, ${refused} refused: ${code}\n    ${error}`);
    }
  }
  return told === 0 ? 0 : 1;
}

if (import.meta.main) await runTask(import.meta.url, main);
