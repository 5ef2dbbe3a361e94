/** customGrad: a function with a custom gradient, as an op that passes the value through. */
import { apply1, currentRecorders, withRecorders } from "../core/apply.ts";
import { describe } from "../core/convert.ts";
import { isFloating } from "../core/dtype.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { ValueError } from "../core/errors.ts";
import { defineOp, type GradContext, lookupOp, type OpDef } from "../core/op.ts";
import { compatible } from "../core/shape.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { Tensor } from "../core/tensor.ts";
import { refusePromise } from "../core/nest.ts";
import { identity } from "../ops/array/view.ts";
import {
  checkedGradient,
  gradientBeside,
  gradientRefusal,
  type GradientTexts,
} from "./checked_gradient.ts";
import { StepRecorder, tapeMemory } from "./step_recorder.ts";
import type { Step } from "./steps.ts";

/** Saves tensors for the gradient function, which gets them as its second argument. */
export type SaveFunction = (tensors: readonly Tensor[]) => void;

/** An argument of the function given to {@linkcode customGrad}: the inputs, and the save function last. */
export type CustomGradArgument = Tensor & SaveFunction;

/** The result of the function given to {@linkcode customGrad}. */
export interface CustomGradResult {
  /** The value. */
  readonly value: Tensor;
  /** Computes one gradient per input from the gradient of `value` and the saved tensors, by ordinary ops. */
  readonly gradFunc: (dy: Tensor, saved: Tensor[]) => Tensor | readonly Tensor[];
}

type VectorJacobian = (dy: Tensor, saved: Tensor[], ctx: GradContext) => readonly (Tensor | null)[];

/**
 * Passes the value through, with the gradient that `_gradient` computes for `inputs` from the saved tensors. The ops
 * that made the value carry no gradient.
 */
const CustomGradient: OpDef = defineOp({
  name: "_CustomGradient",
  portable: "parts",
  inputs: ["value: T", "inputs: Tinputs", "saved: Tsaved"],
  outputs: ["output: T"],
  attrs: ["T: type", "Tinputs: list(type)", "Tsaved: list(type)", "_gradient: func"],
  infer: ([value]) => [value.shape],
  meaning: { kind: "view" },
  grad: {
    saves: ["saved"],
    vjp: (saved, [dy], ctx) => {
      const kept: Tensor[] = [];
      while (`saved:${kept.length}` in saved) kept.push(saved[`saved:${kept.length}`]);
      const dxs = (ctx.attrs._gradient as VectorJacobian)(dy, kept, ctx);
      return [null, ...dxs, ...kept.map(() => null)];
    },
  },
});

/**
 * A function with its own gradient. `f` gets the inputs and `save`, and returns `{ value, gradFunc }`;
 * `gradFunc(dy, saved)` returns one gradient per input. It may read the inputs, the value and the saved tensors, and
 * all tensors that `f` made where `f` saves none: those live as long as tapes that recorded the call. Works under
 * tapes, in graphs, in scripts, and for higher orders, which follow the saved tensors, or all made ones where none is
 * saved. Follows TensorFlow.js `customGrad`. Throws `TypeError` for inputs that are no tensors and for results of
 * another form, and `ValueError` for gradients of another number, shape or dtype than the inputs.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * // The square, whose gradient is made to be |x| instead of 2x.
 * const op = tf.customGrad((x, save) => {
 *   save([x]);
 *   return { value: tf.mul(x, x), gradFunc: (dy, [x]) => tf.mul(dy, tf.abs(x)) };
 * });
 * console.log(tf.grad((x) => op(x))([-2, 3]).arraySync()); // [2, 3]
 * ```
 */
export function customGrad(
  f: (...args: CustomGradArgument[]) => CustomGradResult,
): (...inputs: Tensor[]) => Tensor {
  if (typeof f !== "function") {
    throw new TypeError(`The f passed in customGrad(f) must be a function, but got ${describe(f)}`);
  }
  return (...inputs) => {
    if (!inputs.every((x) => x instanceof Tensor)) {
      throw new TypeError("The args passed in customGrad(f)(x1, x2,...) must all be tensors");
    }
    const xs = inputs.map((x) => x.readValue());
    return tapeMemory().tidy(() => {
      const tapes = currentRecorders().filter((r) => r instanceof StepRecorder);
      const { value, gradFunc, saved, owner } = recordingInside(f, xs, tapes);
      // A tape that keeps the call also keeps the tensors that the gradient function closes over.
      const kept = owner === null ? saved : [...saved, owner];
      const attrs = {
        Tinputs: xs.map((x) => x.dtype),
        Tsaved: kept.map((x) => x.dtype),
        _gradient: vectorJacobian(gradFunc, xs, saved.length),
      };
      const y = apply1(CustomGradient, [value, ...xs, ...kept], attrs);
      // A gradient function that reads the value differentiates through the result.
      const same = { def: lookupOp("Identity")!, inputs: [y], outputs: [value], attrs: {} };
      for (const tape of tapes) if (!tape.follows(value)) tape.record(same);
      return y;
    });
  };
}

