/**
 * Gradients as TensorFlow.js has them: those of integers and booleans are float32, as if all were computed with numbers of float32.
 * Weft's own functions, as TensorFlow's, give them none.
 */
import * as weft from "../../../mod.ts";
import type { OpInput } from "../../engine/core/apply.ts";
import { castArray } from "../../engine/core/convert.ts";
import { type DType, isTrainable } from "../../engine/core/dtype.ts";
import { lookupOp } from "../../engine/core/op.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { FLOATS, type GradientFlow, gradientFlow } from "../../engine/autodiff/flow.ts";
import { declared, isDifferentiable, type Step } from "../../engine/autodiff/steps.ts";
import { zerosOfSpec } from "../../engine/ops/array/fill_ops.ts";
import { gradientOp, hasFlatInput, isFlat } from "./kernels/gradients.ts";

/** Gradients flow through values of every dtype. */
const NUMBERS: GradientFlow = {
  gradientOf: (dtype) => isTrainable(dtype) ? dtype : "float32",
  standIn: (def) => {
    const name = gradientOp(def.name);
    return name === def.name ? def : lookupOp(name)!;
  },
  passes: (op) => hasFlatInput(op.def.name) || isDifferentiable(op),
  through: (step, needs, own) => {
    const { def, inputs, kept } = step;
    const found = def.grad === null ? inputs.map(() => null) : own(withFloats(step, needs));
    return found.map((dx, i) => {
      if (dx !== null || !needs[i] || !isFlat(def.name, i)) return dx;
      const dtype = NUMBERS.gradientOf(inputs[i].dtype)!;
      return zerosOfSpec({ ...inputs[i], dtype }, kept.get(`i${i}`));
    });
  },
};

/** The step as it is where the inputs that have gradients are of float32, and all that shares their dtypes with them. */
function withFloats(step: Step, needs: readonly boolean[]): Step {
  const isOther = (at: number): boolean => needs[at] && !isTrainable(step.inputs[at].dtype);
  if (!step.inputs.some((_, at) => isOther(at))) return step;
  const args = declared(step);
  const shared = new Set(
    step.inputs.flatMap((_, at) => isOther(at) ? args.get(`i${at}`)!.typeAttr ?? [] : []),
  );
  const isChanged = (key: string): boolean => {
    const { typeAttr, typeListAttr } = args.get(key)!;
    if (typeAttr !== undefined) return shared.has(typeAttr);
    return typeListAttr !== undefined && key.startsWith("i") && isOther(Number(key.slice(1)));
  };
  const changed = <V extends { dtype: DType }>(side: "i" | "o", values: readonly V[]): V[] =>
    values.map((v, at) => isChanged(`${side}${at}`) ? { ...v, dtype: "float32" } : v);
  const inputs = changed("i", step.inputs), attrs = { ...step.attrs };
  for (const name of shared) attrs[name] = "float32";
  inputs.forEach((input, at) => {
    const list = args.get(`i${at}`)!.typeListAttr;
    if (list === undefined || attrs[list] === undefined || !isChanged(`i${at}`)) return;
    const first = inputs.findIndex((_, k) => args.get(`i${k}`)!.typeListAttr === list);
    attrs[list] = (attrs[list] as DType[]).with(at - first, input.dtype);
  });
  const kept = new Map(
    [...step.kept].map(([key, value]) => [key, isChanged(key) ? toFloats(value) : value]),
  );
  return { ...step, attrs, inputs, outputs: changed("o", step.outputs), kept };
}

function toFloats(x: OpInput): OpInput {
  return x instanceof Tensor ? weft.cast(x, "float32") : castArray(x, "float32");
}

type Fn = (...args: never[]) => unknown;

/** Functions of functions, whose tapes let gradients flow so; tapes that the given function makes itself do as they did. */
function withNumbers<F extends Fn, G extends Fn>(f: F, differentiate: (f: F) => G): G {
  const inside = typeof f !== "function"
    ? f
    : ((...xs) => gradientFlow.within(FLOATS, () => f(...xs))) as F;
  const gradient = differentiate(inside);
  return ((...args) => {
    const dy: unknown = args[1];
    if (dy instanceof Tensor && !isTrainable(dy.dtype)) {
      throw new TypeError(`Cannot use dy as a gradient: received ${dy.dtype}, wanted float32`);
    }
    return gradientFlow.within(NUMBERS, () => gradient(...args));
  }) as G;
}

/** The gradient function of a function of one tensor. See `tf.grad`. */
export function grad(f: (x: Tensor) => Tensor): (x: TensorLike, dy?: TensorLike) => Tensor {
  return withNumbers(f, (f) => weft.grad(f));
}
/** The gradient function of a function of several tensors. See `tf.grads`. */
export const grads: typeof weft.grads = (f) => withNumbers(f, weft.grads);
/** The value and the gradient. See `tf.valueAndGrad`. */
export const valueAndGrad: typeof weft.valueAndGrad = (f) => withNumbers(f, weft.valueAndGrad);
/** The value and the gradients. See `tf.valueAndGrads`. */
export const valueAndGrads: typeof weft.valueAndGrads = (f) => withNumbers(f, weft.valueAndGrads);
/** The value and the gradients of variables. See `tf.variableGrads`. */
export const variableGrads: typeof weft.variableGrads = (f, varList) =>
  withNumbers(f, (f) => () => weft.variableGrads(f, varList))();
