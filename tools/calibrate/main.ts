/**
 * `deno task calibrate [--write] [--only NAME]…`: measures the constants of src/engine/devices/cpu/thresholds.ts that choose between
 * kernels, each by timing both of its kernels on work of several sizes, in turns and in one thread. Says what each is, what it would
 * be, and what both lose to the better kernel; `--write` puts those that are worth changing into the file, with their source.
 * Half a minute; on a busy machine times mean little. GPUs have `deno task gpu` for this.
 *
 * @module
 */

import { parseArgs } from "node:util";
// Registers the ops.
import "../../mod.ts";
import type { DeviceBuffer, PreparedKernel } from "../../src/engine/core/device.ts";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import type { ConcreteSpec } from "../../src/engine/core/tensor_spec.ts";
import { CpuDevice } from "../../src/engine/devices/cpu/cpu_device.ts";
import { THRESHOLDS } from "../../src/engine/devices/cpu/thresholds.ts";
import { isHostInput, problemOf } from "../../src/library/testing/run_op.ts";
import { runTask } from "../dev/help.ts";
import { fitThreshold, lossOf, type Point, withThreshold } from "./fit.ts";
import { type Name, type Question, QUESTIONS, type Work } from "./questions.ts";

const FILE = new URL("../../src/engine/devices/cpu/thresholds.ts", import.meta.url);
/** Milliseconds of a sample, and how many there are of each kernel. */
const SAMPLE_MS = 2, ROUNDS = 15;

/** Something that can be called many times. */
interface Runner {
  run(): void;
  free(): void;
}

function inputsOf({ shapes, dtypes = {}, hosts = {} }: Work): NdArray[] {
  return shapes.map((shape, i) => {
    const host = hosts[i];
    if (host !== undefined) return new NdArray("int32", [...shape], Int32Array.from(host));
    const size = shape.reduce((a, b) => a * b, 1);
    if (dtypes[i] === "int32") {
      const words = Int32Array.from({ length: size }, (_, j) => Math.imul(j + 1, 0x9e3779b1));
      return new NdArray("int32", [...shape], words);
    }
    const data = Float32Array.from({ length: size }, (_, j) => ((j * 7919 + i) % 997) / 498 - 1);
    return new NdArray("float32", [...shape], data);
  });
}

/** The kernel that the device prepares where a constant is so, with its inputs and what it makes. */
export function prepareWhere(
  device: CpuDevice,
  work: Work,
  { name, constant }: { readonly name: Name; readonly constant: number },
): { kernel: PreparedKernel; inputs: readonly (NdArray | undefined)[]; outputs: ConcreteSpec[] } {
  const def = lookupOp(work.op)!, inputs = inputsOf(work), { [name]: inForce } = THRESHOLDS;
  const problem = problemOf(def, inputs, work.attrs ?? {});
  THRESHOLDS[name] = constant;
  try {
    return {
      kernel: device.prepare(def, problem)!,
      inputs: inputs.map((a, i) => (isHostInput(def, i, inputs.length) ? undefined : a)),
      outputs: [...problem.outputs],
    };
  } finally {
    THRESHOLDS[name] = inForce;
  }
}

function runnerWhere(device: CpuDevice, work: Work, { name }: Question, constant: number): Runner {
  const { kernel, inputs, outputs } = prepareWhere(device, work, { name, constant });
  const given = inputs.map((a): DeviceBuffer | undefined => a && device.upload(a));
  const run = (): void =>
    kernel.run(given).forEach((buffer, i) => device.free(buffer, outputs[i]!));
  const free = (): void => given.forEach((buffer, i) => buffer && device.free(buffer, inputs[i]!));
  return { run, free };
}

/** Least milliseconds of a call of each, in turns: whatever else the machine does only adds. */
function timeInTurns(runners: readonly Runner[]): number[] {
  const sample = ({ run }: Runner, calls: number): number => {
    const started = performance.now();
    for (let i = 0; i < calls; i++) run();
    return (performance.now() - started) / calls;
  };
  const calls = runners.map((runner) => {
    // Compiled code gets faster while it is called.
    const end = performance.now() + 3 * SAMPLE_MS;
    while (performance.now() < end) runner.run();
    return Math.max(1, Math.ceil(SAMPLE_MS / sample(runner, 4)));
  });
  const least = runners.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round++) {
    runners.forEach((runner, i) => least[i] = Math.min(least[i]!, sample(runner, calls[i]!)));
  }
  return least;
}

/** Times both kernels of a question on all of its sizes. */
function measure(device: CpuDevice, question: Question): Point[] {
  return question.sizes.map((size): Point => {
    const work = question.work(size);
    const runners = [Infinity, -1].map((constant) => runnerWhere(device, work, question, constant));
    const [below, beyond] = timeInTurns(runners) as [number, number];
    for (const runner of runners) runner.free();
    return { value: question.value(size), below, beyond };
  });
}

async function machineName(): Promise<string> {
  const info = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  return info.match(/^model name\s*:\s*(.*)$/m)?.[1] ?? `${Deno.build.arch} ${Deno.build.os}`;
}

async function main(args: readonly string[]): Promise<number> {
  const { values: { write, only } } = parseArgs({
    args: [...args],
    options: {
      write: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
    },
  });
  const unknown = only.find((name) => !QUESTIONS.some((q) => q.name === name));
  if (unknown !== undefined) {
    console.error(`Cannot measure "${unknown}": it is one of ${QUESTIONS.map((q) => q.name)}`);
    return 2;
  }
  // One thread: whether to share work is another question.
  Object.defineProperty(navigator, "hardwareConcurrency", { value: 1, configurable: true });
  const device = new CpuDevice(), machine = await machineName();
  const date = new Date().toISOString().slice(0, 10);
  let module = await Deno.readTextFile(FILE);
  const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
  for (const question of QUESTIONS) {
    const { name, compared } = question, inForce = THRESHOLDS[name];
    if (only.length > 0 && !only.includes(name)) continue;
    const points = measure(device, question), value = fitThreshold(points, inForce);
    console.log(
      `${name}: ${inForce}${value === inForce ? " stays" : ` → ${value}`}; loses ${
        percent(lossOf(points, inForce))
      }${value === inForce ? "" : `, then ${percent(lossOf(points, value))}`}`,
    );
    const ratios = points.map((p) => `${p.value}: ${(p.beyond / p.below).toFixed(2)}`);
    console.log(`  time beyond it by time up to it: ${ratios.join(", ")}`);
    const source = `${date} on ${machine}: ${compared}.`;
    if (write) module = withThreshold(module, name, { value, source });
  }
  if (write) await Deno.writeTextFile(FILE, module);
  return 0;
}

if (import.meta.main) await runTask(import.meta.url, main);
