/** opCheck: all properties of an op, checked over samples, dtypes and devices. */
import { begunAs } from "../../engine/core/throwing/user_stack.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { lookupOp, type OpDef, registeredOps } from "../../engine/core/op.ts";
import { optionCheck, wantList, wrongArgument } from "../../engine/core/arguments.ts";
import { cpuDevice, gpuDevice } from "../../engine/runtime/devices/devices.ts";
import { memory } from "../../engine/runtime/eager/memory.ts";
import type { WebGpuDevice } from "../../engine/devices/webgpu/webgpu_device.ts";
import { checkCpu, checkGpu, checkInfer } from "./kernel_checks.ts";
import { checkGraph } from "./graph_checks.ts";
import { checkGradient, unreadSaves } from "./gradient_checks.ts";
import { dtypesOf, type OpCase } from "./op_case.ts";
import { referenceOutputs } from "./reference.ts";
import { drawInputs, hasFreeInput, type OpSample, sampleTitle } from "./op_sample.ts";
import { problemOf } from "./run_op.ts";

/** Options of {@linkcode opCheck}. */
export interface OpCheckOptions {
  /** Devices to check. Default: the CPU, and the GPU where one was found. */
  readonly devices?: readonly ("CPU" | "GPU")[];
  /** Dtypes to check, among those the samples allow. Default: all. */
  readonly dtypes?: readonly DType[];
  /** Samples that are checked in every dtype; the others in their first one only. Default 2. */
  readonly samplesInEveryDtype?: number;
}

const checkOptions = optionCheck<OpCheckOptions>("opCheck", {
  devices: true,
  dtypes: true,
  samplesInEveryDtype: true,
});

/** A failed check of an op. */
export interface OpCheckFailure {
  /** Op name. */
  readonly op: string;
  /** Sample and dtype. */
  readonly sample: string;
  /** Device. */
  readonly device: string;
  /** Name of the check. */
  readonly check: string;
  /** The found and the wanted value. */
  readonly message: string;
}

/** The checks that {@linkcode opCheck} ran. */
export interface OpCheckReport {
  /** Op name. */
  readonly op: string;
  /** Number of runs of each check. */
  readonly checks: Readonly<Record<string, number>>;
}

/** The error of {@linkcode opCheck}: one line per failure. */
export class OpCheckError extends globalThis.Error {
  /** Name of the class. */
  override readonly name: string = begunAs("OpCheckError", this);
  /** The failed checks. */
  readonly failures: readonly OpCheckFailure[];

  /** Lists the failures. */
  constructor(failures: readonly OpCheckFailure[]) {
    wantList(failures, "failures", "OpCheckError", "failures");
    super(failures.map(failureText).join("\n"));
    this.failures = failures;
  }
}

function failureText({ op, sample, device, check, message }: OpCheckFailure): string {
  return `Op check failed: ${op}, sample ${sample}, ${device}, check "${check}": ${message}`;
}

const MOST_FAILURES = 12;
/**
 * Checks that also run where only the GPU is requested: they compute the values to compare with, and hold of all
 * devices.
 */
const ALWAYS: readonly string[] = [
  "infer",
  "reference",
  "runs",
  "inputs stay as they are",
  "memory is flat",
];

/**
 * Names of all defined ops, in order of definition.
 *
 * @example
 * ```ts
 * import { registeredOpNames } from "@weft/weft/testing";
 * console.log(registeredOpNames().includes("MatMul")); // true
 * ```
 */
export function registeredOpNames(): string[] {
  return registeredOps().map((def) => def.name);
}

/**
 * Checks an op: inferred shapes are the actual ones, also from partial shapes; the CPU kernel fills its outputs and
 * agrees with the reference, the expansion or a float64 run; every GPU variant agrees, under both kernel families and
 * with folded grids; gradients agree with central differences, read only the names in `saves`, and work at second
 * order; inputs stay as they are; nothing leaks; graphs agree, with shapes known, partial and unknown. The op is
 * registered, or given by its definition. Throws `OpCheckError` listing the failures, `ValueError` for an unknown op or
 * no samples.
 *
 * @example
 * ```ts
 * import { opCheck } from "@weft/weft/testing";
 * await opCheck("Mul", [{ inputs: [{ shape: [2, 3] }, { shape: [3] }] }]);
 * console.log("Mul holds"); // Mul holds
 * ```
 */
