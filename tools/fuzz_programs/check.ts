/**
 * Runs a program in every mode and says which of them differ.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { difference, type Tolerance } from "./compare.ts";
import type { Results } from "./inputs.ts";
import { type Mode, modesFor, REFERENCES } from "./modes.ts";
import type { Program } from "./program.ts";

/** A mode that gave something else, or threw. */
export interface Fault {
  readonly mode: string;
  readonly message: string;
}

const TOLERANCE: Readonly<Record<Mode["like"], Tolerance>> = {
  eager: { float32: 3e-4, float16: 2e-2 },
  gradient: { float32: 3e-3, float16: 5e-2 },
};

/** Programs that compute with halves anywhere round more coarsely. */
function toleranceOf(program: Program, like: Mode["like"]): Tolerance {
  const tolerance = TOLERANCE[like];
  const isCoarse = program.inputs.some((x) => x.dtype === "float16") ||
    program.lines.some((line) => line.code.includes("float16"));
  return isCoarse ? { float32: tolerance.float16, float16: tolerance.float16 } : tolerance;
}

/** The program with floats beside zero in place of zeros. */
function besideZero(program: Program): Program {
  const inputs = program.inputs.map((x) =>
    x.dtype.startsWith("float") ? { ...x, data: x.data.map((v) => v === 0 ? 1e-3 : v) } : x
  );
  return { ...program, inputs };
}

/** Computes what a mode is compared with. */
function wanted({ want, like }: Mode): NonNullable<Mode["want"]> {
  return want ?? REFERENCES[like];
}

/** Values that are stored or not, and may be 0 by what is computed. */
const SPARSE_AT_ZERO = /sparse\./;

/** The program with float64 in place of float32. */
function inFloat64(program: Program): Program {
  const wide = (code: string): string => code.replaceAll('"float32"', '"float64"');
  const inputs = program.inputs.map((x) =>
    x.dtype === "float32" ? { ...x, dtype: "float64" as never } : x
  );
  return { ...program, inputs, lines: program.lines.map((x) => ({ ...x, code: wide(x.code) })) };
}

/** True where forward and backward derivatives agree in float64: then float32 rounds away what is left of great terms. */
async function isRounding(program: Program, mode: Mode): Promise<boolean> {
  if (!mode.name.startsWith("gradient, forward")) return false;
  const wide = inFloat64(program), tolerance = TOLERANCE.eager;
  try {
    return difference(await wanted(mode)(wide), await mode.run(wide), tolerance) === null;
  } catch {
    return false;
  }
}

/** True where inputs that differ by rounding give other results: then no two ways to compute it need agree. */
async function isUnstable(
  program: Program,
  mode: Mode,
  want: Results,
  message: string,
): Promise<boolean> {
  const tolerance = toleranceOf(program, mode.like);
  if (mode.name.endsWith("other words") && message.includes("NaN")) {
    if (program.lines.some(({ code }) => SPARSE_AT_ZERO.test(code))) return true;
    // At zero, 0/0 times an element that is not stored is 0, and times a stored 0 it is NaN.
    const moved = await wanted(mode)(besideZero(program));
    if (difference(want, moved, { float32: 1e-6, float16: 1e-6 }) !== null) return true;
  }
  if (await isRounding(program, mode)) return true;
  // A half moves by 5e-4 at least: what moves less is rounded back.
  const steps = tolerance.float32 > 1e-2
    ? [[1e-3, 1], [-1e-3, 1], [4e-3, 4], [-4e-3, 4]] as const
    : [[1e-6, 1], [-1e-6, 1], [1e-4, 10], [-1e-4, 10]] as const;
  for (const [relative, allowed] of steps) {
    const moved = await wanted(mode)(program, relative);
    const wide = { float32: tolerance.float32 * allowed, float16: tolerance.float16 * allowed };
    if (difference(want, moved, wide) !== null) return true;
  }
  return false;
}

/** The line of an error that says what it is. */
export function firstLine(error: unknown): string {
  return String(error).split("\n")[0]!;
}