/** A call of the function given to {@linkcode customGrad}. */
interface Call extends CustomGradResult {
  readonly saved: readonly Tensor[];
  /** Owner of the tensors that the gradient function may close over. */
  readonly owner: Tensor | null;
}

/**
 * Calls `f`. Tapes record the steps from `xs` to the tensors that the gradient function reads, for higher orders: the
 * saved ones, and where none is saved, all made ones.
 */
function recordingInside(
  f: (...args: CustomGradArgument[]) => CustomGradResult,
  xs: readonly Tensor[],
  tapes: readonly StepRecorder[],
): Call {
  let saved: Tensor[] | null = null;
  // `f` may dispose what it has saved.
  const save: SaveFunction = (tensors) => {
    saved = [...saved ?? [], ...tensors.map((x) => x.isSymbolic ? x : identity(x))];
  };
  const inside = new StepRecorder("all");
  for (const x of xs) inside.watch(x.id);
  const call = (xs: readonly Tensor[]): CustomGradResult => {
    // A body of a graph reads captured tensors through its own placeholders, which its gradient can read.
    const own = xs.map((x) => (x.isSymbolic ? identity(x) : x));
    return checkResult(f(...[...own, save] as CustomGradArgument[]));
  };
  try {
    const { result, owned, owner } = tapeMemory().owning(
      xs,
      (xs) => withRecorders(tapes.length === 0 ? [] : [inside], () => call(xs)),
      ({ value }, xs) => saved && [value, ...xs],
    );
    const named: readonly Tensor[] = saved ?? [];
    const leading = stepsTo(inside.steps, named);
    const all = result.value.isSymbolic ? inside.steps : stepsTo(inside.steps, owned);
    for (const tape of tapes) {
      // Variables count as the call's only where they lead to saved tensors.
      if (leading.length > 0) { for (const v of inside.variables.values()) tape.read(v); }
      tape.adopt(saved ? leading : all);
    }
    return { ...result, saved: named, owner };
  } finally {
    inside.release();
  }
}

/** Returns the steps that lead to tensors, in order. */
function stepsTo(steps: readonly Step[], targets: readonly Tensor[]): Step[] {
  const wanted = new Set(targets.map((t) => t.id));
  return steps.toReversed().filter(({ inputs, outputs }) => {
    const leads = outputs.some((o) => wanted.has(o.id));
    if (leads) { for (const { id } of inputs) wanted.add(id); }
    return leads;
  }).reverse();
}

const MUST_RETURN = "The function f passed in customGrad(f) must return an object";

function checkResult(result: CustomGradResult): CustomGradResult {
  refusePromise(
    result,
    () => `${MUST_RETURN}, but it returned a promise: what leads to a gradient is synchronous`,
  );
  if (!(result?.value instanceof Tensor)) {
    throw new TypeError(`${MUST_RETURN} where \`obj.value\` is a tensor`);
  }
  if (typeof result.gradFunc !== "function") {
    throw new TypeError(`${MUST_RETURN} where \`obj.gradFunc\` is a function`);
  }
  return result;
}

/** Wraps the user's gradient function with checks; it gets the saved tensors. */
function vectorJacobian(
  gradFunc: CustomGradResult["gradFunc"],
  xs: readonly Tensor[],
  count: number,
): VectorJacobian {
  // Specs, not tensors, so that the gradient keeps no tensor alive.
  const specs = xs.map(({ dtype, staticShape }) => ({ dtype, shape: staticShape }));
  const inputs = xs.length;
  return (dy, saved, ctx) => {
    const found = gradFunc(dy, saved.slice(0, count));
    const dxs = found instanceof Tensor ? [found] : found;
    if (!Array.isArray(dxs) || dxs.length !== inputs) {
      throw new ValueError(
        `${MUST_RETURN} where \`obj.gradFunc\` is a function that returns the same number of tensors as inputs passed to f(...): received ${
          Array.isArray(dxs) ? dxs.length : describe(dxs)
        }, wanted ${inputs}`,
      );
    }
    if (!dxs.every((d) => d instanceof Tensor)) {
      throw new TypeError(
        `${MUST_RETURN} where \`obj.gradFunc\` is a function that returns a list of only tensors`,
      );
    }
    return dxs.map((returned: Tensor, i) => {
      const dx = gradientBeside(returned, dy);
      const texts = [
        `Cannot use the gradient of input ${i} that \`obj.gradFunc\` of customGrad(f) returned: received `,
        ", wanted ",
      ] as const;
      checkGradient(dx, specs[i], texts);
      // The first input of the op is the value.
      return checkedGradient(dx, { ctx, input: i + 1, texts });
    });
  };
}

function checkGradient(
  { dtype, staticShape: shape }: Tensor,
  of: Spec,
  texts: GradientTexts,
): void {
  if (compatible(shape, of.shape) && (dtype === of.dtype || !isFloating(of.dtype))) return;
  throw new ValueError(gradientRefusal(texts, { dtype, shape }, of));
}
