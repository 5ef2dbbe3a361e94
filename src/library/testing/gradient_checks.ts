/** Checks of gradient rules: central differences, honest saves, literals as inputs, second order, the GPU. */
import { apply, type OpInput } from "../../engine/core/apply.ts";
import { castArray } from "../../engine/core/convert.ts";
import { DTYPES, isTrainable } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { GradContext, OpDef } from "../../engine/core/op.ts";
import { bindSignature } from "../../engine/core/signature.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { flatten } from "../../engine/core/nest.ts";
import { sumToShape } from "../../engine/autodiff/backprop.ts";
import { makeStep, savedByName } from "../../engine/autodiff/steps.ts";
import { GradientTape } from "../../engine/autodiff/tape.ts";
import { mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { dense } from "../../engine/ops/array/indexed_slices.ts";
import { onesOfTensor } from "../../engine/ops/array/fill_ops.ts";
import { cpuDevice, device } from "../../engine/runtime/devices/devices.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { difference } from "./compare.ts";
import { analyticGradients, type CheckedFunction, gradDifference } from "./grad_check.ts";
import { drawInputs, type OpSample } from "./op_sample.ts";
import { dtypesOf, type OpCase } from "./op_case.ts";
import { inputsOn, isHostInput, problemOf } from "./run_op.ts";

/** Most elements of inputs whose gradients are checked: differences run the op twice for each element. */
const MOST_ELEMENTS = 4096;

/** Checks the gradient of one case; done in float32 (or the sample's first dtype) and its double width only. */
export async function checkGradient(c: OpCase): Promise<void> {
  const { def, sample, inputs } = c;
  const dtypes = sample.gradientDTypes ??
    [dtypesOf(def, sample).find((d) => isTrainable(d)), "complex64"];
  if (!dtypes.includes(c.dtype)) return;
  const wrt = differentiable(c);
  if (wrt.length === 0) return;
  if (inputs.some((a) => sizeOf(a.shape) > MOST_ELEMENTS)) return;
  const name = cpuDevice().name;
  if (def.grad === undefined && def.expand === undefined) {
    const wrong =
      "the op has floating inputs and outputs, no gradient rule and no expansion; say grad: null where it has none";
    return await c.run("gradient exists", name, () => wrong);
  }
  const wide: OpCase = { ...c, inputs: widest(c) };
  const fn = appliedTo(wide, wrt), sources = wrt.map((i) => wide.inputs[i]);
  if (sample.gradient !== false && !def.stateful) {
    await c.run("gradient = differences", name, () => gradDifference(fn, sources, {}));
    if (sample.secondOrder !== false) {
      const again = (): string | null => gradDifference(gradientOf(fn), sources, { elements: 6 });
      await c.run("second order", name, again);
    }
  }
  if (wrt.length > 1) {
    await c.run("gradient with literal inputs", name, () => compareLiterals(wide, wrt));
  }
  const { gpu } = c;
  if (gpu !== null && !def.stateful) {
    await c.run("gradient on the gpu", gpu.name, () => {
      const found = tapeGradients(c, wrt, gpu.name);
      return compareGradients(found, tapeGradients(c, wrt), wrt, 1024);
    });
  }
}

/** Returns the inputs that gradients may flow to; none where the op declares no gradient. */
export function differentiable({ def, sample, inputs, problem }: OpCase): readonly number[] {
  if (!problem.outputs.some((o) => isTrainable(o.dtype))) return [];
  if (def.grad === null || def.grad?.applies?.(problem.attrs) === false) return [];
  return sample.wrt ??
    inputs.flatMap((a, i) =>
      isTrainable(a.dtype) && !isHostInput(def, i, inputs.length) ? [i] : []
    );
}

/** Computes gradients of the op by tape. */
export function tapeGradients(
  c: OpCase,
  wrt: readonly number[],
  on?: string,
): readonly (NdArray | null)[] {
  const sources = wrt.map((i) => c.inputs[i]);
  return analyticGradients(appliedTo(c, wrt), sources, wrt.map((_, k) => k), on).grads;
}

/** Wraps the op as a function of the inputs to differentiate; the others are constant. */
function appliedTo({ def, attrs, inputs }: OpCase, wrt: readonly number[]): CheckedFunction {
  return (...xs) => {
    const given: OpInput[] = inputsOn(def, inputs, cpuDevice());
    wrt.forEach((i, k) => {
      (given[i] as Tensor).dispose();
      given[i] = xs[k];
    });
    return apply(def, given, attrs);
  };
}

/** Returns the gradient function of a function, itself differentiable. */
function gradientOf(fn: CheckedFunction): CheckedFunction {
  return (...xs) => {
    using tape = new GradientTape();
    tape.watch(xs);
    const outputs = flatten(fn(...xs)).filter((o) => isTrainable(o.dtype));
    // The seed varies along the outputs, so that sums do not hide a wrong place.
    const seeds = outputs.map((o) => {
      const ones = onesOfTensor(o);
      const data = ones.ndarraySync().map((v, i) => {
        const w = 0.5 + (i % 7) / 7;
        return Array.isArray(v) ? [w, 0.25] : w;
      });
      return mul(ones, data);
    });
    const grads = flatten(tape.gradient(outputs, xs, { outputGradients: seeds }));
    return grads.flatMap((g) => g === null ? [] : [dense(g as Tensor)]);
  };
}

function widest({ def, attrs, inputs }: OpCase): readonly NdArray[] {
  const wide = inputs.map((a, i) => {
    const { kind } = DTYPES[a.dtype];
    if (isHostInput(def, i, inputs.length)) return a;
    return kind === "float" || kind === "complex"
      ? castArray(a, kind === "float" ? "float64" : "complex128")
      : a;
  });
  try {
    problemOf(def, wide, attrs);
    return wide;
  } catch {
    return inputs;
  }
}

function compareGradients(
  found: readonly (NdArray | null)[],
  wanted: readonly (NdArray | null)[],
  wrt: readonly number[],
  ulps: number,
): string | null {
  for (const [k, g] of found.entries()) {
    const w = wanted[k];
    if (g === null || w === null) {
      if (g === w) continue;
      const which = g === null ? "missing" : "there";
      return `gradient of input ${wrt[k]} is ${which}, wanted otherwise`;
    }
    const wrong = difference(g, w, g.dtype, { ulps, ulpsOfLargest: ulps / 4, absolute: 1e-6 });
    if (wrong !== null) return `gradient of input ${wrt[k]} ${wrong}`;
  }
  return null;
}

/** Checks that a rule works where the other inputs were given as literals. */
function compareLiterals(c: OpCase, wrt: readonly number[]): string | null {
  const { def, attrs, inputs } = c, full = tapeGradients(c, wrt);
  for (const [k, i] of wrt.entries()) {
    const alone: CheckedFunction = (x) =>
      apply(def, inputs.map((a, j) => (j === i ? x : a)), attrs);
    const { grads } = analyticGradients(alone, [inputs[i]], [0]);
    const wrong = compareGradients(grads, [full[k]], [i], 64);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** Runs the gradient rules and records their reads. Returns null, or the fault of `saves`. */
export function unreadSaves(def: OpDef, samples: readonly OpSample[]): string | null {
  const rule = def.grad;
  if (!rule || def.host) return null;
  const names = [...def.signature.inputArgs, ...def.signature.outputArgs].map((a) => a.name);
  const unknown = rule.saves.filter((s) => !names.includes(s));
  if (unknown.length > 0) {
    return `saves names ${unknown.join(", ")}, the op has ${names.join(", ")}`;
  }
  const read = new Set<string>();
  let runs = 0;
  for (const sample of samples) {
    const dtype = dtypesOf(def, sample).find((d) => isTrainable(d));
    if (dtype === undefined) continue;
    const inputs = drawInputs(sample, dtype);
    if (inputs.some((a) => a.size > MOST_ELEMENTS)) continue;
    try {
      tidy(() => device(cpuDevice().name, () => runRule(def, sample, inputs, read)));
      runs++;
    } catch {
      // An error here fails another check with its own message.
    }
  }
  const foreign = [...read].filter((n) => !rule.saves.includes(n));
  if (foreign.length > 0) {
    return `the gradient rule reads ${foreign.join(", ")}, which saves does not name`;
  }
  const unread = rule.saves.filter((s) => !read.has(s));
  return runs > 0 && unread.length > 0
    ? `saves names ${unread.join(", ")}, which the gradient rule never reads`
    : null;
}

function runRule(
  def: OpDef,
  sample: OpSample,
  inputs: readonly NdArray[],
  read: Set<string>,
): void {
  const given = inputsOn(def, inputs, cpuDevice());
  const outputs = apply(def, given, sample.attrs ?? {});
  const step = makeStep({ def, inputs: given, outputs, attrs: sample.attrs ?? {} }, (t) => t);
  const ctx: GradContext = {
    attrs: bindSignature(def, step.inputs, step.attrs).attrs,
    inputs: step.inputs,
    outputs: step.outputs,
    needs: step.inputs.map((i) => isTrainable(i.dtype)),
    given: step.outputs.map((o) => isTrainable(o.dtype)),
    spent: step.outputs.map(() => false),
    shapeOf: (i) => {
      const s = step.inputs[i].shape as readonly number[];
      return new NdArray("int32", [s.length], Int32Array.from(s));
    },
    sumLike: (g, i) => sumToShape(g, g.shape, step.inputs[i].shape as readonly number[]),
  };
  const note = (name: string): unknown => read.add(name.replace(/:\d+$/, ""));
  const saved = new Proxy(savedByName(step), {
    get(target, name): unknown {
      if (typeof name !== "string") return Reflect.get(target, name);
      note(name);
      return target[name];
    },
    ownKeys: (target) => Object.keys(target).map((name) => (note(name), name)),
  });
  // Outputs without a gradient have null there.
  const dys = outputs.map((o) =>
    isTrainable(o.dtype) ? onesOfTensor(o) : null as unknown as Tensor
  );
  def.grad!.vjp(saved, dys, ctx);
}