/**
 * True where an op says that it must know more of a shape, as TensorFlow's do, or divides whole numbers by zero, which a GPU does
 * in silence (DIFFERENCES.md). A line may ask for a shape that is unknown; an op that does so says nothing of what it wants.
 */
function isRefusal(error: unknown, program: Program): boolean {
  if (error instanceof tf.NotImplementedError) return true;
  if (/it is implemented for .* known/.test(firstLine(error))) return true;
  // TensorFlow has no second derivative of these either.
  if (/No gradient defined for the gradients of/.test(firstLine(error))) return true;
  // Backward, these ops end the gradient in silence, as in TensorFlow.
  if (/Cannot push tangents through \w+: the op has no gradient/.test(firstLine(error))) {
    return true;
  }
  // A GPU takes 0 for an element that is not there.
  const isIndex = /indices\[.* is not in \[0, \d+\)/.test(firstLine(error));
  if (isIndex && tf.getBackend() === "webgpu") return true;
  if (/Integer division by zero/.test(firstLine(error))) return true;
  if (!(error instanceof tf.ValueError)) return false;
  // A broadcast with an unknown extent makes a loop's 1 unknown: TensorFlow asks for its invariant, too.
  if (/enters the loop with shape \S+, but has shape \S*\?/.test(error.message)) return true;
  if (/^Cannot take the (shape|length) of/.test(error.message)) {
    return program.lines.some(({ code }) => /\.(shape|rank|size)\b/.test(code));
  }
  return /unknown|must be known|not fully defined|undefined rank/i.test(error.message);
}

/** The fault of a program in one mode, or null. */
export async function faultIn(program: Program, mode: Mode): Promise<Fault | null> {
  let want: Results;
  try {
    want = await wanted(mode)(program);
  } catch (error) {
    if (mode.want === undefined) throw error;
    return isRefusal(error, program)
      ? null
      : { mode: mode.name, message: `throws ${firstLine(error)}` };
  }
  return await faultAgainst(program, mode, want);
}

async function faultAgainst(program: Program, mode: Mode, want: Results): Promise<Fault | null> {
  let have: Results;
  try {
    have = await mode.run(program);
  } catch (error) {
    return isRefusal(error, program)
      ? null
      : { mode: mode.name, message: `throws ${firstLine(error)}` };
  }
  const wants: Results = Array.from({ length: mode.times ?? 1 }, () => want).flat();
  const message = difference(wants, have, toleranceOf(program, mode.like));
  if (message === null || await isUnstable(program, mode, want, message)) return null;
  return { mode: mode.name, message };
}

/** All faults of a program. Throws what eager code throws. */
export async function faultsOf(program: Program, device: string): Promise<Fault[]> {
  const faults: Fault[] = [];
  const wants = { eager: await REFERENCES.eager(program), gradient: null as Results | null };
  for (const mode of modesFor(program, device)) {
    if (mode.like === "gradient" && wants.gradient === null) {
      try {
        wants.gradient = await REFERENCES.gradient(program);
      } catch (error) {
        faults.push({ mode: "gradient", message: `throws ${firstLine(error)}` });
        wants.gradient = [];
      }
    }
    if (faults.some((f) => f.mode === "gradient") && mode.like === "gradient") continue;
    const fault = mode.want === undefined
      ? await faultAgainst(program, mode, wants[mode.like]!)
      : await faultIn(program, mode);
    if (fault) faults.push(fault);
  }
  const late = await lateError(device);
  return late === null ? faults : [...faults, { mode: "a mode before", message: `throws ${late}` }];
}

/** The error of a GPU that comes after the results of its commands, so that no later program is taken for the cause. */
async function lateError(device: string): Promise<string | null> {
  if (device === "cpu") return null;
  using _scope = tf.scope();
  try {
    await tf.add(tf.zeros([1]), 1).data();
    await new Promise((resolve) => setTimeout(resolve));
    tf.add(tf.zeros([1]), 1);
    return null;
  } catch (error) {
    return firstLine(error);
  }
}
