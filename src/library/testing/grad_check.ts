/** gradCheck: gradients of any function against central differences. */
import { GradientTape } from "../../engine/autodiff/tape.ts";
import { type DType, DTYPES, isTrainable } from "../../engine/core/dtype.ts";
import { toNdArray } from "../../engine/core/convert.ts";
import { flatten, type Nest } from "../../engine/core/nest.ts";
import { optionCheck, wantFunction, wantList } from "../../engine/core/arguments.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { begunAs } from "../../engine/core/throwing/user_stack.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { cpuDevice, device } from "../../engine/runtime/devices/devices.ts";
import { constantTensor } from "../../engine/runtime/eager/eager.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { epsilonOf, numbersOf } from "./compare.ts";
import { uniform } from "./op_sample.ts";

/** Options of {@linkcode gradCheck}. */
export interface GradCheckOptions {
  /** Dtype that JavaScript values take. Default `float64`. */
  readonly dtype?: DType;
  /** Numbers of the inputs to differentiate. Default: all of floating or complex dtype. */
  readonly wrt?: readonly number[];
  /** Elements to check per input, spread evenly. Default 24. */
  readonly elements?: number;
  /** Relative step. Default: the cube root of the dtype's precision. */
  readonly step?: number;
  /** Tolerated difference, relative to the largest gradient. Default: the root of the dtype's precision times 64. */
  readonly tolerance?: number;
}

const checkOptions = optionCheck<GradCheckOptions>("gradCheck", {
  dtype: true,
  wrt: true,
  elements: true,
  step: true,
  tolerance: true,
});

/** The error of a wrong gradient; the message names input, element and both numbers. */
export class GradCheckError extends globalThis.Error {
  /** Name of the class. */
  override readonly name: string = begunAs("GradCheckError", this);
}

/** Maps tensors to one tensor or a nest of them. */
export type CheckedFunction = (...inputs: Tensor[]) => Nest<Tensor>;

/**
 * Compares the gradient of `fn` with central differences, on the CPU in float64 unless the inputs are typed otherwise.
 * All outputs count, weighted with fixed numbers; `fn` may use any ops, script ops and gradients included. Throws
 * `GradCheckError` where they differ, `ValueError` where no input is differentiable.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { gradCheck } from "@weft/weft/testing";
 * gradCheck((x, y) => tf.mul(tf.square(x), y), [[1, 2, 3], 4]);
 * console.log("the gradient holds"); // the gradient holds
 * ```
 */
export function gradCheck(
  fn: CheckedFunction,
  inputs: readonly TensorLike[],
  options: GradCheckOptions = {},
): void {
  wantFunction(fn, "fn", "gradCheck");
  wantList(inputs, "inputs", "gradCheck", "tensors");
  checkOptions(options);
  const arrays = inputs.map((x) => {
    if (x instanceof Tensor) return x.ndarraySync();
    return x instanceof NdArray ? x : toNdArray(x, { dtype: options.dtype ?? "float64" });
  });
  const message = gradDifference(fn, arrays, options);
  if (message !== null) throw new GradCheckError(`Gradient check failed: ${message}`);
}

/** Describes how the gradient differs, or returns null. */
export function gradDifference(
  fn: CheckedFunction,
  inputs: readonly NdArray[],
  options: GradCheckOptions,
): string | null {
  const wrt = options.wrt ?? inputs.flatMap((a, i) => (isTrainable(a.dtype) ? [i] : []));
  if (wrt.length === 0) {
    throw new ValueError("Cannot check gradients: no input has a floating dtype");
  }
  const { weights, grads, epsilon } = analyticGradients(fn, inputs, wrt);
  const step = options.step ?? Math.cbrt(epsilon);
  const largest = Math.max(
    ...grads.map((g) => (g === null ? 0 : Math.max(0, ...numbersOf(g).map(Math.abs)))),
  );
  const relative = options.tolerance ?? 64 * Math.sqrt(epsilon);
  // Rounding of values around 1, magnified by the division.
  const noise = 4 * epsilon / step;
  for (const [k, i] of wrt.entries()) {
    const g = grads[k];
    if (g !== null && String(g.shape) !== String(inputs[i].shape)) {
      return `gradient of input ${i} has shape [${g.shape}], the input [${inputs[i].shape}]`;
    }
    const have = g === null ? null : numbersOf(g);
    const count = inputs[i].size * DTYPES[inputs[i].dtype].slots;
    for (const slot of spread(count, options.elements ?? 24)) {
      const { value, scale } = centralDifference(fn, inputs, i, slot, step, weights);
      const found = have === null ? 0 : have[slot];
      if (Math.abs(found - value) <= relative * Math.max(largest, Math.abs(value), scale) + noise) {
        continue;
      }
      return `gradient of input ${i} at flat element ${slot} is ${
        have === null ? "missing (null)" : found
      }, central differences give ${value}`;
    }
  }
  return null;
}