export async function opCheck(
  op: OpDef | string,
  samples: readonly OpSample[],
  options: OpCheckOptions = {},
): Promise<OpCheckReport> {
  wantList(samples, "samples", "opCheck", "samples");
  for (const sample of samples) {
    if (!Array.isArray(sample?.inputs)) {
      throw wrongArgument(sample, "samples", "opCheck", "a list of objects with a list of inputs");
    }
  }
  checkOptions(options);
  const def = typeof op === "string" ? lookupOp(op) : op;
  if (def !== undefined && typeof def?.name !== "string" || op === undefined) {
    throw wrongArgument(op, "op", "opCheck", "an op or its name");
  }
  if (def === undefined) throw new ValueError(`Cannot check op "${op}": it is not defined`);
  if (samples.length === 0) {
    throw new ValueError(`Cannot check op "${def.name}": no samples were given`);
  }
  const failures: OpCheckFailure[] = [];
  const checks: Record<string, number> = {};
  const wants = (type: "CPU" | "GPU"): boolean => options.devices?.includes(type) ?? true;
  const gpu = wants("GPU") ? gpuDevice() as WebGpuDevice | null : null;
  for (const [k, sample] of samples.entries()) {
    const all = dtypesOf(def, sample).filter((d) =>
      (options.dtypes?.includes(d) ?? true) && (wants("CPU") || gpu?.supports(d))
    );
    for (const dtype of k < (options.samplesInEveryDtype ?? 2) ? all : all.slice(0, 1)) {
      const title = `${sampleTitle(sample)}${hasFreeInput(sample) ? ` (${dtype})` : ""}`;
      const run: OpCase["run"] = async (check, device, fn) => {
        if (failures.length >= MOST_FAILURES || sample.skip?.[check] !== undefined) return;
        if (!wants("CPU") && !device.startsWith(gpu?.name ?? "-") && !ALWAYS.includes(check)) {
          return;
        }
        checks[check] = (checks[check] ?? 0) + 1;
        const message = await outcome(fn);
        if (message !== null) {
          failures.push({ op: def.name, sample: title, device, check, message });
        }
      };
      await checkCase({ def, sample, attrs: sample.attrs ?? {}, dtype, gpu, run });
    }
  }
  const message = wants("CPU") ? unreadSaves(def, samples) : null;
  if (message !== null) {
    const device = cpuDevice().name;
    failures.push({ op: def.name, sample: "(all)", device, check: "saves", message });
  }
  if (failures.length > 0) throw new OpCheckError(failures);
  return { op: def.name, checks };
}

async function outcome(fn: () => Promise<string | null> | string | null): Promise<string | null> {
  try {
    return await fn();
  } catch (e) {
    const lines = e instanceof Error ? (e.stack ?? e.message).split("\n") : [String(e)];
    return `threw ${
      lines.filter((l) => !/^\s*at .*\/src\/library\/testing\//.test(l)).slice(0, 6).join("\n    ")
    }`;
  }
}

async function checkCase(asked: Omit<OpCase, "inputs" | "problem">): Promise<void> {
  const before = memory();
  const inputs = drawInputs(asked.sample, asked.dtype);
  const copies = inputs.map((a) => a.copy());
  let problem: ReturnType<typeof problemOf> | undefined;
  await asked.run("infer", "any device", () => {
    problem = problemOf(asked.def, inputs, asked.attrs);
    return null;
  });
  if (problem === undefined) return;
  const c: OpCase = { ...asked, inputs, problem };
  await checkInfer(c);
  const wanted = await referenceOutputs(c);
  const actual = await checkCpu(c, wanted);
  if (actual !== null && c.gpu !== null) await checkGpu(c, c.gpu, wanted ?? actual, actual);
  await checkGradient(c);
  if (actual !== null) await checkGraph(c, actual);
  await c.run("inputs stay as they are", "any device", () => {
    const changed = inputs.findIndex((a, i) => String(a.data) !== String(copies[i].data));
    return changed < 0 ? null : `input ${changed} was written to`;
  });
  await c.run("memory is flat", "any device", () => {
    const after = memory();
    for (const what of ["numTensors", "numDataBuffers", "liveTapes"] as const) {
      if (after[what] !== before[what]) {
        return `${what} went from ${before[what]} to ${after[what]}`;
      }
    }
    return null;
  });
}