/** Returns at most `most` element numbers, spread evenly. */
function spread(count: number, most: number): number[] {
  const n = Math.min(count, most);
  return Array.from({ length: n }, (_, i) => Math.floor((i + 0.5) * count / n));
}

/** Computes gradients by tape. Tensors of the forward pass are disposed before the tape runs backward. */
export function analyticGradients(
  fn: CheckedFunction,
  inputs: readonly NdArray[],
  wrt: readonly number[],
  on: string = cpuDevice().name,
): {
  readonly weights: readonly NdArray[];
  readonly grads: readonly (NdArray | null)[];
  readonly epsilon: number;
} {
  return tidy(() =>
    device(on, () => {
      const tensors = inputs.map((a) => constantTensor(a, cpuDevice()));
      const tape = new GradientTape();
      try {
        tape.watch(wrt.map((i) => tensors[i]));
        const outputs = flatten(tidy(() => fn(...tensors)));
        const weights = outputs.map((o, k) => weightsFor(o, k));
        for (const t of [...tensors, ...outputs]) t.dispose();
        const usable = outputs.filter((o) => isTrainable(o.dtype));
        const seeds = weights.filter((_, k) => isTrainable(outputs[k].dtype)).map((w) =>
          constantTensor(w, cpuDevice())
        );
        const sources = wrt.map((i) => tensors[i]);
        const grads = flatten(tape.gradient(usable, sources, { outputGradients: seeds }));
        const coarsest = Math.max(...[...sources, ...usable].map((t) => epsilonOf(t.dtype)));
        return { weights, grads: grads.map((g) => g && g.ndarraySync()), epsilon: coarsest };
      } finally {
        tape.dispose();
      }
    })
  );
}

/** Returns the fixed weights that stand for the gradient of output `k`. */
export function weightsFor(
  output: { readonly dtype: DType; readonly shape: readonly number[] },
  k: number,
): NdArray {
  const array = NdArray.zeros(output.dtype, output.shape);
  if (!isTrainable(output.dtype)) return array;
  const next = uniform(k + 101);
  const draw = (): number => Math.fround(0.5 + next());
  for (let i = 0; i < array.size; i++) {
    setElement(array, i, DTYPES[array.dtype].slots === 2 ? [draw(), draw()] : draw());
  }
  return array;
}

function centralDifference(
  fn: CheckedFunction,
  inputs: readonly NdArray[],
  i: number,
  slot: number,
  step: number,
  weights: readonly NdArray[],
): { value: number; scale: number } {
  const x = inputs[i];
  const base = Number((x.data as ArrayLike<number>)[slot]);
  const at = (value: number): { x: number; outputs: Float64Array[] } => {
    const moved = x.copy();
    const data = moved.data as { [i: number]: number };
    data[slot] = value;
    return { x: data[slot], outputs: evaluate(fn, inputs.map((a, k) => (k === i ? moved : a))) };
  };
  const h = step * Math.max(1, Math.abs(base));
  const up = at(base + h), down = at(base - h);
  let total = 0, scale = 0;
  weights.forEach((weight, k) => {
    if (!isTrainable(weight.dtype)) return;
    const w = numbersOf(weight), a = up.outputs[k], b = down.outputs[k];
    // Subtracting first keeps unchanged values from adding their rounding.
    for (let j = 0; j < w.length; j++) {
      total += w[j] * (a[j] - b[j]);
      if (a[j] !== b[j]) scale = Math.max(scale, Math.abs(a[j] * w[j]));
    }
  });
  return { value: total / (up.x - down.x), scale: scale * 1e-3 };
}

function evaluate(fn: CheckedFunction, inputs: readonly NdArray[]): Float64Array[] {
  return tidy(() =>
    device(cpuDevice().name, () => {
      const outputs = flatten(fn(...inputs.map((a) => constantTensor(a, cpuDevice()))));
      return outputs.map((o) => numbersOf(o.ndarraySync()));
    })
  );
}
